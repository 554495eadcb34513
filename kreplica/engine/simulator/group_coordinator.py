"""Coordinates groups: what the leader of a partition of __consumer_offsets does beside leading it.

Everything it promises stands in the log before it is answered, with acks=all; a new leader reads the log and goes on.
kafka.coordinator.group.GroupCoordinator and GroupMetadataManager; GroupCoordinatorService since 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kreplica.engine.records import Record
from kreplica.engine.rules import group_membership, offset_commit
from kreplica.engine.rules.coordinator_partition import OFFSETS_TOPIC, coordinator_partition
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.rules.group_membership import GroupState
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.classic_group import Assigned, ClassicGroup, GroupMember, Reply
from kreplica.engine.simulator.offset_store import REMOVED, Committed, GroupRecord, OffsetRecord, OffsetStore
from kreplica.engine.trace import Kind

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker import Broker
    from kreplica.engine.simulator.replica import Replica

ACKS_ALL = -1
MINUTE = 60 * 1000 * MICROSECONDS
Offsets = tuple[tuple[str, int, int], ...]
"""Partition, offset and leader epoch of each."""

_ANSWERED = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""What a client hears when a coordinator's append fails: GroupMetadataManager.appendForGroup and storeOffsets."""


def partition_of_group(group: str, partitions: int) -> str:
    """The partition whose leader coordinates the group, as ``__consumer_offsets-0``."""
    return f"{OFFSETS_TOPIC}-{coordinator_partition(group, partitions)}"


class Shard:
    """The groups of one partition of __consumer_offsets, while this broker leads it.

    The offsets are what the log says up to what was there when the broker became its leader, and up to the high
    watermark from then on.
    """

    __slots__ = ("_loaded_to", "_member_ids", "broker", "closed", "groups", "replica", "store")

    def __init__(self, broker: Broker, replica: Replica) -> None:
        self.broker = broker
        self.replica = replica
        self.closed = False
        self.groups: dict[str, ClassicGroup] = {}
        self.store = OffsetStore()
        self.store.read_to = replica.log.start
        self._loaded_to = replica.log.end
        self._member_ids = 0
        self._load()
        self._scan_later()

    # -- what groups ask for

    @property
    def now(self) -> int:
        """The time, in microseconds."""
        return self.broker.scheduler.now

    @property
    def initial_delay_ms(self) -> int:
        """group.initial.rebalance.delay.ms."""
        return self.broker.integer("group.initial.rebalance.delay.ms")

    def new_member_id(self, client: str) -> str:
        """A member id that was not given before: the coordinator's epoch tells it from those of its predecessors."""
        self._member_ids += 1
        return f"{client}.{self.replica.state.leader_epoch}.{self._member_ids}"

    def append(self, values: tuple[OffsetRecord | GroupRecord, ...], then: Callable[[ErrorCode], object]) -> None:
        """Appends records with acks=all; ``then`` hears how it went, in a client's words."""
        self._append(tuple(Record(-1, value) for value in values), then)

    def _append(self, records: tuple[Record, ...], then: Callable[[ErrorCode], object]) -> None:
        timeout = self.broker.integer("offsets.commit.timeout.ms") * MICROSECONDS
        self.broker.append_as_leader(
            self.replica.partition,
            records,
            ACKS_ALL,
            timeout,
            lambda error, _base: then(_ANSWERED.get(error, error)),
        )

    def watch(self, group: ClassicGroup, member: GroupMember) -> None:
        """Looks after a session whether its member is still heard of."""
        self.broker.after(member.session, self._look_at, group, member)

    def _look_at(self, group: ClassicGroup, member: GroupMember) -> None:
        if self.closed or group.members.get(member.id) is not member:
            return
        if group.is_alive(member):
            left = member.heard + member.session - self.now
            self.broker.after(left if left > 0 else member.session, self._look_at, group, member)
        else:
            group.leave(member.id, "was not heard of within its session")

    # -- groups and offsets

    def group(self, name: str) -> ClassicGroup:
        """The group of that name; an empty one if there is none."""
        if name not in self.groups:
            self.groups[name] = ClassicGroup(self, name)
        return self.groups[name]

    def offsets(self) -> OffsetStore:
        """The offsets as they are committed by now."""
        log, store = self.replica.log, self.store
        end = max(self._loaded_to, self.replica.high_watermark)
        for place, record in enumerate(log.read(store.read_to, end, end), start=store.read_to):
            store.read(place, record)
        return store

    def commit(self, name: str, member_id: str, instance: str, generation: int, offsets: Offsets, reply: Reply) -> None:
        """OffsetCommit: answered with the error once the offsets are committed."""
        error = self._refusal(name, member_id, instance, generation, False)
        if error:
            self.broker.emit(Kind.COMMIT_REFUSED, name, member_id, error.name)
            reply(error)
            return
        group = self.group(name)
        if group.state in {GroupState.STABLE, GroupState.PREPARING_REBALANCE} and member_id in group.members:
            group.members[member_id].heard = self.now
        self.append(self._records(name, member_id, offsets), lambda error: self._committed(name, offsets, error, reply))

    def commit_in_transaction(
        self,
        name: str,
        member_id: str,
        generation: int,
        producer: tuple[int, int],
        offsets: Offsets,
        reply: Reply,
    ) -> None:
        """TxnOffsetCommit: offsets that count once the transaction's COMMIT marker stands in this partition.

        Args:
            name: The group.
            member_id, generation: Of the consumer; NO_MEMBER and UNKNOWN_GENERATION from a producer of before 2.5.
            producer: Id and epoch.
            offsets: Of the consumer.
            reply: Called with the error.
        """
        error = self._refusal(name, member_id, "", generation, True)
        if error:
            self.broker.emit(Kind.COMMIT_REFUSED, name, member_id, error.name)
            reply(error)
            return
        self.group(name)
        records = tuple(
            Record(-1, value, producer_id=producer[0], producer_epoch=producer[1], transactional=True)
            for value in self._records(name, member_id, offsets)
        )
        self._append(records, reply)

    def _refusal(self, name: str, member_id: str, instance: str, generation: int, transactional: bool) -> ErrorCode:
        group = self.groups.get(name)
        if group is None:
            return offset_commit.commit_to_unknown_group(generation, 8, transactional)
        return offset_commit.commit_to_classic_group(
            group.state,
            group.generation,
            group.members,
            group.static,
            member_id,
            instance or None,
            generation,
            transactional,
        )

    def _records(self, name: str, member_id: str, offsets: Offsets) -> tuple[OffsetRecord, ...]:
        return tuple(OffsetRecord(name, *one, self.now, member_id) for one in offsets)

    def _committed(self, name: str, offsets: Offsets, error: ErrorCode, reply: Reply) -> None:
        if not error:
            for partition, offset, _ in offsets:
                self.broker.emit(Kind.OFFSET_COMMITTED, name, partition, offset)
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
        """Times are in microseconds throughout; the rules compare them with each other only."""
        if not self.broker.simulation.version.offsets_expire_with_group:
            return offset_commit.offset_expired_by_commit(self.now, one.time, retention)
        group = self.group(name)
        topic = partition.rpartition("-")[0]
        subscribed = any(topic in member.topics for member in group.members.values())
        since = offset_commit.expires_with_group(
            group.state, group.generation > 0, subscribed, one.time, group.empty_since
        )
        pending = self.store.is_pending(name, partition)
        return offset_commit.offset_expired(self.now, since, retention, None, pending)

    def _expire(self, name: str, partition: str, one: Committed) -> None:
        self.broker.emit(Kind.OFFSET_EXPIRED, name, partition, one.offset)
        self.append((OffsetRecord(name, partition, REMOVED, -1, self.now, ""),), lambda _error: None)

    # -- life

    def _load(self) -> None:
        for name, record in self.offsets().groups.items():
            self.group(name).restore(record)

    def close(self) -> None:
        """The broker leads the partition no more."""
        self.closed = True
        for group in self.groups.values():
            group.close()


class GroupCoordinator:
    """A broker's group coordinator: finds the shard of a group, or says that it is not here.

    It hears from its broker of what it leads, as one of its ``listeners``.
    """

    __slots__ = ("_broker", "_partitions", "_shards")

    def __init__(self, broker: Broker, partitions: int) -> None:
        self._broker = broker
        self._partitions = partitions
        self._shards: dict[str, Shard] = {}

    # -- what the broker tells

    def broker_started(self, broker: Broker) -> None:
        """Nothing is led yet."""

    def broker_ended(self, _broker: Broker) -> None:
        """The process is gone, and what it knew with it."""
        self._shards = {}

    def leads(self, broker: Broker, replica: Replica) -> None:
        """The broker leads a partition in a new epoch."""
        if replica.topic == OFFSETS_TOPIC:
            self.resigned(broker, replica)
            self._shards[replica.partition] = Shard(broker, replica)

    def resigned(self, _broker: Broker, replica: Replica) -> None:
        """The broker leads a partition no more."""
        shard = self._shards.pop(replica.partition, None)
        if shard is not None:
            shard.close()

    # -- requests: the first argument is always the group

    def find(self, group: str, reply: Reply) -> None:
        """FindCoordinator: the broker that leads the group's partition as far as this one knows, -1 for nobody."""
        state = self._broker.image.get(partition_of_group(group, self._partitions))
        reply(-1 if state is None else state.leader_id)

    def shard(self, group: str) -> Shard | None:
        """The shard of a group, None if it is not here."""
        return self._shards.get(partition_of_group(group, self._partitions))

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
        else:
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

    def leave(self, group: str, member_id: str, reply: Reply) -> None:
        """LeaveGroup."""
        shard = self.shard(group)
        if shard is not None:
            shard.group(group).leave(member_id, "leaves")
        reply(ErrorCode.NOT_COORDINATOR if shard is None else ErrorCode.NONE)

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


def coordinator_of(broker: Broker) -> GroupCoordinator:
    """The group coordinator of a broker; every broker of a setup with __consumer_offsets has one."""
    found: Any = next((one for one in broker.listeners if isinstance(one, GroupCoordinator)), None)
    assert isinstance(found, GroupCoordinator), f"{broker.name} coordinates no groups: there is no {OFFSETS_TOPIC}"
    return found
