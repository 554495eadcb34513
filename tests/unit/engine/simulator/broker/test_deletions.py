"""DeleteRecords as it is played: where logs begin afterwards, when the operator is answered, and with what.

Expected is what kafka.cluster.Partition (deleteRecordsOnLeader, lowWatermarkIfLeader), DelayedDeleteRecords and
ReplicaFetcherThread.processPartitionData of 3.8 do, and what Kafka's own class prints of low watermarks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.engine import observe
from kreplica.engine.fault_plan import At, Crash, Cut, DeleteRecords, DiskLoss, Plan, Start, Step, Stop
from kreplica.engine.rules.replication.high_watermark import low_watermark
from kreplica.engine.setup import SECOND, ProducerSetup, ReaderSetup, Send, Setup, TopicSetup, cluster
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-classes" / "low-watermarks.txt"

VERSIONS = ["0.11", "2.5", "3.9", "4.1"]


def at(second: float, action: object) -> Step:
    return Step(At(int(second * SECOND)), action)  # type: ignore[arg-type]


def five_records(seconds: int = 60) -> Setup:
    """Five records of t-0, replicas 1, 2, 3, committed by second 2; one more at second 50."""
    sent = tuple(Send(int(at * SECOND), f"m{number}", "t-0") for number, at in enumerate((1, 1.1, 1.2, 1.3, 1.4, 50)))
    clients = (ProducerSetup("producer", sent, {"acks": -1, "retries": 20}), ReaderSetup("reader", ("t-0",)))
    return cluster(4, TopicSetup("t", ((1, 2, 3),)), clients=clients, duration=seconds * SECOND)


def play(plan: Plan, version: str) -> list[dict[str, object]]:
    trace = Trace()
    simulate(five_records(), plan, version_named(version), 1, trace)
    return [{"at": e.time / SECOND, "kind": e.kind, "node": e.node, **fields_of(e)} for e in trace.events]


def of(events: list[dict[str, object]], kind: str, **wanted: object) -> list[dict[str, object]]:
    return [event for event in events if event["kind"] == kind and wanted.items() <= event.items()]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("before", "offset"), [(3, 3), (-1, 5), (0, 0)])
def test_followers_delete_what_the_leader_has_and_then_the_operator_hears(
    version: str, before: int, offset: int
) -> None:
    events = play((at(5, DeleteRecords("t-0", before)),), version)
    starts = of(events, Kind.LOG_START, partition="t-0")
    assert [event["log_start"] for event in starts] == [offset] * (3 if offset else 0)
    (answer,) = of(events, Kind.RECORDS_DELETED, partition="t-0", offset=offset, low_watermark=offset, error="NONE")
    if offset:
        assert (starts[0]["node"], starts[0]["at"]) == ("broker-1", 5)
        assert {event["node"] for event in starts[1:]} == {"broker-2", "broker-3"}
        # with the answer to the fetch that waits, 500 ms, and the leader knows with the one after
        assert max(event["at"] for event in starts) < answer["at"] < 6.1  # type: ignore[operator,type-var]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("before", [6, 100])
def test_what_is_not_committed_cannot_be_deleted(version: str, before: int) -> None:
    """UnifiedLog.maybeIncrementLogStartOffset."""
    events = play((at(5, DeleteRecords("t-0", before)),), version)
    assert not of(events, Kind.LOG_START)
    (answer,) = of(events, Kind.RECORDS_DELETED, offset=before, low_watermark=-1)
    assert (answer["at"], answer["error"]) == (5, "OFFSET_OUT_OF_RANGE")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_live_follower_that_does_not_fetch_holds_the_answer_back(version: str) -> None:
    """DelayedDeleteRecords: timed out, with the low watermark as it was; the leader has deleted all the same."""
    plan = (at(4, Cut("broker-3", "broker-1", 40 * SECOND)), at(5, DeleteRecords("t-0", 3)))
    events = play(plan, version)
    (answer,) = of(events, Kind.RECORDS_DELETED)
    assert (answer["at"], answer["low_watermark"], answer["error"]) == (35, 0, "REQUEST_TIMED_OUT")
    assert [event["at"] for event in of(events, Kind.LOG_START, node="broker-1", log_start=3)] == [5]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_dead_follower_is_not_waited_for_and_deletes_when_it_is_back(version: str) -> None:
    """Partition.lowWatermarkIfLeader looks at live brokers alone."""
    plan = (at(4, Crash("broker-3")), at(30, DeleteRecords("t-0", 3)), at(45, Start("broker-3")))
    events = play(plan, version)
    (answer,) = of(events, Kind.RECORDS_DELETED, low_watermark=3, error="NONE")
    assert answer["at"] < 31.1  # type: ignore[operator]
    (late,) = of(events, Kind.LOG_START, node="broker-3", log_start=3)
    assert late["at"] > 45  # type: ignore[operator]


def test_who_waits_hears_when_the_leader_resigns() -> None:
    """DelayedDeleteRecords.tryComplete: NOT_LEADER_OR_FOLLOWER, and no low watermark."""
    plan = (at(4, Cut("broker-3", "broker-1", 40 * SECOND)), at(5, DeleteRecords("t-0", 3)), at(8, Stop("broker-1")))
    (answer,) = of(play(plan, "4.1"), Kind.RECORDS_DELETED)
    assert (answer["low_watermark"], answer["error"]) == (-1, "NOT_LEADER_OR_FOLLOWER")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_deleted_on_purpose_is_not_lost(version: str) -> None:
    """Broker 2, its disk empty, starts from the leader's log start and leads at the end: m0 to m2 are nowhere."""
    plan = (
        at(5, DeleteRecords("t-0", 3)),
        at(8, DiskLoss("broker-2")),
        at(9, Start("broker-2")),
        at(40, Stop("broker-3")),
        at(45, Stop("broker-1")),
    )
    outcome, _ = observe(five_records(), plan, version_named(version), 1)
    assert outcome.histories.acknowledged == 6
    assert (outcome.histories.lost, outcome.histories.lost_read, outcome.histories.skipped) == ((), (), ())
    assert outcome.findings == ()


def test_nobody_deletes_where_nobody_leads() -> None:
    plan = (at(3, Stop("broker-3")), at(3, Stop("broker-2")), at(10, Crash("broker-1")), at(30, DeleteRecords("t-0")))
    events = play(plan, "4.1")
    assert not of(events, Kind.RECORDS_DELETED)
    assert [event["at"] for event in of(events, Kind.FAULT) if "nothing" in event.values()] == [30]


@pytest.mark.parametrize(
    ("version", "before", "told"),
    [("0.10", 3, "delete no records on request"), ("4.1", -2, "before offset -2")],
)
def test_deletions_that_cannot_be(version: str, before: int, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        play((at(5, DeleteRecords("t-0", before)),), version)


def test_low_watermarks_are_those_of_kafkas_partition() -> None:
    """Partition.lowWatermarkIfLeader of 4.3.1: the leader's log start, followers' and ``!`` for who is not alive."""
    lines = [line.split(" | ") for line in GOLDEN.read_text().splitlines()]
    for own, followers, expected in lines:
        starts = [int(own), *(int(word.rstrip("!")) for word in followers.split())]
        live = sum(1 << place for place, word in enumerate(followers.split(), 1) if not word.endswith("!"))
        assert low_watermark(starts, live, int(own)) == int(expected), followers
    assert len(lines) >= 60
