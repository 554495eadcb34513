"""Idempotent producers: what stands twice or late in the logs is a finding, on hand-written traces and random runs."""

from __future__ import annotations

import pytest

from kreplica.engine import Judge, Setup, Trace, cluster, observe, version_named
from kreplica.engine.checkers.invariants import Finding, Invariant
from kreplica.engine.fuzzing.setups import random_run
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions import transaction_append
from kreplica.engine.settings import Value
from kreplica.engine.setup import ProducerSetup, TopicSetup
from kreplica.engine.simulator.broker import leadership
from kreplica.engine.trace import Kind, Record

P, ONE = "t-0", "broker-1"
DUPLICATE, ORDER = Invariant.IDEMPOTENCE_DUPLICATE, Invariant.IDEMPOTENCE_ORDER


def findings(*values: str, idempotent: bool = True, unclean: bool = False, first_sequence: int = 0) -> list[Finding]:
    """Of a log with these values; a, b and c were sent in this order."""
    settings: dict[str, Value] = {"enable.idempotence": idempotent}
    topic = TopicSetup("t", ((1,),), {"unclean.leader.election.enable": unclean})
    setup: Setup = cluster(1, topic, clients=(ProducerSetup("writer", settings=settings),), controllers=1)
    trace = Trace()
    folds = Judge(setup, version_named("4.1"), trace)
    trace.emit(0, Kind.BECAME_LEADER, ONE, (P, 0, (1,), 0))
    for value in "abc":
        trace.emit(1, Kind.SENT, "writer", (P, value, -1))
    records = tuple(Record(0, value, 7, 0, first_sequence + place) for place, value in enumerate(values))
    trace.emit(2, Kind.APPENDED, ONE, (P, 0, len(records), records, "leader"))
    return list(folds.outcome(1000).findings)


def test_duplicates_and_order() -> None:
    assert findings("a", "b", "c") == []
    assert findings("a", "c") == []
    assert [(one.invariant, one.partition, one.node) for one in findings("a", "b", "a")] == [(DUPLICATE, P, "writer")]
    assert [one.invariant for one in findings("b", "a")] == [ORDER]


def test_where_nothing_is_promised() -> None:
    assert findings("b", "a", "b", first_sequence=1) == []  # the leader knew nothing of it, and took b first
    assert findings("b", "a", "b", first_sequence=0) != []
    assert findings("b", "a", "b", idempotent=False) == []
    assert findings("b", "a", "b", unclean=True) == []


def first_that_breaks(invariant: Invariant, seeds: int) -> int | None:
    rules = version_named("3.0")
    for seed in range(seeds):
        setup, plan = random_run(seed, rules)
        outcome, _ = observe(setup, plan, rules, seed, keep=False)
        if invariant in {finding.invariant for finding in outcome.findings}:
            return seed
    return None


def test_random_runs_break_it_where_duplicates_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "duplicate_offset", lambda *_: -1)
    monkeypatch.setattr(transaction_append, "sequence_error", lambda *_: ErrorCode.NONE)
    assert first_that_breaks(DUPLICATE, 30) is not None
