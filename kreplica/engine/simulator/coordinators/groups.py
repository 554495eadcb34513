"""The group coordinator: the task of a leader of a partition of __consumer_offsets.

kafka.coordinator.group.GroupCoordinator; GroupCoordinatorService since 4.0.

The groups of one partition of __consumer_offsets: their members and their offsets.

Every promise is in the log before it is answered, with acks=all; a new leader reads the log and goes on.
kafka.coordinator.group.GroupMetadataManager; GroupCoordinatorShard since 4.0.
"""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.rules.groups import group_membership, offset_commit
from kreplica.engine.rules.groups.group_membership import GroupState
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import SECOND, topic_of
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.replica import Replica
from kreplica.engine.simulator.coordinators.classic_group import Assigned, ClassicGroup, Reply
from kreplica.engine.simulator.coordinators.consumer_group import ModernGroup
from kreplica.engine.simulator.coordinators.coordinator import APPEND_ERRORS, Coordinator
from kreplica.engine.simulator.coordinators.offset_store import (
    REMOVED,
    Committed,
    GroupRecord,
    OffsetRecord,
    OffsetStore,
    Value,
)
from kreplica.engine.trace import Kind, Record
from kreplica.model.internal_topics import OFFSETS_TOPIC

MINUTE = 60 * SECOND
Offsets = tuple[tuple[str, int, int], ...]
"""Partition, offset and leader epoch of each."""


class Shard:
    """The groups of one partition of __consumer_offsets, while this broker leads it.

    The offsets are those of the log up to its end when the broker became its leader, and up to the high watermark
    from then on.
    """

    __slots__ = ("_loaded_to", "_member_ids", "broker", "closed", "groups", "modern", "replica", "store")

    def __init__(self, broker: Broker, replica: Replica) -> None:
        self.broker = broker
        self.replica = replica
        self.closed = False
        self.groups: dict[str, ClassicGroup] = {}
        self.modern: dict[str, ModernGroup] = {}
        self.store = OffsetStore()
        self.store.read_to = replica.log.start
        self._loaded_to = replica.log.end
        self._member_ids = 0
        self._load()
        self._scan_later()

    # -- functions for groups

    @property
    def now(self) -> int:
        """The time, in microseconds."""
        return self.broker.clock.now

    @property
    def initial_delay_ms(self) -> int:
        """group.initial.rebalance.delay.ms."""
        return self.broker.integer("group.initial.rebalance.delay.ms")

    def new_member_id(self, client: str) -> str:
        """A new member id: the coordinator's epoch distinguishes it from the ids given by earlier leaders."""
        self._member_ids += 1
        return f"{client}.{self.replica.state.leader_epoch}.{self._member_ids}"

    def append(self, values: tuple[Value, ...], then: Callable[[ErrorCode], object]) -> None:
        """Appends records with acks=all; ``then`` gets the result as an error for clients."""
        self._append(tuple(Record(-1, value) for value in values), then)

    def _append(self, records: tuple[Record, ...], then: Callable[[ErrorCode], object]) -> None:
        timeout = self.broker.integer("offsets.commit.timeout.ms") * MICROSECONDS
        self.broker.append_as_leader(
            self.replica.partition,
            records,
            ACKS_ALL,
            timeout,
            lambda error, _base: then(APPEND_ERRORS.get(error, error)),
        )

    # -- groups and offsets

    def group(self, name: str) -> ClassicGroup:
        """The group of that name; an empty one if there is none."""
        if name not in self.groups:
            self.groups[name] = ClassicGroup(self, name)
        return self.groups[name]

    def modern_group(self, name: str) -> ModernGroup:
        """The group of KIP-848's protocol of that name; an empty one if there is none."""
        if name not in self.modern:
            self.groups.pop(name, None)
            self.modern[name] = ModernGroup(self, name)
        return self.modern[name]

    def speaks(self, name: str, modern: bool) -> bool:
        """True if a group's members use that protocol, or it has none. Kafka also lets a group change over."""
        other = self.groups.get(name) if modern else self.modern.get(name)
        return other is None or not other.members

    def offsets(self) -> OffsetStore:
        """The offsets committed so far."""
        log, store = self.replica.log, self.store
        end = max(self._loaded_to, self.replica.high_watermark)
        for place, record in enumerate(log.read(store.read_to, end, end), start=store.read_to):
            store.read(place, record)
        return store

    def commit(self, name: str, member_id: str, instance: str, generation: int, offsets: Offsets, reply: Reply) -> None:
        """OffsetCommit: answered with the error once the offsets are committed."""
        error, rule = self._refusal(name, member_id, instance, generation, offsets, False)
        if error:
            self.broker.emit(Kind.COMMIT_REFUSED, name, member_id, error.name, rule)
            reply(error)
            return
        self._heard_of(name, member_id)
        records = self._records(name, member_id, offsets)
        self.append(records, lambda error: self._committed(name, offsets, rule, error, reply))

    def _heard_of(self, name: str, member_id: str) -> None:
        """A commit keeps a member of the classic protocol alive; one in a transaction does not."""
        if name in self.modern:
            return
        group = self.group(name)
        if group.state in {GroupState.STABLE, GroupState.PREPARING_REBALANCE} and member_id in group.members:
            group.members[member_id].heard = self.now

    def commit_in_transaction(
        self,
        name: str,
        member_id: str,
        generation: int,
        producer: tuple[int, int],
        offsets: Offsets,
        reply: Reply,
    ) -> None:
        """TxnOffsetCommit: offsets that count once this partition has the transaction's COMMIT marker.

        Kafka's leader also verifies that the transaction is open, as it does for data (KIP-890): here the producer has
        always asked the transaction coordinator before.

        Args:
            name: The group.
            member_id, generation: The consumer's; NO_MEMBER and UNKNOWN_GENERATION from a producer of before 2.5.
            producer: Id and epoch.
            offsets: The consumer's.
            reply: Called with the error.
        """
        error, rule = self._refusal(name, member_id, "", generation, offsets, True)
        if error:
            self.broker.emit(Kind.COMMIT_REFUSED, name, member_id, error.name, rule)
            reply(error)
            return
        records = tuple(
            Record(-1, value, producer_id=producer[0], producer_epoch=producer[1], transactional=True)
            for value in self._records(name, member_id, offsets)
        )
        self._append(records, reply)

    def _refusal(
        self, name: str, member_id: str, instance: str, generation: int, offsets: Offsets, transactional: bool
    ) -> tuple[ErrorCode, str]:
        """The error that refuses offsets, NONE where they are accepted, and the rule that decided."""
        modern = self.modern.get(name)
        if modern is not None:
            partitions = tuple(partition for partition, _, _ in offsets)
            error = modern.commit_refusal(member_id, generation, transactional, partitions)
            return error, "offset_commit.commit_to_consumer_group"
        group = self.groups.get(name)
        if group is None:
            version = 9 if self.broker.cluster.version.consumer_protocol else 8
            error = offset_commit.commit_to_unknown_group(generation, version, transactional)
            return error, "offset_commit.commit_to_unknown_group"
        error = offset_commit.commit_to_classic_group(
            group.state,
            group.generation,
            group.members,
            group.static,
            member_id,
            instance or None,
            generation,
            transactional,
        )
        return error, "offset_commit.commit_to_classic_group"

    def _records(self, name: str, member_id: str, offsets: Offsets) -> tuple[OffsetRecord, ...]:
        return tuple(OffsetRecord(name, *one, self.now, member_id) for one in offsets)

    def _committed(self, name: str, offsets: Offsets, rule: str, error: ErrorCode, reply: Reply) -> None:
        if not error:
            for partition, offset, _ in offsets:
                self.broker.emit(Kind.OFFSET_COMMITTED, name, partition, offset, rule)
        reply(error)

    def fetch(self, name: str, partitions: tuple[str, ...], require_stable: bool, reply: Reply) -> None:
        """OffsetFetch: answered with partition, error, offset and leader epoch of each partition."""
        store = self.offsets()
        answers = []
        for partition in partitions:
            offset, epoch = store.offset(name, partition)
            pending = store.is_pending(name, partition)
            error, offset = offset_commit.fetched_offset(offset, pending, require_stable)
            answers.append((partition, error, offset, epoch))
        reply(tuple(answers))

    # -- expiry

    def _scan_later(self) -> None:
        interval = self.broker.integer("offsets.retention.check.interval.ms") * MICROSECONDS
        self.broker.after(interval, self._scan)

    def _scan(self) -> None:
        if self.closed:
            return
        retention = self.broker.integer("offsets.retention.minutes") * MINUTE
        store = self.offsets()
        for name in dict.fromkeys(group for group, _ in store.committed):
            for partition, one in store.offsets_of(name):
                if self._is_expired(name, partition, one, retention):
                    self._expire(name, partition, one)
        self._scan_later()

    def _is_expired(self, name: str, partition: str, one: Committed, retention: int) -> bool:
        """Times are in microseconds throughout; the rules only compare them with each other."""
        if not self.broker.cluster.version.offsets_expire_with_group:
            return offset_commit.offset_expired_by_commit(self.now, one.time, retention)
        pending = self.store.is_pending(name, partition)
        return offset_commit.offset_expired(self.now, self._ages_since(name, partition, one), retention, None, pending)

    def _ages_since(self, name: str, partition: str, one: Committed) -> int | None:
        topic = topic_of(partition)
        modern = self.modern.get(name)
        if modern is not None:
            read = any(topic in member.topics for member in modern.members.values())
            return offset_commit.expires_in_consumer_group(read, one.time)
        group = self.group(name)
        read = any(topic in member.topics for member in group.members.values())
        return offset_commit.expires_with_group(group.state, group.generation > 0, read, one.time, group.empty_since)

    def _expire(self, name: str, partition: str, one: Committed) -> None:
        self.broker.emit(Kind.OFFSET_EXPIRED, name, partition, one.offset)
        self.append((OffsetRecord(name, partition, REMOVED, -1, self.now, ""),), lambda _error: None)

    # -- life

    def _load(self) -> None:
        for name, record in self.offsets().groups.items():
            if isinstance(record, GroupRecord):
                self.group(name).restore(record)
            else:
                self.modern_group(name).restore(record)

    def close(self) -> None:
        """Ends with the broker's leadership of the partition."""
        self.closed = True
        for group in self.groups.values():
            group.close()


class GroupCoordinator(Coordinator[Shard]):
    """A broker's group coordinator: finds the shard of a group, or answers that it is not here."""

    __slots__ = ()

    topic = OFFSETS_TOPIC

    def begin(self, replica: Replica) -> Shard:
        """Reads the partition's groups, and starts to coordinate them."""
        return Shard(self.broker, replica)

    # -- requests: the first argument is always the group

    def find(self, group: str, reply: Reply) -> None:
        """FindCoordinator: the broker that leads the group's partition as far as this one knows, -1 for none."""
        state = self.broker.image.get(self.home(group))
        reply(-1 if state is None else state.leader_id)

    def join(
        self,
        group: str,
        client: str,
        member: tuple[str, str],
        timeouts: tuple[int, int],
        topics: tuple[str, ...],
        owned: tuple[str, ...],
        reply: Reply,
    ) -> None:
        """JoinGroup; ``member`` is the member id and the instance id, ``timeouts`` session and rebalance."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, group_membership.UNKNOWN_GENERATION, member[0], "", ())
        elif not shard.speaks(group, modern=False):
            reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, group_membership.UNKNOWN_GENERATION, member[0], "", ())
        else:
            shard.modern.pop(group, None)
            shard.group(group).join(client, *member, timeouts, topics, owned, reply)

    def sync(self, group: str, member: tuple[str, str], generation: int, assigned: Assigned, reply: Reply) -> None:
        """SyncGroup."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, ())
        else:
            shard.group(group).sync(*member, generation, assigned, reply)

    def heartbeat(self, group: str, member: tuple[str, str], generation: int, reply: Reply) -> None:
        """Heartbeat."""
        shard = self.shard(group)
        reply(ErrorCode.NOT_COORDINATOR if shard is None else shard.group(group).heartbeat(*member, generation))

    def consumer_heartbeat(
        self,
        group: str,
        member: tuple[str, str],
        epoch: int,
        rebalance: int,
        topics: tuple[str, ...] | None,
        owned: tuple[str, ...] | None,
        reply: Reply,
    ) -> None:
        """ConsumerGroupHeartbeat (KIP-848); see ``ModernGroup.heartbeat``."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, epoch, ())
        elif not shard.speaks(group, modern=True):
            reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, epoch, ())
        else:
            shard.modern_group(group).heartbeat(*member, epoch, rebalance, topics, owned, reply)

    def leave(self, group: str, member_id: str, reply: Reply) -> None:
        """LeaveGroup."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
            return
        is_member = shard.group(group).knows(member_id)
        shard.group(group).leave(member_id, "leaves")
        reply(ErrorCode.NONE if is_member else ErrorCode.UNKNOWN_MEMBER_ID)

    def commit(self, group: str, member: tuple[str, str], generation: int, offsets: Offsets, reply: Reply) -> None:
        """OffsetCommit."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
        else:
            shard.commit(group, *member, generation, offsets, reply)

    def commit_in_transaction(
        self, group: str, member_id: str, generation: int, producer: tuple[int, int], offsets: Offsets, reply: Reply
    ) -> None:
        """TxnOffsetCommit; ``producer`` is its id and epoch."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
        else:
            shard.commit_in_transaction(group, member_id, generation, producer, offsets, reply)

    def fetch(self, group: str, partitions: tuple[str, ...], require_stable: bool, reply: Reply) -> None:
        """OffsetFetch."""
        shard = self.shard(group)
        if shard is None:
            reply(tuple((partition, ErrorCode.NOT_COORDINATOR, -1, -1) for partition in partitions))
        else:
            shard.fetch(group, partitions, require_stable, reply)
