"""Sequences of an idempotent producer when batches fail: no gap is left that a leader would wait for.

org.apache.kafka.clients.producer.internals: Sender, TransactionManager, TxnPartitionEntry.
"""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import At, Cut, Pause, Plan, Step
from kreplica.engine.settings import Value
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.simulator import simulate
from kreplica.engine.simulator.clients.idempotent import Line
from kreplica.engine.simulator.clients.producer import Batch
from kreplica.engine.trace import Event, Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named

EVERY = 200 * MILLISECOND
DELIVERY_TIMEOUT = 2 * SECOND
HEALED = 9 * SECOND
RECORDS = 120


def play(version: str, plan: Plan, **settings: Value) -> list[Event]:
    """A record each 200 ms from 2 s to 26 s, each given up after 2 s."""
    named: dict[str, Value] = {
        "enable.idempotence": True,
        "linger.ms": 0,
        "batch.records": 1,
        "delivery.timeout.ms": DELIVERY_TIMEOUT // MILLISECOND,
        "request.timeout.ms": 1000,
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    writer = ProducerSetup("writer", sends("t-0", *map(str, range(RECORDS)), start=2 * SECOND, every=EVERY))
    topic = TopicSetup("t", ((1, 2, 3),), {"min.insync.replicas": 2})
    setup = cluster(3, topic, clients=(writer,), settings=named, duration=40 * SECOND)
    trace = Trace()
    simulate(setup, plan, version_named(version), 1, trace)
    return trace.events


def values(events: list[Event], kind: str) -> list[int]:
    return [int(fields_of(event)["value"]) for event in events if event.kind == kind]


def sent_after(time: int) -> int:
    """The first value sent at this time or later."""
    return (time - 2 * SECOND + EVERY - 1) // EVERY


@pytest.mark.parametrize("version", ["2.1", "2.5", "3.9", "4.1"])
def test_what_was_never_sent_leaves_no_gap(version: str) -> None:
    """RecordAccumulator gives sequences to what it drains: what expires in the queue has none."""
    events = play(version, (Step(At(4 * SECOND), Cut("writer", "*", HEALED - 4 * SECOND)),))
    failed = values(events, Kind.SEND_FAILED)
    healthy = sent_after(16 * SECOND)  # a question for metadata that was lost takes its time
    assert failed
    assert max(failed) < healthy
    assert set(range(healthy, RECORDS)) <= set(values(events, Kind.ACKNOWLEDGED))
    queued = range(sent_after(4 * SECOND) + 5, sent_after(HEALED))  # behind the five that are on their way
    told = {int(fields_of(event)["value"]): event.time for event in events if event.kind == Kind.SEND_FAILED}
    waited = [told[value] - (2 * SECOND + value * EVERY) for value in queued]
    assert max(waited) - EVERY <= DELIVERY_TIMEOUT <= min(waited)


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_request_that_times_out_takes_the_others_of_its_connection_with_it(idempotent: bool) -> None:
    """NetworkClient.handleTimedOutRequests closes the connection: five requests fail at the deadline of the first."""
    cut = (Step(At(4 * SECOND), Cut("writer", "*", 2 * SECOND)),)
    events = play("4.1", cut, delivery_timeout_ms=20_000, enable_idempotence=idempotent)
    retried = [event for event in events if event.kind == Kind.RETRIED]
    lost = range(sent_after(4 * SECOND), sent_after(4 * SECOND) + 5)
    assert [fields_of(event)["values"] for event in retried[:5]] == [(str(value),) for value in lost]
    assert {(event.time, fields_of(event)["error"]) for event in retried[:5]} == {(5 * SECOND, "NETWORK_EXCEPTION")}
    assert set(range(RECORDS)) == set(values(events, Kind.ACKNOWLEDGED))


@pytest.mark.parametrize("version", ["2.5", "3.9"])
def test_a_producer_goes_on_after_batches_that_were_refused_until_it_was_too_late(version: str) -> None:
    """Below min ISR every try is refused. The answers that come too late leave no gap either (handleFailedBatch)."""
    pauses = tuple(Step(At(4 * SECOND), Pause(f"broker-{broker}", HEALED - 4 * SECOND)) for broker in (2, 3))
    settings = {"latency.us": 40_000, "replica.lag.time.max.ms": 1000}
    events = play(version, pauses, **settings)
    refused = [event for event in events if event.kind == Kind.RETRIED and "NOT_ENOUGH" in fields_of(event)["error"]]
    assert refused
    assert values(events, Kind.SEND_FAILED)
    healthy = sent_after(HEALED + 3 * SECOND)
    assert set(range(healthy, RECORDS)) <= set(values(events, Kind.ACKNOWLEDGED))


def line_of(*sizes: int) -> tuple[Line, list[Batch]]:
    """Batches of so many records, numbered one after the other."""
    line, batches = Line(7, 3), []
    for size in sizes:
        batch = Batch("t-0", 0)
        batch.values = [f"v{place}" for place in range(size)]
        line.number(batch, False)
        line.pending.append(batch)
        batches.append(batch)
    return line, batches


def test_batches_behind_one_that_is_not_in_the_log_get_its_sequences() -> None:
    line, batches = line_of(2, 3, 1, 4)
    assert [batch.sequence for batch in batches] == [0, 2, 5, 6]
    line.pending.remove(batches[1])
    line.shift(batches[1], False)
    assert [batch.sequence for batch in line.pending] == [0, 2, 3]
    assert [batch.renumbered for batch in line.pending] == [False, True, True]
    assert [record.sequence for record in batches[3].records] == [3, 4, 5, 6]
    assert line.following == 7


def test_answers_that_overtake_each_other_do_not_take_a_line_back() -> None:
    """TxnPartitionEntry.maybeUpdateLastAckedSequence, TxnPartitionMap.updateLastAckedOffset."""
    line, batches = line_of(1, 1, 1)
    line.acknowledge(batches[2], 12)
    line.acknowledge(batches[0], 10)
    line.acknowledge(batches[1], -1)  # a duplicate whose offset nobody knows any more
    assert (line.last_acknowledged, line.last_offset) == (2, 12)
    line.restart(7, 4)
    assert (line.last_acknowledged, line.last_offset) == (-1, 12), "startSequencesAtBeginning keeps the offset"


def test_the_last_unresolved_batch_decides_where_the_line_resolves() -> None:
    """TransactionManager.markSequenceUnresolved."""
    line, batches = line_of(2, 3)
    line.leave_unresolved(batches[1])
    line.leave_unresolved(batches[0])
    assert line.resolves_at == 5
