"""The state of a KRaft cluster, made from the records of its metadata log, applied one by one.

Leader and partition epochs are not written by a change, they are counted: every change of a partition is a new
partition epoch, every change that names a leader, be it the same one, a new leader epoch. Records between the begin and
the end of a transaction hold only from its end on. Kafka: org.apache.kafka.image.MetadataDelta, TopicDelta,
org.apache.kafka.metadata.PartitionRegistration, BrokerRegistration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kreplica.formats.metadata_log.log import MetadataEntry
from kreplica.formats.metadata_log.records import NO_LEADER_CHANGE
from kreplica.formats.segments.control_records import KRAFT_VERSION, KRAFT_VOTERS, LEADER_CHANGE, ControlRecord

RECOVERING: Final = 1
"""LeaderRecoveryState after an unclean election."""

_FENCE, _UNFENCE = 1, -1
_SHUT_DOWN = 1
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition; lists in Kafka's order, epochs as counted."""

    replicas: Sequence[int]
    isr: Sequence[int]
    elr: Sequence[int]
    last_known_elr: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]
    directories: Sequence[str]
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovery_state: int


@dataclass(frozen=True, slots=True)
class BrokerState:
    """One registered broker.

    Args:
        host, port: Of its first listener.
        rack: broker.rack, None without one.
        fenced: True if the controller has fenced it.
        shutting_down: True if it is in controlled shutdown.
        directories: Ids of its log directories that are online; empty where not known (before 3.7).
        epoch: Its broker epoch.
        cordoned: Ids of its log directories that take no new replicas; None where not known (before 4.3).
        down_since: Time of the record since which it is fenced, ms since the epoch; None if it is not. A checkpoint
            names no time for it: then that of the checkpoint.
    """

    host: str | None
    port: int | None
    rack: str | None
    fenced: bool
    shutting_down: bool
    directories: Sequence[str]
    epoch: int
    cordoned: Sequence[str] | None = None
    down_since: int | None = None

    def with_fencing(self, fenced: bool, timestamp: int | None) -> BrokerState:
        """The same broker, fenced or not by a record of that time."""
        since = self.down_since if self.fenced else timestamp
        return replace(self, fenced=fenced, down_since=since if fenced else None)


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """A change that one record made to one partition.

    Args:
        offset, timestamp: Of the record.
        topic, topic_id, partition: The partition.
        before: None if the record created it.
        after: None if the record removed it.
    """

    offset: int
    timestamp: int
    topic: str
    topic_id: str
    partition: int
    before: PartitionState | None
    after: PartitionState | None

    @property
    def leader_changed(self) -> bool:
        """True if a leader was named: another, the same anew, or none."""
        epochs = [None if state is None else state.leader_epoch for state in (self.before, self.after)]
        return self.after is not None and epochs[0] != epochs[1]

    @property
    def isr_changed(self) -> bool:
        """True if the ISR has other members."""
        states = (self.before, self.after)
        return None not in states and set(self.before.isr) != set(self.after.isr)  # type: ignore[union-attr]

    @property
    def unclean(self) -> bool:
        """True if a replica was elected that was in neither the ISR nor the ELR, so that records may be lost.

        One that joins the ISR as the last of a reassignment may be elected by the same record. Kafka counts those that
        turn the recovery state to recovering (PartitionRegistration.electionWasUnclean); one that was recovering
        already does not turn it.
        """
        if self.before is None or self.after is None or not self.leader_changed or self.after.leader < 0:
            return False
        joined = () if self.after.adding else self.before.adding
        safe = {*self.before.isr, *self.before.elr, *joined}
        turned = self.after.recovery_state == RECOVERING != self.before.recovery_state
        return turned or self.after.leader not in safe


@dataclass(slots=True)
class Topic:
    """A topic and its partitions by index."""

    name: str
    id: str
    partitions: dict[int, PartitionState] = field(default_factory=dict)


@dataclass(slots=True)
class MetadataImage:
    """The state after the entries that were applied.

    Args:
        topics: By topic id.
        brokers: Registered brokers by id.
        configs: Settings by resource type and name (2: topic, 4: broker, ``""`` for all brokers).
        features: Finalized features, without those of level 0.
        voters: Ids of the quorum's voters.
        leader: Leader of the quorum; None before any was elected.
        leader_epoch: Epoch of that leader.
        next_offset: Offset after the last entry.
        timestamp: Of the last entry, ms since the epoch.
        records: Number of records applied, by type.
        unknown: Number of records of an unknown type or version, by ``type vN``.
        unplaced: Number of records about a topic, partition or broker that no record made: what made it is damaged.
        pending: Entries of the transaction that is open.
    """

    topics: dict[str, Topic] = field(default_factory=dict)
    brokers: dict[int, BrokerState] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    voters: tuple[int, ...] = ()
    leader: int | None = None
    leader_epoch: int | None = None
    next_offset: int = 0
    timestamp: int | None = None
    records: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unplaced: int = 0
    pending: list[MetadataEntry] | None = None

    def apply(self, entry: MetadataEntry) -> list[PartitionChange]:
        """Applies one entry; returns the changes to partitions: those of a transaction all at its end."""
        record = entry.record
        self.next_offset, self.timestamp = entry.offset + 1, max(entry.timestamp, self.timestamp or 0)
        self.records[record.type] += 1
        if record.data is None:
            self.unknown[f"{record.type} v{getattr(record, 'version', '?')}"] += 1
            return []
        if isinstance(record, ControlRecord):
            self.note_leader(entry)
            self._control(record)
            return []
        if record.type == "BEGIN_TRANSACTION_RECORD":
            self.pending = []
        elif record.type == "ABORT_TRANSACTION_RECORD":
            self.pending = None
        elif record.type == "END_TRANSACTION_RECORD":
            pending, self.pending = self.pending or [], None
            return [change for each in pending for change in self._replay(each)]
        elif self.pending is not None:
            self.pending.append(entry)
        else:
            return self._replay(entry)
        return []

    def note_leader(self, entry: MetadataEntry) -> None:
        """Takes the quorum's leader from an entry, if it names one."""
        if entry.record.type == LEADER_CHANGE and entry.record.data is not None:
            self.leader, self.leader_epoch = entry.record.data["leaderId"], entry.leader_epoch
            self.voters = self.voters or tuple(voter["voterId"] for voter in entry.record.data["voters"])

    def _control(self, record: ControlRecord) -> None:
        data = record.data or {}
        if record.type == KRAFT_VERSION:
            self.features["kraft.version"] = data["kRaftVersion"]
        elif record.type == KRAFT_VOTERS:
            self.voters = tuple(voter["voterId"] for voter in data["voters"])

    def _replay(self, entry: MetadataEntry) -> list[PartitionChange]:
        data = entry.record.data
        assert data is not None, "unknown records are not replayed"
        replayer = _PARTITION_REPLAYERS.get(entry.record.type)
        if replayer is not None:
            return list(replayer(self, entry, data))
        other = _REPLAYERS.get(entry.record.type)
        if other is not None:
            other(self, data)
        return []


def _partition(image: MetadataImage, entry: MetadataEntry, data: Data) -> Iterator[PartitionChange]:
    topic = image.topics.get(data["topicId"])
    if topic is None:
        image.unplaced += 1
        return
    after = PartitionState(
        replicas=data["replicas"],
        isr=data["isr"],
        elr=data["eligibleLeaderReplicas"] or (),
        last_known_elr=data["lastKnownElr"] or (),
        adding=data["addingReplicas"],
        removing=data["removingReplicas"],
        directories=data["directories"] or (),
        leader=data["leader"],
        leader_epoch=data["leaderEpoch"],
        partition_epoch=data["partitionEpoch"],
        recovery_state=data["leaderRecoveryState"],
    )
    yield _put(entry, topic, data["partitionId"], after)


def _partition_change(image: MetadataImage, entry: MetadataEntry, data: Data) -> Iterator[PartitionChange]:
    topic = image.topics.get(data["topicId"])
    before = None if topic is None else topic.partitions.get(data["partitionId"])
    if topic is None or before is None:
        image.unplaced += 1
        return
    yield _put(entry, topic, data["partitionId"], merged(before, data))


def merged(before: PartitionState, data: Data) -> PartitionState:
    """A partition after a PartitionChangeRecord: null leaves a list as it is, an empty list clears it."""

    def changed(name: str, old: Any) -> Any:
        return old if data[name] is None else data[name]

    names_a_leader = data["leader"] != NO_LEADER_CHANGE
    recovery = data["leaderRecoveryState"]
    return PartitionState(
        replicas=changed("replicas", before.replicas),
        isr=changed("isr", before.isr),
        elr=changed("eligibleLeaderReplicas", before.elr),
        last_known_elr=changed("lastKnownElr", before.last_known_elr),
        adding=changed("addingReplicas", before.adding),
        removing=changed("removingReplicas", before.removing),
        directories=changed("directories", before.directories),
        leader=data["leader"] if names_a_leader else before.leader,
        leader_epoch=before.leader_epoch + names_a_leader,
        partition_epoch=before.partition_epoch + 1,
        recovery_state=before.recovery_state if recovery < 0 else recovery,
    )


def _clear_elr(image: MetadataImage, entry: MetadataEntry, data: Data) -> Iterator[PartitionChange]:
    """Of one topic, or of all where no name is given; a partition without ELRs is left alone."""
    for topic in image.topics.values():
        if data["topicName"] not in ("", topic.name):
            continue
        for number, before in list(topic.partitions.items()):
            if before.elr or before.last_known_elr:
                after = replace(before, elr=(), last_known_elr=(), partition_epoch=before.partition_epoch + 1)
                yield _put(entry, topic, number, after)


def _remove_topic(image: MetadataImage, entry: MetadataEntry, data: Data) -> Iterator[PartitionChange]:
    topic = image.topics.pop(data["topicId"], None)
    if topic is None:
        image.unplaced += 1
        return
    image.configs.pop((TOPIC_RESOURCE, topic.name), None)
    for number, before in topic.partitions.items():
        yield PartitionChange(entry.offset, entry.timestamp, topic.name, topic.id, number, before, None)


def _put(entry: MetadataEntry, topic: Topic, number: int, after: PartitionState) -> PartitionChange:
    before = topic.partitions.get(number)
    topic.partitions[number] = after
    return PartitionChange(entry.offset, entry.timestamp, topic.name, topic.id, number, before, after)


def _topic(image: MetadataImage, data: Data) -> None:
    image.topics[data["topicId"]] = Topic(data["name"], data["topicId"])


def _config(image: MetadataImage, data: Data) -> None:
    settings = image.configs.setdefault((data["resourceType"], data["resourceName"]), {})
    if data["value"] is None:
        settings.pop(data["name"], None)
    else:
        settings[data["name"]] = data["value"]


def _feature(image: MetadataImage, data: Data) -> None:
    if data["featureLevel"]:
        image.features[data["name"]] = data["featureLevel"]
    else:
        image.features.pop(data["name"], None)


def _register_broker(image: MetadataImage, data: Data) -> None:
    first = data["endPoints"][0] if data["endPoints"] else {"host": None, "port": None}
    image.brokers[data["brokerId"]] = BrokerState(
        host=first["host"],
        port=first["port"],
        rack=data["rack"],
        fenced=data["fenced"],
        shutting_down=data["inControlledShutdown"],
        directories=data["logDirs"] or (),
        epoch=data["brokerEpoch"],
        cordoned=data["cordonedLogDirs"],
        down_since=image.timestamp if data["fenced"] else None,
    )


def _unregister_broker(image: MetadataImage, data: Data) -> None:
    if image.brokers.pop(data["brokerId"], None) is None:
        image.unplaced += 1


def _broker_change(image: MetadataImage, data: Data) -> None:
    """Fencing is -1, 0 (as it was) or 1; a broker once in controlled shutdown leaves it only by registering anew."""
    before = image.brokers.get(data["brokerId"])
    if before is None:
        image.unplaced += 1
        return
    fencing = data["fenced"]
    fenced = before.fenced if fencing not in (_FENCE, _UNFENCE) else fencing == _FENCE
    image.brokers[data["brokerId"]] = replace(
        before.with_fencing(fenced, image.timestamp),
        shutting_down=before.shutting_down or data["inControlledShutdown"] == _SHUT_DOWN,
        directories=data["logDirs"] or before.directories,
        cordoned=before.cordoned if data["cordonedLogDirs"] is None else data["cordonedLogDirs"],
    )


def _fencing(fenced: bool) -> Callable[[MetadataImage, Data], None]:
    def replay(image: MetadataImage, data: Data) -> None:
        before = image.brokers.get(data["id"])
        if before is None:
            image.unplaced += 1
        else:
            image.brokers[data["id"]] = before.with_fencing(fenced, image.timestamp)

    return replay


TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
"""ConfigResource.Type of topics and brokers."""

_PARTITION_REPLAYERS: Mapping[str, Callable[[MetadataImage, MetadataEntry, Data], Iterator[PartitionChange]]] = {
    "PARTITION_RECORD": _partition,
    "PARTITION_CHANGE_RECORD": _partition_change,
    "CLEAR_ELR_RECORD": _clear_elr,
    "REMOVE_TOPIC_RECORD": _remove_topic,
}
_REPLAYERS: Mapping[str, Callable[[MetadataImage, Data], None]] = {
    "TOPIC_RECORD": _topic,
    "CONFIG_RECORD": _config,
    "FEATURE_LEVEL_RECORD": _feature,
    "REGISTER_BROKER_RECORD": _register_broker,
    "UNREGISTER_BROKER_RECORD": _unregister_broker,
    "BROKER_REGISTRATION_CHANGE_RECORD": _broker_change,
    "FENCE_BROKER_RECORD": _fencing(fenced=True),
    "UNFENCE_BROKER_RECORD": _fencing(fenced=False),
}
"""Others (quotas, ACLs, SCRAM, tokens, producer ids, controllers, ZooKeeper migration) change nothing that is kept."""
