"""The library of what-if scenarios: each one file with what happens, why, and what must come out by version."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Protocol

from kreplica.errors import UsageError
from kreplica.model.wording.nearest_names import nearest_names
from kreplica.scenarios.scenario import Between, Case, Scenario

__all__ = ["GROUP", "MODULES", "OWN_CLUSTER", "Between", "Case", "Scenario", "names", "scenario_named", "scenarios"]

GROUP = "kreplica.scenarios"
"""Entry points by which other distributions add scenarios: each names a ``Scenario``."""

MODULES: dict[str, str] = {
    "hw-truncation-loss": "truncation",
    "one-round-of-fetch": "replication",
    "high-watermark-in-two-rounds": "replication",
    "data-carrying-fetch": "replication",
    "it-depends": "replication",
    "four-occasions": "replication",
    "epoch-end-offset": "truncation",
    "m1-m2-m3": "replication",
    "sync-and-async": "replication",
    "failed-replica-by-time": "isr",
    "slow-follower-shrink": "isr",
    "pauses-20-31-46": "isr",
    "isr-flap": "isr",
    "lag-max-messages": "isr",
    "high-watermark-of-the-isr": "replication",
    "readable-below-high-watermark": "replication",
    "caught-up-holds-hw": "replication",
    "high-watermark-idle-lag": "replication",
    "hw-truncation-divergence": "truncation",
    "fast-failover-divergence": "truncation",
    "stale-leader-truncation": "truncation",
    "stale-fenced-answer": "truncation",
    "counterexample": "truncation",
    "premature-isr-join": "isr",
    "unfenced-fetch": "truncation",
    "last-replica-standing": "isr",
    "rebooted-follower": "isr",
    "elr-overrun": "isr",
    "acks0-blackhole": "durability",
    "acks-all-leader-crash": "durability",
    "acks-all-not-replicated": "durability",
    "min-isr-1-acks-all": "durability",
    "min-isr-reject": "durability",
    "after-append": "replication",
    "strict-min-isr-visibility": "replication",
    "unclean-election": "durability",
    "zombie-leader": "durability",
    "power-loss-of-all": "durability",
    "kill-keeps-the-log": "durability",
    "recovery-point": "durability",
    "recovered-and-not-flushed": "durability",
    "acks1-leader-crash": "durability",
    "inflight-reorder": "producers",
    "two-producers-order": "producers",
    "retry-duplicate": "producers",
    "broken-connection": "producers",
    "resend-after-restart": "producers",
    "idempotent-6th-batch": "producers",
    "idempotent-first-batch-lost": "producers",
    "producer-state-expired": "producers",
    "consumer-dup-on-rebalance": "consumers",
    "max-poll-exceeded": "consumers",
    "commit-before-process": "processing",
    "handed-off-auto-commit": "processing",
    "auto-commit-in-the-loop": "processing",
    "reset-latest-new-partition": "consumers",
    "offset-expiry": "consumers",
    "silent-topic-offsets": "consumers",
    "offsets-topic-loss": "consumers",
    "zombie-consumer-commit": "consumers",
    "late-heartbeat": "consumers",
    "follower-read-monotonic": "consumers",
    "read-your-writes": "consumers",
    "consumer-truncation-detect": "truncation",
    "seven-partitions": "consumers",
    "one-group-or-several": "consumers",
    "poison-record": "processing",
    "dead-letter": "processing",
    "failed-offsets-apart": "processing",
    "offset-as-lock": "processing",
    "rewind": "processing",
    "read-process-write": "transactions",
    "read-process-write-at-least-once": "transactions",
    "zombie-transaction": "transactions",
    "zombie-producer-fenced": "transactions",
    "hanging-transaction": "transactions",
    "late-batch-next-transaction": "transactions",
    "delayed-end-transaction": "transactions",
    "delayed-marker": "transactions",
    "early-producer-expiry": "transactions",
    "transaction-timeout": "transactions",
    "coordinator-failover-prepare": "transactions",
    "lso-lag": "transactions",
    "exactly-once-processing": "transactions",
    "broker-failure": "controller",
    "log-directory-failure": "durability",
    "controller-failover": "controller",
    "election-by-watching": "controller",
    "controller-failover-mid-isr": "controller",
    "controller-minority": "controller",
    "zk-stale-controller": "controller",
    "isr-propagation": "isr",
    "preferred-storm": "controller",
    "ten-percent": "controller",
    "leaders-spread": "controller",
    "quorum-vs-isr": "isr",
    "quorum-two-failures": "isr",
    "partition-asymmetric": "controller",
    "reassignment-crash": "controller",
    "reassignment-ends-early": "controller",
    "reassignment-asked-back": "controller",
}
"""The folder of each scenario of this package, in the order of ``kreplica whatif list``: there a module of its name
(hyphens as underscores) has it as ``SCENARIO``."""


OWN_CLUSTER = "own-cluster"
"""The name, in plans and answers, of the scenario that is made from a snapshot (``kreplica.scenarios.own_cluster``)."""


class _Holder(Protocol):
    SCENARIO: Scenario


def names() -> tuple[str, ...]:
    """The names of all scenarios, those from outside last."""
    return (*MODULES, *sorted(point.name for point in entry_points(group=GROUP)))


def scenarios() -> tuple[Scenario, ...]:
    """All scenarios."""
    return tuple(scenario_named(name) for name in names())


def scenario_named(name: str) -> Scenario:
    """One scenario.

    Raises:
        UsageError: There is none of that name; the nearest ones are given.
    """
    if name in MODULES:
        module: _Holder = importlib.import_module(f"{__name__}.library.{MODULES[name]}.{name.replace('-', '_')}")
        return module.SCENARIO
    for point in entry_points(group=GROUP):
        if point.name == name:
            return _outside(point.load(), name)
    near = nearest_names(name, names(), close=0.5)
    fix = f"did you mean {', '.join(near)}?" if near else "see kreplica whatif list"
    raise UsageError(f"there is no scenario {name!r}", "", fix)


def _outside(loaded: object, name: str) -> Scenario:
    if isinstance(loaded, Scenario):
        return loaded
    raise UsageError(f"the entry point {name} of {GROUP} names no Scenario", "", "repair the package it is from")
