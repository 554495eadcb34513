"""State of one partition of __consumer_offsets: a fold over its records.

kafka.coordinator.group.GroupMetadataManager; OffsetMetadataManager since 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kreplica.engine.rules.groups.group_epochs import Member
from kreplica.engine.rules.groups.offset_commit import INVALID_OFFSET, transactional_offset_wins
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.trace import COMMIT, DATA, Record

REMOVED = -2
"""The offset of a tombstone."""


class OffsetRecord(NamedTuple):
    """A record with a committed offset.

    Args:
        group: Group id.
        partition: The partition, as ``topic-0``.
        offset: The next offset to read; REMOVED deletes it.
        leader_epoch: Leader epoch of the last record read, -1 if not known.
        time: Time of the commit, in microseconds.
        member: The member that committed it.
    """

    group: str
    partition: str
    offset: int
    leader_epoch: int
    time: int
    member: str

    def __str__(self) -> str:
        return f"{self.group} {self.partition} {'removed' if self.offset == REMOVED else self.offset}"


class GroupRecord(NamedTuple):
    """A record with a group's state: written once a generation is agreed on, or the group is empty.

    Args:
        group: Group id.
        generation: The group's generation.
        leader: The member that assigns.
        time: Time of the state, in microseconds.
        members: For each its id, its instance id ("" for none), session and rebalance timeout in microseconds, topics,
            and partitions.
    """

    group: str
    generation: int
    leader: str
    time: int
    members: tuple[tuple[str, str, int, int, tuple[str, ...], tuple[str, ...]], ...]

    def __str__(self) -> str:
        return f"{self.group} generation {self.generation}, members: {len(self.members)}"


class MemberRecord(NamedTuple):
    """A member of a group of KIP-848's protocol; sets of partitions as in ``ConsumerGroupRecord.partitions``."""

    id: str
    instance: str
    rebalance: int
    topics: tuple[str, ...]
    now: Member
    previous_epoch: int
    target: int
    assigned_since: tuple[tuple[int, int], ...]


class ConsumerGroupRecord(NamedTuple):
    """A record with the state of a group of KIP-848's protocol; Kafka writes it in several, of one batch.

    Args:
        group: Group id.
        epoch: The group's epoch.
        assignment_epoch: Epoch of the target assignment.
        assigned_at: Time at which that was computed, in microseconds; None if none was.
        partitions: The partitions that the group reads; a set has bit ``i`` for the i-th.
        time: Time of the record, in microseconds.
        members: In the coordinator's order.
    """

    group: str
    epoch: int
    assignment_epoch: int
    assigned_at: int | None
    partitions: tuple[str, ...]
    time: int
    members: tuple[MemberRecord, ...]

    def __str__(self) -> str:
        return f"{self.group} epoch {self.epoch}, members: {len(self.members)}"


Value = OffsetRecord | GroupRecord | ConsumerGroupRecord
"""The values of records in __consumer_offsets; markers apart."""


class GroupShard(Protocol):
    """The partition of __consumer_offsets that stores a group, as the group knows it: ``groups.Shard``."""

    broker: Broker
    closed: bool

    @property
    def now(self) -> int:
        """The time, in microseconds."""

    @property
    def initial_delay_ms(self) -> int:
        """group.initial.rebalance.delay.ms."""

    def new_member_id(self, client: str) -> str:
        """A new member id."""

    def append(self, values: tuple[Value, ...], then: Callable[[ErrorCode], object]) -> None:
        """Appends records with acks=all; ``then`` gets the result as an error for clients."""


class Committed(NamedTuple):
    """A committed offset and the offset of its record in __consumer_offsets."""

    offset: int
    leader_epoch: int
    time: int
    place: int


Key = tuple[str, str]
"""Group and partition."""


class OffsetStore:
    """Committed offsets, offsets of open transactions (by producer id), and the last record of each group."""

    __slots__ = ("committed", "groups", "pending", "read_to")

    def __init__(self) -> None:
        self.committed: dict[Key, Committed] = {}
        self.pending: dict[int, dict[Key, Committed]] = {}
        self.groups: dict[str, GroupRecord | ConsumerGroupRecord] = {}
        self.read_to = 0

    def read(self, place: int, record: Record) -> None:
        """Adds the record at offset ``place``."""
        self.read_to = place + 1
        value = record.value
        if record.kind != DATA:
            self._end_transaction(record.producer_id, record.kind == COMMIT)
        elif isinstance(value, GroupRecord | ConsumerGroupRecord):
            self.groups[value.group] = value
        elif value.offset == REMOVED:
            self.committed.pop((value.group, value.partition), None)
            for offsets in self.pending.values():
                offsets.pop((value.group, value.partition), None)
        else:
            into = self.pending.setdefault(record.producer_id, {}) if record.transactional else self.committed
            into[value.group, value.partition] = Committed(value.offset, value.leader_epoch, value.time, place)

    def _end_transaction(self, producer_id: int, committed: bool) -> None:
        for key, one in self.pending.pop(producer_id, {}).items():
            before = self.committed.get(key)
            if committed and transactional_offset_wins(one.place, None if before is None else before.place):
                self.committed[key] = one

    def offset(self, group: str, partition: str) -> tuple[int, int]:
        """The committed offset and its leader epoch; INVALID_OFFSET and -1 without one."""
        found = self.committed.get((group, partition))
        return (INVALID_OFFSET, -1) if found is None else (found.offset, found.leader_epoch)

    def is_pending(self, group: str, partition: str) -> bool:
        """True if an open transaction has an offset of the partition."""
        return any((group, partition) in offsets for offsets in self.pending.values())

    def offsets_of(self, group: str) -> list[tuple[str, Committed]]:
        """Partition and committed offset of each partition of a group, oldest key first."""
        return [(partition, one) for (name, partition), one in self.committed.items() if name == group]
