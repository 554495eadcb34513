"""A group of KIP-848's protocol at its coordinator: the coordinator assigns, each member reconciles by itself.

org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup, and GroupMetadataManager as far as it concerns them;
since 4.0.

A target is assigned by the first heartbeat after the group has changed; from 4.3 on not before
group.consumer.assignment.interval.ms have passed since the last one (KIP-1263).
group.consumer.assignor.offload.enable exists since 4.3, too, but is not read yet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kreplica.engine.rules.groups import group_epochs as rules
from kreplica.engine.rules.groups.assignors import even_assignment, uniform_assignor
from kreplica.engine.rules.groups.group_epochs import Member, MemberState
from kreplica.engine.rules.groups.group_membership import NO_MEMBER, expired, validate_member
from kreplica.engine.rules.groups.member_heartbeats import names_assignment
from kreplica.engine.rules.groups.offset_commit import commit_to_consumer_group
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import members
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import topic_and_number, topic_of
from kreplica.engine.simulator.coordinators.offset_store import ConsumerGroupRecord, GroupShard, MemberRecord
from kreplica.engine.trace import Kind

Reply = Callable[..., object]


class ModernMember:
    """A member: its state as ``group_epochs.Member``, and what it asked for. ``target`` is its set of partitions.

    ``assigned_since`` has the member epoch in which it was given each partition that is assigned to it.
    """

    __slots__ = (
        "assigned_since",
        "heard",
        "id",
        "instance",
        "now",
        "previous_epoch",
        "rebalance",
        "revoking_since",
        "target",
        "topics",
    )

    def __init__(self, member_id: str, instance: str, rebalance: int = 0, topics: tuple[str, ...] = ()) -> None:
        self.id = member_id
        self.instance = instance
        self.rebalance = rebalance
        self.topics = topics
        self.assigned_since: dict[int, int] = {}
        self.now = Member(MemberState.STABLE, rules.JOIN_EPOCH, 0, 0)
        self.previous_epoch = rules.JOIN_EPOCH
        self.target = 0
        self.heard = 0
        self.revoking_since: int | None = None

    def note_assigned(self) -> None:
        """Notes the epoch since which it has each of its partitions."""
        had, assigned, epoch = self.assigned_since, self.now.assigned, self.now.epoch
        self.assigned_since = {place: had.get(place, epoch) for place in members(assigned)}


class ModernGroup:
    """One group. Sets of partitions are bitmasks over ``partitions``, all those that the group reads."""

    __slots__ = ("assigned_at", "assignment_epoch", "epoch", "id", "members", "partitions", "shard")

    def __init__(self, shard: GroupShard, group: str) -> None:
        self.shard = shard
        self.id = group
        self.epoch = self.assignment_epoch = shard.broker.cluster.version.groups_begin_at_epoch
        self.assigned_at: int | None = None
        self.members: dict[str, ModernMember] = {}
        self.partitions: tuple[str, ...] = ()

    # -- the heartbeat

    def heartbeat(
        self,
        member_id: str,
        instance: str,
        epoch: int,
        rebalance: int,
        topics: tuple[str, ...] | None,
        owned: tuple[str, ...] | None,
        reply: Reply,
    ) -> None:
        """ConsumerGroupHeartbeat: answered with error, member epoch and the member's partitions, None where not named.

        What a heartbeat does not say is as it was: a ``rebalance`` of ``UNSAID_TIMEOUT``, ``topics`` and ``owned`` of
        None.
        """
        error = self._refusal(member_id, instance, epoch, owned)
        if error:
            reply(error, epoch, ())
        elif epoch in {rules.LEAVE_EPOCH, rules.LEAVE_STATIC_EPOCH}:
            self._leave(self.members[member_id], epoch)
            reply(ErrorCode.NONE, epoch, ())
        else:
            member = self.members.get(member_id) or self._join(member_id, instance)
            if rebalance != rules.UNSAID_TIMEOUT:
                member.rebalance = rebalance
            changed = self._assign_when_due(self._subscribe(member, member.topics if topics is None else topics))
            full = rebalance != rules.UNSAID_TIMEOUT and topics is not None and owned is not None
            self._reconcile(member, epoch, owned, full, changed, reply)

    def _refusal(self, member_id: str, instance: str, epoch: int, owned: tuple[str, ...] | None) -> ErrorCode:
        static = {one.instance: one.id for one in self.members.values() if one.instance}
        if epoch == rules.JOIN_EPOCH and (instance or member_id not in self.members):
            holder = self.members[static[instance]].now.epoch if instance in static else None
            return rules.join_static_member(holder)
        if self.epoch == self.shard.broker.cluster.version.groups_begin_at_epoch:
            return ErrorCode.GROUP_ID_NOT_FOUND  # the group has never had a member
        refused = validate_member(self.members, static, member_id, instance or None)
        if refused or epoch < rules.JOIN_EPOCH:
            return refused
        member, rejoins = self.members[member_id], self.shard.broker.cluster.version.members_rejoin
        return rules.validate_heartbeat_epoch(
            epoch, member.now.epoch, member.previous_epoch, self._places_of(owned), member.now.assigned, rejoins
        )

    def _join(self, member_id: str, instance: str) -> ModernMember:
        """Adds a new member; one in the place of a static member that left for a while takes over its partitions."""
        member = ModernMember(member_id, instance)
        replaced = next((one for one in self.members.values() if instance and one.instance == instance), None)
        if replaced is not None:
            del self.members[replaced.id]
            member.now = replaced.now._replace(epoch=rules.JOIN_EPOCH)
            member.target, member.topics = replaced.target, replaced.topics
        self.members[member_id] = member
        member.heard = self.shard.now
        self.shard.broker.after(self._session(), self._look_at, member)
        return member

    def _subscribe(self, member: ModernMember, topics: tuple[str, ...]) -> str:
        """Updates the member's topics; returns why that raises the group's epoch, an empty text if it does not."""
        if member.topics == topics:
            return ""
        joins = not member.topics
        member.topics = topics
        self.epoch += 1
        return f"{member.id} joins" if joins else f"{member.id} subscribes other topics"

    def _leave(self, member: ModernMember, epoch: int) -> None:
        if epoch == rules.LEAVE_STATIC_EPOCH:
            member.now = member.now._replace(epoch=rules.LEAVE_STATIC_EPOCH, pending_revocation=0)
            self.write(lambda _error: None)
        else:
            self.fence(member, "leaves")

    # -- assignments

    def _assign_when_due(self, why: str) -> bool:
        """Computes the target assignment if it is due; returns whether anything has to be written.

        Args:
            why: Why the group's epoch has risen with this heartbeat; empty if it has not.
        """
        interval = self.shard.broker.integer("group.consumer.assignment.interval.ms") * MICROSECONDS
        due = rules.may_assign(self.epoch, self.assignment_epoch, self.assigned_at, self.shard.now, interval)
        if due:
            self._assign()
        if due or why:
            self._tell(why or "partitions are assigned")
        return due or bool(why)

    def _assign(self) -> None:
        """Computes the target assignment of the group's epoch."""
        self._know_partitions()
        owned = {one.id: tuple(map(topic_and_number, self.names(one.target))) for one in self.members.values()}
        subscriptions = {one.id: one.topics for one in self.members.values()}
        counts: dict[str, int] = {}
        for partition in self.partitions:
            counts[topic_of(partition)] = counts.get(topic_of(partition), 0) + 1
        uniform = partial(uniform_assignor, more_stays=self.shard.broker.cluster.version.more_stays)
        for member_id, has in even_assignment(uniform, owned, subscriptions, counts).items():
            self.members[member_id].target = self._places(tuple(f"{topic}-{number}" for topic, number in has))
        self.assignment_epoch, self.assigned_at = self.epoch, self.shard.now

    def _know_partitions(self) -> None:
        """Adds partitions of the subscribed topics, as this broker knows them; new ones go last."""
        topics = {topic for member in self.members.values() for topic in member.topics}
        found = [partition for partition in self.shard.broker.image if topic_of(partition) in topics]
        self.partitions += tuple(
            partition for partition in sorted(found, key=topic_and_number) if partition not in self.partitions
        )

    def _reconcile(
        self,
        member: ModernMember,
        epoch: int,
        owned: tuple[str, ...] | None,
        full: bool,
        changed: bool,
        reply: Reply,
    ) -> None:
        before = member.now
        member.heard = self.shard.now
        self._step(member, self._places_of(owned))
        named = names_assignment(epoch, full, before.assigned, member.now.assigned)
        answer = (member.now.epoch, self.names(member.now.assigned) if named else None)
        if changed or member.now != before:
            self.write(lambda error: reply(error, *answer))
        else:
            reply(ErrorCode.NONE, *answer)

    def _places_of(self, owned: tuple[str, ...] | None) -> int | None:
        return None if owned is None else self._places(owned)

    def _step(self, member: ModernMember, owns: int | None) -> None:
        """Moves a member one step towards its target assignment."""
        before, held = member.now, 0
        for one in self.members.values():
            held |= one.now.assigned | one.now.pending_revocation
        member.now, member.previous_epoch = rules.after_heartbeat(
            before, member.previous_epoch, member.target, self.assignment_epoch, owns, held
        )
        if member.now == before:
            return
        member.note_assigned()
        self._time_revocation(member)
        if self.state != "Reconciling" or before.state is MemberState.STABLE:
            self._tell(f"{member.id} is {member.now.state.title} in epoch {member.now.epoch}")

    def _time_revocation(self, member: ModernMember) -> None:
        """Removes a member that has not given up its partitions within its rebalance timeout."""
        if member.now.state is not MemberState.UNREVOKED_PARTITIONS:
            member.revoking_since = None
            return
        member.revoking_since = self.shard.now
        self.shard.broker.after(member.rebalance, self._revocation_over, member, member.revoking_since)

    def _revocation_over(self, member: ModernMember, since: int) -> None:
        if self._is_here(member) and member.revoking_since == since:
            self.fence(member, "has not given up its partitions within its rebalance timeout")

    def commit_refusal(self, member_id: str, epoch: int, transactional: bool, partitions: tuple[str, ...]) -> ErrorCode:
        """The error that refuses a commit: one for all its partitions, where Kafka has one for each."""
        member = self.members.get(member_id)
        since = None
        if member is not None and self.shard.broker.cluster.version.assignment_epochs:
            since = self._assigned_since(member, partitions)
        present = None if member is None else member.now.epoch
        named = member_id != NO_MEMBER
        return commit_to_consumer_group(len(self.members), present, epoch, transactional, False, since, named)

    def _assigned_since(self, member: ModernMember, partitions: tuple[str, ...]) -> int | None:
        """The epoch since which a member has had all these partitions; None if it has not."""
        epochs = {name: member.assigned_since.get(place) for place, name in enumerate(self.partitions)}
        known = [epoch for epoch in map(epochs.get, partitions) if epoch is not None]
        return max(known) if known and len(known) == len(partitions) else None

    # -- members that leave

    def fence(self, member: ModernMember, why: str) -> None:
        """Removes a member; the next heartbeat assigns its partitions."""
        del self.members[member.id]
        self.epoch += 1
        self._tell(f"{member.id} {why}")
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
        members, rule = tuple(self.members), "group_epochs.consumer_group_state"
        self.shard.broker.emit(Kind.GROUP_CHANGED, self.id, self.state, self.epoch, members, why, rule)

    def write(self, then: Callable[[ErrorCode], Any]) -> None:
        """Writes the group's record."""
        members = tuple(
            MemberRecord(
                one.id,
                one.instance,
                one.rebalance,
                one.topics,
                one.now,
                one.previous_epoch,
                one.target,
                tuple(one.assigned_since.items()),
            )
            for one in self.members.values()
        )
        record = ConsumerGroupRecord(
            self.id, self.epoch, self.assignment_epoch, self.assigned_at, self.partitions, self.shard.now, members
        )
        self.shard.append((record,), then)

    def restore(self, record: ConsumerGroupRecord) -> None:
        """Restores the group from a record that the coordinator has read."""
        self.epoch, self.assignment_epoch, self.assigned_at = record.epoch, record.assignment_epoch, record.assigned_at
        self.partitions = record.partitions
        for one in record.members:
            member = self.members[one.id] = ModernMember(one.id, one.instance, one.rebalance, one.topics)
            member.now, member.previous_epoch, member.target = one.now, one.previous_epoch, one.target
            member.assigned_since = dict(one.assigned_since)
            member.heard = self.shard.now
            self.shard.broker.after(self._session(), self._look_at, member)
            self._time_revocation(member)
