"""Times between the records of a metadata log: what comes sooner than its timer allows is told.

A real log of 4.3.1, whose controllers had the default session of 9 s, and records behind it as its controllers could
have written them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "support"))
from log_files.kafka_dumps import GOLDEN

from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError
from kreplica.formats.metadata_log.files import Replay, earliest, find_metadata, history
from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange, PartitionState
from kreplica.formats.metadata_log.log import MetadataEntry
from kreplica.formats.metadata_log.records import MetadataRecord
from kreplica.formats.segments.control_records import LEADER_CHANGE, ControlRecord
from kreplica.formats.traces.kraft.releases import Releases
from kreplica.formats.traces.kraft.timers import LAG, SESSION, Timers, timers_given
from kreplica.formats.traces.kraft.walk import Walk

LOG = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1"
UNFENCED, FENCED, QUIET = 19, 818, 600
"""Offsets at which broker 3 is unfenced and fenced, and of a record at which nothing happens."""
DEFAULTS = version_named("4.1").defaults

Data = dict[str, Any]


@pytest.fixture(scope="module")
def entries() -> list[MetadataEntry]:
    files = find_metadata(str(LOG))
    return [entry for entry, _ in history(files, Replay(), earliest(files))]


def walked(entries: Sequence[MetadataEntry], **given: int) -> Walk:
    """The entries, judged with timers by the last word of their names."""
    names = {"session": SESSION, "lag": LAG}
    walk = Walk(MetadataImage(), Releases(str(LOG)), timers=Timers({names[name]: ms for name, ms in given.items()}))
    for entry in entries:
        walk.take(entry, walk.image.apply(entry))
    return walk


def refused(walk: Walk) -> list[tuple[int, str | None]]:
    return [(row.offset, row.refused) for row in walk.rows if row.refused is not None]


def test_a_real_log_leaves_its_timers_their_time(entries: list[MetadataEntry]) -> None:
    walk = walked(entries, session=9000, lag=10_000)
    walk.end()
    assert refused(walk) == []
    assert list(walk.timers.remarks(DEFAULTS)) == []


def test_the_same_log_twenty_times_as_fast_fences_a_broker_too_soon(entries: list[MetadataEntry]) -> None:
    """Broker 3 leads partitions, is unfenced at 19 and fenced at 818, 158 s later: 7.9 s are less than a session."""
    first = entries[0].timestamp
    fast = [replace(one, timestamp=first + (one.timestamp - first) // 20) for one in entries[: FENCED + 1]]
    assert [offset for offset, _ in refused(walked(fast, session=9000))] == [FENCED]
    assert refused(walked(fast, session=7900)) == []
    assert "broker.session.timeout.ms=9000 is not over" in str(refused(walked(fast, session=9000))[0][1])
    told = list(walked(fast).timers.remarks(DEFAULTS))
    assert len(told) == 1
    assert told[0].startswith("offset 818: broker 3 in touch, is fenced 7914 ms later: ")


Made = tuple[Walk, PartitionChange]


@pytest.fixture
def created(entries: list[MetadataEntry]) -> Made:
    """The walk up to the creation of a partition that broker 1 leads and all three brokers have, with a lag of 10 s."""
    walk = walked(entries[: QUIET + 1])
    walk = walked(entries[: 1 + max(one for one, _ in _creations(walk))], lag=10_000)
    _, change = max(_creations(walk), key=lambda one: one[0])
    return walk, change


def _creations(walk: Walk) -> Iterator[tuple[int, PartitionChange]]:
    for topic in walk.image.topics.values():
        for number, after in topic.partitions.items():
            began = walk.timers._in_sync[topic.id, number].since
            offset = next(row.offset for row in walk.rows if (row.topic, row.partition) == (topic.name, number))
            if len(after.isr) == 3 and after.leader == 1:
                yield offset, PartitionChange(offset, began, topic.name, topic.id, number, None, after)


def take(walk: Walk, kind: str, data: Data, timestamp: int) -> None:
    entry = MetadataEntry(walk.image.next_offset, timestamp, 1, MetadataRecord(kind, 2, data))
    walk.take(entry, walk.image.apply(entry))


def shrink(walk: Walk, change: PartitionChange, later: int) -> list[str | None]:
    """What is refused where broker 3 leaves the ISR so long after the creation, and the run of changes ends."""
    lists = ("replicas", "removingReplicas", "addingReplicas", "directories", "eligibleLeaderReplicas", "lastKnownElr")
    place = {"topicId": change.topic_id, "partitionId": change.partition}
    data = {**place, **dict.fromkeys(lists), "isr": [1, 2], "leader": -2, "leaderRecoveryState": -1}
    take(walk, "PARTITION_CHANGE_RECORD", data, change.timestamp + later)
    take(walk, "NO_OP_RECORD", {}, change.timestamp + later)
    return [row.refused for row in walk.rows if row.refused is not None]


@pytest.mark.parametrize(("later", "soon"), [(9_900, True), (9_901, False), (30_000, False)])
def test_an_isr_shrinks_once_a_follower_can_have_lagged(created: Made, later: int, soon: bool) -> None:
    """A leader takes all in its ISR for caught up as its epoch begins: they leave after replica.lag.time.max.ms.

    kafka.cluster.Replica.resetReplicaState and ReplicaState.isCaughtUp; a tenth of a second is left to clocks.
    """
    told = f"3 in sync as leader epoch 0 began, out of the ISR {later} ms later: {LAG}=10000 is not over"
    assert shrink(*created, later) == ([told] if soon else [])
    walk, _ = created
    assert walk.timers.shortest[LAG].passed == later


def test_times_of_two_controllers_are_not_compared(created: Made) -> None:
    walk, change = created
    data = {"leaderId": 2, "voters": []}
    entry = MetadataEntry(walk.image.next_offset, change.timestamp, 2, ControlRecord(LEADER_CHANGE, data))
    walk.take(entry, walk.image.apply(entry))
    assert shrink(walk, change, 100) == []


def test_a_member_whose_directory_failed_leaves_at_once(created: Made) -> None:
    walk, change = created
    known = walk.image.brokers[3]
    walk.image.brokers[3] = walk.brokers[3] = replace(known, directories=["another"])
    assert shrink(walk, change, 100) == []


# -- the timers by themselves


def partition(epoch: int, isr: Sequence[int], timestamp: int, before: Sequence[int] = (1, 2, 3)) -> PartitionChange:
    """A change to an ISR, or of the leader where the epoch is above 1."""

    def state(epoch: int, isr: Sequence[int]) -> PartitionState:
        return PartitionState([1, 2, 3], isr, (), (), (), (), (), 1, epoch, 0, 0)

    return PartitionChange(7, timestamp, "orders", "id", 0, state(1, before), state(epoch, isr))


def test_a_follower_that_joined_after_the_epoch_began_may_leave_at_once() -> None:
    """It had reached the high watermark, not the leader's end, so it need not have been caught up."""
    timers = Timers({LAG: 10_000})
    timers.changed(partition(2, [1, 2], 1000))
    leaves = partition(1, [1, 2], 1100)
    assert timers.shrink_fault(leaves, timers.in_sync(leaves)) is None
    others = partition(1, [1, 3], 1100)
    assert timers.shrink_fault(others, timers.in_sync(others)) is not None


def test_a_session_begins_anew_with_every_heartbeat_that_led_to_a_record() -> None:
    timers = Timers({SESSION: 9000})
    assert timers.session_fault(3, 5, 1000, "is fenced") is None
    timers.heard_of(3, 1000)
    assert timers.session_fault(3, 5, 9_900, "is fenced") is not None
    assert timers.session_fault(3, 5, 9_901, "is fenced") is None
    timers.new_controller(9_000, [3])
    assert timers.session_fault(3, 5, 9_901, "is fenced") is not None


def test_a_clock_that_is_set_back_is_told_and_ends_what_is_known() -> None:
    timers = Timers({SESSION: 9000})
    timers.heard_of(3, 1000)
    timers.passed(4, 5000)
    timers.passed(5, 4000)
    assert timers.session_fault(3, 6, 4500, "is fenced") is None
    told = "offset 5: 1000 ms before the record before it, 1 such record: a clock was set back, or times were altered"
    assert list(timers.remarks(DEFAULTS)) == [told]


def test_only_timers_of_a_metadata_log_are_taken() -> None:
    assert timers_given({SESSION: 5000}) == {SESSION: 5000}
    with pytest.raises(UsageError, match="acks is no timer of a metadata log"):
        timers_given({"acks": 1})


# -- brokers


@pytest.mark.parametrize(
    ("case", "soon"), [("leads", True), ("leads nothing", False), ("shuts down", False), ("starts anew", True)]
)
def test_a_session_has_to_be_over_where_nobody_asked_to_stop(
    entries: list[MetadataEntry], case: str, soon: bool
) -> None:
    """A broker in controlled shutdown, or one that leads nothing, is fenced as soon as it asks to stop."""
    walk = walked(entries[: QUIET + 1], session=9000)
    now, epoch = walk.image.timestamp or 0, walk.image.brokers[3].epoch
    walk.timers.heard_of(3, now)
    if case == "shuts down":
        walk.image.brokers[3] = walk.brokers[3] = replace(walk.image.brokers[3], shutting_down=True)
    if case == "starts anew":
        new = {"brokerId": 3, "brokerEpoch": walk.image.next_offset, "fenced": True, "inControlledShutdown": False}
        told = dict.fromkeys(("rack", "logDirs", "cordonedLogDirs"))
        take(walk, "REGISTER_BROKER_RECORD", {**new, **told, "endPoints": [], "features": []}, now + 1000)
    else:
        closing = [one for one in entries[:FENCED] if one.timestamp == entries[FENCED].timestamp]
        for one in () if case == "leads nothing" else closing:
            take(walk, one.record.type, dict(one.record.data or {}), now + 1000)
        take(walk, "FENCE_BROKER_RECORD", {"id": 3, "epoch": epoch}, now + 1000)
    found = [row.refused for row in walk.rows if "is not over" in str(row.refused)]
    what = "is registered by another process" if case == "starts anew" else "is fenced"
    assert found == ([f"{_KIND.get(case)}broker 3 in touch, {what} 1000 ms later: {SESSION}=9000 is not over"] * soon)


_KIND = {"leads": "FENCE_BROKER_RECORD: ", "starts anew": "REGISTER_BROKER_RECORD: "}
