"""The library of what-if scenarios: each one file with what happens, why, and what must come out by version."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Protocol

from kreplica.errors import UsageError
from kreplica.nearest_names import nearest_names
from kreplica.scenarios.scenario import Between, Case, Scenario

__all__ = ["GROUP", "MODULES", "OWN_CLUSTER", "Between", "Case", "Scenario", "names", "scenario_named", "scenarios"]

GROUP = "kreplica.scenarios"
"""Entry points by which other distributions add scenarios: each names a ``Scenario``."""

MODULES: tuple[str, ...] = (
    "hw-truncation-loss",
    "one-round-of-fetch",
    "high-watermark-in-two-rounds",
    "data-carrying-fetch",
    "it-depends",
    "four-occasions",
    "epoch-end-offset",
    "m1-m2-m3",
    "sync-and-async",
    "failed-replica-by-time",
    "slow-follower-shrink",
    "pauses-20-31-46",
    "isr-flap",
    "lag-max-messages",
    "high-watermark-of-the-isr",
    "readable-below-high-watermark",
    "caught-up-holds-hw",
    "high-watermark-idle-lag",
    "hw-truncation-divergence",
    "fast-failover-divergence",
    "stale-leader-truncation",
    "premature-isr-join",
    "unfenced-fetch",
    "last-replica-standing",
    "rebooted-follower",
    "elr-overrun",
    "acks0-blackhole",
    "acks-all-leader-crash",
    "acks-all-not-replicated",
    "min-isr-1-acks-all",
    "min-isr-reject",
    "after-append",
    "strict-min-isr-visibility",
    "unclean-election",
    "zombie-leader",
    "power-loss-of-all",
    "kill-keeps-the-log",
    "recovery-point",
    "acks1-leader-crash",
    "inflight-reorder",
    "two-producers-order",
    "retry-duplicate",
    "resend-after-restart",
    "idempotent-6th-batch",
    "idempotent-first-batch-lost",
    "producer-state-expired",
    "consumer-dup-on-rebalance",
    "max-poll-exceeded",
    "commit-before-process",
    "handed-off-auto-commit",
    "auto-commit-in-the-loop",
    "reset-latest-new-partition",
    "offset-expiry",
    "silent-topic-offsets",
    "offsets-topic-loss",
    "zombie-consumer-commit",
    "follower-read-monotonic",
    "read-your-writes",
    "consumer-truncation-detect",
    "seven-partitions",
    "one-group-or-several",
    "poison-record",
    "dead-letter",
    "failed-offsets-apart",
    "offset-as-lock",
    "rewind",
    "read-process-write",
    "read-process-write-at-least-once",
    "zombie-transaction",
    "zombie-producer-fenced",
    "hanging-transaction",
    "late-batch-next-transaction",
    "delayed-end-transaction",
    "delayed-marker",
    "early-producer-expiry",
    "transaction-timeout",
    "coordinator-failover-prepare",
    "lso-lag",
    "exactly-once-processing",
    "broker-failure",
    "log-directory-failure",
    "controller-failover",
    "election-by-watching",
    "controller-failover-mid-isr",
    "controller-minority",
    "zk-stale-controller",
    "isr-propagation",
    "preferred-storm",
    "ten-percent",
    "leaders-spread",
    "quorum-vs-isr",
    "quorum-two-failures",
    "partition-asymmetric",
    "reassignment-crash",
    "reassignment-ends-early",
)
"""The scenarios of this package, in the order of ``kreplica whatif list``: a module of this name (hyphens as
underscores) has it as ``SCENARIO``."""


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
        module: _Holder = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
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
