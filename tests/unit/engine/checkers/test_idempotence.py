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


def after_a_clean_stop(refused: int, stopped: bool = True, in_flight: int = 5, batches: str = "abc") -> list[Finding]:
    """Batches of one record each; the leader stops and leads again, refuses one, and takes b in the next epoch."""
    settings: dict[str, Value] = {"enable.idempotence": True, "max.in.flight.requests.per.connection": in_flight}
    topic = TopicSetup("t", ((1,),), {"unclean.leader.election.enable": False})
    setup: Setup = cluster(1, topic, clients=(ProducerSetup("writer", settings=settings),), controllers=1)
    trace = Trace()
    folds = Judge(setup, version_named("4.1"), trace)
    trace.emit(0, Kind.BECAME_LEADER, ONE, (P, 0, (1,), 0))
    for place, value in enumerate(batches):
        trace.emit(1, Kind.SENT, "writer", (P, value, -1))
        record = Record(0, value, 7, 0, place, batch_sequence=place)
        trace.emit(1, Kind.APPENDED, ONE, (P, place, place + 1, (record,), "leader"))
    trace.emit(2, Kind.STOPPED if stopped else Kind.CRASHED, ONE, () if stopped else (False,))
    trace.emit(3, Kind.STARTED, ONE, ())
    trace.emit(3, Kind.BECAME_LEADER, ONE, (P, 1, (1,), len(batches)))
    error = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.name
    trace.emit(4, Kind.APPEND_REFUSED, ONE, (P, 7, refused, error, ""))
    again = Record(1, "b", 7, 1, 0, batch_sequence=0)
    trace.emit(5, Kind.APPENDED, ONE, (P, len(batches), len(batches) + 1, (again,), "leader"))
    return list(folds.outcome(1000).findings)


def test_a_clean_stop_keeps_the_last_batch_of_a_producer() -> None:
    """ProducerStateManager.writeSnapshot: the leader has a, b and c in its log, and knows c alone as a duplicate."""
    assert after_a_clean_stop(refused=0) == []
    assert after_a_clean_stop(refused=1) == []
    for broken in (
        after_a_clean_stop(refused=2),  # the last batch is known
        after_a_clean_stop(refused=0, stopped=False),  # after a crash all are read from the log
        after_a_clean_stop(refused=0, in_flight=1),  # none but the last is sent again
        after_a_clean_stop(refused=0, batches="abcdef"),  # six batches are never in flight together
    ):
        assert [(one.invariant, one.node) for one in broken] == [(DUPLICATE, "writer")]


def first_that_breaks(invariant: Invariant, seeds: int) -> int | None:
    rules = version_named("3.0")
    for seed in range(seeds):
        setup, plan = random_run(seed, rules)
        outcome, _ = observe(setup, plan, rules, seed, keep=False)
        if invariant in {finding.invariant for finding in outcome.findings}:
            return seed
    return None


@pytest.mark.one_python
def test_random_runs_break_it_where_duplicates_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "duplicate_offset", lambda *_: -1)
    monkeypatch.setattr(transaction_append, "sequence_error", lambda *_: ErrorCode.NONE)
    assert first_that_breaks(DUPLICATE, 30) is not None
