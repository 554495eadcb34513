"""A group of KIP-848's protocol at its coordinator: the coordinator assigns, each member reconciles by itself.

org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup, and GroupMetadataManager as far as it concerns them;
since 4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kreplica.engine.rules import group_epochs as rules
from kreplica.engine.rules.assignors import even_assignment, uniform_assignor
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.rules.group_epochs import Member, MemberState
from kreplica.engine.rules.group_membership import expired
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.offset_store import ConsumerGroupRecord, MemberRecord
from kreplica.engine.simulator.partition_state import topic_of
from kreplica.engine.trace import Kind

if TYPE_CHECKING:
    from kreplica.engine.simulator.group_shard import Shard

Reply = Callable[..., object]


class ModernMember:
    """A member: what ``group_epochs.Member`` says of it, and what it asked for. ``target`` is its set of partitions."""

    __slots__ = ("heard", "id", "instance", "now", "previous_epoch", "rebalance", "revoking_since", "target", "topics")

    def __init__(self, member_id: str, instance: str, rebalance: int, topics: tuple[str, ...]) -> None:
        self.id = member_id
        self.instance = instance
        self.rebalance = rebalance
        self.topics = topics
        self.now = Member(MemberState.STABLE, rules.JOIN_EPOCH, 0, 0)
        self.previous_epoch = rules.JOIN_EPOCH
        self.target = 0
        self.heard = 0
        self.revoking_since: int | None = None


class ModernGroup:
    """One group. Sets of partitions are bitmasks over ``partitions``, all that the group reads."""

    __slots__ = ("assignment_epoch", "epoch", "id", "members", "partitions", "shard")

    def __init__(self, shard: Shard, group: str) -> None:
        self.shard = shard
        self.id = group
        self.epoch = 0
        self.assignment_epoch = 0
        self.members: dict[str, ModernMember] = {}
        self.partitions: tuple[str, ...] = ()

    # -- the one request

    def heartbeat(
        self,
        member_id: str,
        instance: str,
        epoch: int,
        rebalance: int,
        topics: tuple[str, ...],
        owned: tuple[str, ...],
        reply: Reply,
    ) -> None:
        """ConsumerGroupHeartbeat: answered with error, member epoch and the member's partitions."""
        error = self._refusal(member_id, instance, epoch, owned)
        if error:
            reply(error, epoch, ())
        elif epoch in {rules.LEAVE_EPOCH, rules.LEAVE_STATIC_EPOCH}:
            self._leave(member_id, epoch)
            reply(ErrorCode.NONE, epoch, ())
        else:
            if epoch == rules.JOIN_EPOCH:
                self._join(member_id, instance, rebalance, topics)
            self._reconcile(self.members[member_id], owned, reply)

    def _refusal(self, member_id: str, instance: str, epoch: int, owned: tuple[str, ...]) -> ErrorCode:
        holder = next((one for one in self.members.values() if instance and one.instance == instance), None)
        if epoch == rules.JOIN_EPOCH:
            is_itself = holder is not None and holder.id == member_id
            return rules.join_static_member(None if holder is None or is_itself else holder.now.epoch)
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID if holder is None else ErrorCode.FENCED_INSTANCE_ID
        if epoch < rules.JOIN_EPOCH:
            return ErrorCode.NONE
        member = self.members[member_id]
        return rules.validate_heartbeat_epoch(
            epoch, member.now.epoch, member.previous_epoch, self._places(owned), member.now.assigned
        )

    def _join(self, member_id: str, instance: str, rebalance: int, topics: tuple[str, ...]) -> None:
        known = self.members.get(member_id)
        if known is not None and known.topics == topics:  # the answer was lost, and it asks again
            return
        member = ModernMember(member_id, instance, rebalance, topics)
        replaced = next((one for one in self.members.values() if instance and one.instance == instance), None)
        if replaced is not None:  # it left for a while: what it had waits for it
            del self.members[replaced.id]
            member.now = replaced.now._replace(epoch=rules.JOIN_EPOCH)
            member.target = replaced.target
        self.members[member_id] = member
        member.heard = self.shard.now
        self.shard.broker.after(self._session(), self._look_at, member)
        if replaced is None or replaced.topics != topics:
            self._bump(f"{member_id} joins")

    def _leave(self, member_id: str, epoch: int) -> None:
        member = self.members[member_id]
        if epoch == rules.LEAVE_STATIC_EPOCH:
            member.now = member.now._replace(epoch=rules.LEAVE_STATIC_EPOCH)
            self.write(lambda _error: None)
        else:
            self.fence(member, "leaves")

    # -- assignments

    def _bump(self, why: str) -> None:
        """Another group epoch, and at once the target assignment of it."""
        self.epoch += 1
        self._know_partitions()
        owned = {one.id: tuple(map(_pair, self.names(one.target))) for one in self.members.values()}
        subscriptions = {one.id: one.topics for one in self.members.values()}
        counts: dict[str, int] = {}
        for partition in self.partitions:
            counts[topic_of(partition)] = counts.get(topic_of(partition), 0) + 1
        uniform = partial(uniform_assignor, more_stays=self.shard.broker.simulation.version.more_stays)
        for member_id, has in even_assignment(uniform, owned, subscriptions, counts).items():
            self.members[member_id].target = self._places(tuple(f"{topic}-{number}" for topic, number in has))
        self.assignment_epoch = self.epoch
        self._tell(why)

    def _know_partitions(self) -> None:
        """Takes in the partitions of the topics that members subscribe, as this broker knows them; new ones go last."""
        topics = {topic for member in self.members.values() for topic in member.topics}
        found = [partition for partition in self.shard.broker.image if topic_of(partition) in topics]
        self.partitions += tuple(
            partition for partition in sorted(found, key=_pair) if partition not in self.partitions
        )

    def _reconcile(self, member: ModernMember, owned: tuple[str, ...], reply: Reply) -> None:
        before = member.now
        member.heard = self.shard.now
        held = 0
        for one in self.members.values():
            held |= one.now.assigned | one.now.pending_revocation
        member.now = rules.reconcile(before, member.target, self.assignment_epoch, self._places(owned), held)
        if member.now == before:
            reply(ErrorCode.NONE, member.now.epoch, self.names(member.now.assigned))
            return
        if member.now.epoch != before.epoch:
            member.previous_epoch = before.epoch
        self._time_revocation(member)
        if self.state != "Reconciling" or before.state is MemberState.STABLE:
            self._tell(f"{member.id} is {member.now.state} in epoch {member.now.epoch}")
        answer = (member.now.epoch, self.names(member.now.assigned))
        self.write(lambda error: reply(error, *answer))

    def _time_revocation(self, member: ModernMember) -> None:
        """Who has not given its partitions up within its rebalance timeout is out."""
        if member.now.state is not MemberState.UNREVOKED_PARTITIONS:
            member.revoking_since = None
            return
        member.revoking_since = self.shard.now
        self.shard.broker.after(member.rebalance, self._revocation_over, member, member.revoking_since)

    def _revocation_over(self, member: ModernMember, since: int) -> None:
        if self._is_here(member) and member.revoking_since == since:
            self.fence(member, "has not given up its partitions within its rebalance timeout")

    # -- members that go

    def fence(self, member: ModernMember, why: str) -> None:
        """Removes a member."""
        del self.members[member.id]
        self._bump(f"{member.id} {why}")
        self.write(lambda _error: None)

    def _session(self) -> int:
        return self.shard.broker.integer("group.consumer.session.timeout.ms") * MICROSECONDS

    def _look_at(self, member: ModernMember) -> None:
        if not self._is_here(member):
            return
        if expired(self.shard.now, member.heard, self._session()):
            self.fence(member, "was not heard of within its session")
        else:
            self.shard.broker.after(member.heard + self._session() - self.shard.now, self._look_at, member)

    def _is_here(self, member: ModernMember) -> bool:
        return not self.shard.closed and self.members.get(member.id) is member

    # -- state

    @property
    def state(self) -> str:
        """Empty, Assigning, Reconciling or Stable."""
        members = tuple(member.now for member in self.members.values())
        return rules.consumer_group_state(members, self.epoch, self.assignment_epoch)

    def names(self, places: int) -> tuple[str, ...]:
        """The partitions of a set."""
        return tuple(partition for place, partition in enumerate(self.partitions) if places >> place & 1)

    def _places(self, partitions: tuple[str, ...]) -> int:
        return sum(1 << place for place, partition in enumerate(self.partitions) if partition in partitions)

    def _tell(self, why: str) -> None:
        self.shard.broker.emit(Kind.GROUP_CHANGED, self.id, self.state, self.epoch, tuple(self.members), why)

    def write(self, then: Callable[[ErrorCode], Any]) -> None:
        """Writes the group down as it is."""
        members = tuple(
            MemberRecord(one.id, one.instance, one.rebalance, one.topics, one.now, one.previous_epoch, one.target)
            for one in self.members.values()
        )
        record = ConsumerGroupRecord(
            self.id, self.epoch, self.assignment_epoch, self.partitions, self.shard.now, members
        )
        self.shard.append((record,), then)

    def restore(self, record: ConsumerGroupRecord) -> None:
        """Is what the record says: a coordinator has read it."""
        self.epoch, self.assignment_epoch = record.epoch, record.assignment_epoch
        self.partitions = record.partitions
        for one in record.members:
            member = self.members[one.id] = ModernMember(one.id, one.instance, one.rebalance, one.topics)
            member.now, member.previous_epoch, member.target = one.now, one.previous_epoch, one.target
            member.heard = self.shard.now
            self.shard.broker.after(self._session(), self._look_at, member)
            self._time_revocation(member)


def _pair(partition: str) -> tuple[str, int]:
    topic, _, number = partition.rpartition("-")
    return topic, int(number)
