"""The state that records make: epochs counted, transactions kept back, ELRs cleared, topics removed."""

from __future__ import annotations

from typing import Any

import pytest

from kreplica.formats.metadata_log.change_rows import change_row
from kreplica.formats.metadata_log.changes import compare_images, kinds_of
from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange, PartitionState
from kreplica.formats.metadata_log.log import MetadataEntry
from kreplica.formats.metadata_log.records import RECORD_TYPES, MetadataRecord
from kreplica.formats.segments.control_records import ControlRecord

SCHEMAS = {known.name: known for known in RECORD_TYPES.values()}


class Log:
    """An image and the offset of the next record."""

    def __init__(self) -> None:
        self.image = MetadataImage()

    def add(self, kind: str, **data: Any) -> list[PartitionChange]:
        """Applies a record; what is not given has its default."""
        known = SCHEMAS[f"{kind}_RECORD"]
        fields = {field.name: field.default for field in known.fields} | data
        return self.put(MetadataRecord(known.name, known.newest, fields))

    def put(self, record: Any) -> list[PartitionChange]:
        offset = self.image.next_offset
        return self.image.apply(MetadataEntry(offset, 1000 + offset, 3, record))

    def change(self, **data: Any) -> list[PartitionChange]:
        return self.add("PARTITION_CHANGE", partitionId=0, topicId="T", **data)

    @property
    def state(self) -> PartitionState:
        return self.image.topics["T"].partitions[0]


@pytest.fixture
def log() -> Log:
    found = Log()
    found.add("TOPIC", name="orders", topicId="T")
    found.add(
        "PARTITION",
        partitionId=0,
        topicId="T",
        replicas=[1, 2, 3],
        isr=[1, 2, 3],
        removingReplicas=[],
        addingReplicas=[],
        leader=1,
        leaderEpoch=0,
        partitionEpoch=0,
        directories=["a", "b", "c"],
    )
    return found


def test_epochs_are_counted(log: Log) -> None:
    log.change(isr=[1, 2])
    assert (log.state.leader_epoch, log.state.partition_epoch, log.state.isr) == (0, 1, [1, 2])
    log.change(leader=2)
    assert (log.state.leader, log.state.leader_epoch, log.state.partition_epoch) == (2, 1, 2)
    log.change(leader=2)  # the same leader named again is a new leader epoch: PartitionRegistration.merge
    assert (log.state.leader, log.state.leader_epoch, log.state.partition_epoch) == (2, 2, 3)


def test_null_leaves_a_list_and_an_empty_one_clears_it(log: Log) -> None:
    log.change(eligibleLeaderReplicas=[3], lastKnownElr=[2], addingReplicas=[4])
    log.change()
    assert (log.state.elr, log.state.last_known_elr, log.state.adding) == ([3], [2], [4])
    log.change(eligibleLeaderReplicas=[], lastKnownElr=[], addingReplicas=[])
    assert (log.state.elr, log.state.last_known_elr, log.state.adding) == ([], [], [])
    assert log.state.directories == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("isr", "elr", "leader", "recovery", "unclean"),
    [
        ([1, 2], [], 2, -1, False),
        ([1, 2], [], 3, 1, True),
        ([1, 2], [], 3, -1, True),  # before metadata.version 3.2 no recovery state is written
        ([], [3], 3, -1, False),
        ([], [3], 2, 1, True),
        ([1, 2], [], -1, -1, False),
    ],
)
def test_an_election_outside_isr_and_elr_is_unclean(
    log: Log, isr: list[int], elr: list[int], leader: int, recovery: int, unclean: bool
) -> None:
    log.change(isr=isr, eligibleLeaderReplicas=elr)
    (change,) = log.change(leader=leader, leaderRecoveryState=recovery)
    assert change.unclean is unclean
    assert ("unclean" in kinds_of(change)) is unclean
    assert "leader" in kinds_of(change)


def test_another_order_of_the_isr_is_no_change_of_it(log: Log) -> None:
    """An ISR is a set (CommittedPartitionState of kafka.cluster.Partition), and so is the ELR."""
    (change,) = log.change(isr=[3, 1, 2], eligibleLeaderReplicas=[], lastKnownElr=[])
    assert kinds_of(change) == []
    log.change(isr=[1], eligibleLeaderReplicas=[2, 3], lastKnownElr=[])
    (reordered,) = log.change(isr=[1], eligibleLeaderReplicas=[3, 2])
    assert kinds_of(reordered) == []
    (shrunk,) = log.change(isr=[1], eligibleLeaderReplicas=[3])
    assert kinds_of(shrunk) == ["elr"]


def test_an_unclean_election_between_two_states_is_told_by_the_recovery_state() -> None:
    """Broker 3 left the ISR, broker 1 failed, 3 was elected uncleanly: the first state still has 3 in its ISR."""
    first, second = Log(), Log()
    for each in (first, second):
        each.add("TOPIC", name="orders", topicId="T")
        place = {"partitionId": 0, "topicId": "T", "replicas": [1, 3], "removingReplicas": [], "addingReplicas": []}
        each.add("PARTITION", **place, isr=[1, 3], leader=1, leaderEpoch=0, partitionEpoch=0)
    second.change(isr=[1])
    second.change(leader=-1)
    second.change(isr=[3], leader=3, leaderRecoveryState=1)
    (change,) = compare_images(first.image, second.image)
    assert change.unclean
    assert kinds_of(change) == ["leader", "unclean", "isr", "recovery"]


def test_a_leader_of_the_isr_is_clean_while_the_partition_still_recovers(log: Log) -> None:
    """PartitionRegistration.electionWasUnclean looks at what a record turns; this one turns nothing."""
    log.change(isr=[3], leader=3, leaderRecoveryState=1)
    (again,) = log.change(leader=3)
    assert (again.after and again.after.recovery_state, again.unclean) == (1, False)
    (back,) = log.change(isr=[3, 1], leaderRecoveryState=0)
    assert kinds_of(back) == ["isr", "recovery"]


def test_a_state_is_as_late_as_its_latest_record_when_a_clock_goes_back(log: Log) -> None:
    """A new leader of the quorum may have a clock that is behind that of the one before."""
    record = MetadataRecord("NO_OP_RECORD", 0, {})
    for timestamp in (5000, 3000, 4000):
        log.image.apply(MetadataEntry(log.image.next_offset, timestamp, 3, record))
        assert log.image.timestamp == 5000
    log.image.apply(MetadataEntry(log.image.next_offset, 5001, 3, record))
    assert log.image.timestamp == 5001


def test_a_transaction_holds_at_its_end(log: Log) -> None:
    log.add("BEGIN_TRANSACTION", name="x")
    assert log.change(leader=2) == []
    assert log.state.leader == 1
    assert len(log.image.pending or ()) == 1
    (change,) = log.add("END_TRANSACTION")
    assert (change.offset, log.state.leader) == (3, 2)
    log.add("BEGIN_TRANSACTION")
    log.change(leader=3)
    assert log.add("ABORT_TRANSACTION", reason="y") == []
    assert (log.state.leader, log.image.pending) == (2, None)


def test_elrs_are_cleared_by_topic_or_everywhere(log: Log) -> None:
    log.change(eligibleLeaderReplicas=[3])
    epoch = log.state.partition_epoch
    assert log.add("CLEAR_ELR", topicName="other") == []
    (change,) = log.add("CLEAR_ELR", topicName="")
    assert kinds_of(change) == ["elr"]
    assert (list(log.state.elr), log.state.partition_epoch) == ([], epoch + 1)
    assert log.add("CLEAR_ELR", topicName="orders") == []  # it has none any more: left alone


def test_a_removed_topic_takes_its_settings_along(log: Log) -> None:
    log.add("CONFIG", resourceType=2, resourceName="orders", name="min.insync.replicas", value="2")
    log.add("CONFIG", resourceType=4, resourceName="1", name="a", value="b")
    log.add("CONFIG", resourceType=4, resourceName="1", name="a", value=None)
    (change,) = log.add("REMOVE_TOPIC", topicId="T")
    assert kinds_of(change) == ["removed"]
    assert log.image.configs == {(4, "1"): {}}
    assert log.image.topics == {}


def test_brokers_are_fenced_and_unfenced_in_both_ways(log: Log) -> None:
    ends = [{"name": "PLAINTEXT", "host": "h", "port": 9092, "securityProtocol": 0}]
    log.add("REGISTER_BROKER", brokerId=1, brokerEpoch=5, endPoints=ends, rack="r", logDirs=["a"], fenced=True)
    assert log.image.brokers[1].fenced
    for kind, fields, fenced in (
        ("UNFENCE_BROKER", {"id": 1, "epoch": 5}, False),
        ("FENCE_BROKER", {"id": 1, "epoch": 5}, True),
        ("BROKER_REGISTRATION_CHANGE", {"brokerId": 1, "fenced": -1}, False),
        ("BROKER_REGISTRATION_CHANGE", {"brokerId": 1, "inControlledShutdown": 1}, False),
        ("BROKER_REGISTRATION_CHANGE", {"brokerId": 1, "fenced": 1, "logDirs": ["b"]}, True),
    ):
        log.add(kind, **fields)
        assert log.image.brokers[1].fenced is fenced, kind
    assert log.image.brokers[1].shutting_down
    assert log.image.brokers[1].directories == ["b"]
    log.add("UNREGISTER_BROKER", brokerId=1, brokerEpoch=5)
    assert log.image.brokers == {}


def test_cordoned_directories_are_those_named_last(log: Log) -> None:
    """KIP-1066: null leaves them as they are, an empty list takes the cordon away; a registration says all anew."""
    ends = [{"name": "PLAINTEXT", "host": "h", "port": 9092, "securityProtocol": 0}]
    register = {"brokerId": 1, "brokerEpoch": 5, "endPoints": ends, "rack": None, "logDirs": ["a", "b"]}
    for kind, fields, cordoned in (
        ("REGISTER_BROKER", register, None),
        ("BROKER_REGISTRATION_CHANGE", {"brokerId": 1, "cordonedLogDirs": ["a"]}, ["a"]),
        ("BROKER_REGISTRATION_CHANGE", {"brokerId": 1, "fenced": 1}, ["a"]),
        ("FENCE_BROKER", {"id": 1, "epoch": 5}, ["a"]),
        ("BROKER_REGISTRATION_CHANGE", {"brokerId": 1, "cordonedLogDirs": ["a", "b"]}, ["a", "b"]),
        ("BROKER_REGISTRATION_CHANGE", {"brokerId": 1, "cordonedLogDirs": []}, []),
        ("REGISTER_BROKER", {**register, "cordonedLogDirs": ["b"]}, ["b"]),
    ):
        log.add(kind, **fields)
        assert log.image.brokers[1].cordoned == cordoned, kind


def test_features_of_level_0_are_gone(log: Log) -> None:
    log.add("FEATURE_LEVEL", name="metadata.version", featureLevel=30)
    log.add("FEATURE_LEVEL", name="group.version", featureLevel=1)
    log.add("FEATURE_LEVEL", name="group.version", featureLevel=0)
    log.put(ControlRecord("KRAFT_VERSION", {"version": 0, "kRaftVersion": 1}))
    assert log.image.features == {"metadata.version": 30, "kraft.version": 1}


def test_records_about_what_nobody_made_are_counted(log: Log) -> None:
    log.add("PARTITION_CHANGE", partitionId=9, topicId="T", leader=1)
    log.add("PARTITION_CHANGE", partitionId=0, topicId="gone", leader=1)
    log.add("REMOVE_TOPIC", topicId="gone")
    log.add("FENCE_BROKER", id=7, epoch=1)
    log.add("UNREGISTER_BROKER", brokerId=7, brokerEpoch=1)
    log.add("BROKER_REGISTRATION_CHANGE", brokerId=7)
    log.put(MetadataRecord("TYPE_99", 1, None))
    log.put(ControlRecord("CONTROL_9", None))
    assert log.image.unplaced == 6
    assert log.image.unknown == {"TYPE_99 v1": 1, "CONTROL_9 v?": 1}


def test_states_are_compared_by_topic_id(log: Log) -> None:
    other = Log()
    other.add("TOPIC", name="orders", topicId="T2")
    other.image.topics["T2"].partitions[0] = log.state
    changes = compare_images(log.image, other.image)
    assert [kinds_of(change) for change in changes] == [["removed"], ["created"]]
    assert compare_images(log.image, log.image) == []
    row = change_row(changes[0], compared=True)
    assert (row.offset, row.leader_before, row.leader, row.isr) == (None, 1, None, None)
