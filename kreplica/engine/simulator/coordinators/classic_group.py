"""A group of the classic protocol at its coordinator: members join, one of them assigns, all of them read.

org.apache.kafka.coordinator.group.classic.ClassicGroup and the classic part of GroupMetadataManager; before 4.0
kafka.coordinator.group.GroupMetadata and GroupCoordinator, which do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine.rules.groups import group_membership as rules
from kreplica.engine.rules.groups.group_membership import GroupState, JoinOutcome
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.coordinators.offset_store import GroupRecord, GroupShard
from kreplica.engine.trace import Kind

Reply = Callable[..., object]
Assigned = tuple[tuple[str, tuple[str, ...]], ...]
"""Member ids and the partitions of each."""


class GroupMember:
    """A member as the coordinator knows it; timeouts in microseconds."""

    __slots__ = ("assignment", "heard", "id", "instance", "join", "owned", "rebalance", "session", "sync", "topics")

    def __init__(self, member_id: str, instance: str, session: int, rebalance: int, topics: tuple[str, ...]) -> None:
        self.id = member_id
        self.instance = instance
        self.session = session
        self.rebalance = rebalance
        self.topics = topics
        self.owned: tuple[str, ...] = ()
        self.assignment: tuple[str, ...] = ()
        self.heard = 0
        self.join: Reply | None = None
        self.sync: Reply | None = None

    def answer_join(self, *values: Any) -> None:
        """Answers the parked JoinGroup, if there is one."""
        reply, self.join = self.join, None
        if reply is not None:
            reply(*values)

    def answer_sync(self, error: ErrorCode) -> None:
        """Answers the parked SyncGroup, if there is one."""
        reply, self.sync = self.sync, None
        if reply is not None:
            reply(error, () if error else self.assignment)


class ClassicGroup:
    """One group. It decides by the rules of ``kreplica.engine.rules.groups.group_membership``."""

    __slots__ = (
        "_initial",
        "_member_added",
        "_pending",
        "_phase",
        "_unsynced",
        "empty_since",
        "generation",
        "id",
        "leader",
        "members",
        "shard",
        "state",
        "static",
    )

    def __init__(self, shard: GroupShard, group: str) -> None:
        self.shard = shard
        self.id = group
        self.state = GroupState.EMPTY
        self.generation = 0
        self.leader = ""
        self.members: dict[str, GroupMember] = {}
        self.static: dict[str, str] = {}
        self.empty_since: int | None = None
        self._pending: set[str] = set()
        self._member_added = False
        self._initial = False
        self._phase = 0
        self._unsynced: set[str] = set()

    # -- requests

    def join(
        self,
        client: str,
        member_id: str,
        instance: str,
        timeouts: tuple[int, int],
        topics: tuple[str, ...],
        owned: tuple[str, ...],
        reply: Reply,
    ) -> None:
        """JoinGroup: answered with error, generation, member id, leader and, to the leader, all members."""
        if member_id == rules.NO_MEMBER and self._gives_id_first(instance):
            self._give_id(client, timeouts[0], reply)
            return
        if member_id == rules.NO_MEMBER or member_id in self._pending:
            self._join_new(client, member_id, instance, timeouts, topics, reply)
            return
        error = rules.validate_member(self.members, self.static, member_id, instance or None)
        if error:
            reply(error, rules.UNKNOWN_GENERATION, member_id, "", ())
            return
        member = self.members[member_id]
        outcome = rules.join_known_member(self.state, member_id == self.leader, self._changed(member, topics, owned))
        member.topics, member.owned = topics, owned
        if outcome is JoinOutcome.UNKNOWN_MEMBER_ID:
            reply(ErrorCode.UNKNOWN_MEMBER_ID, rules.UNKNOWN_GENERATION, member_id, "", ())
        elif outcome is JoinOutcome.CURRENT_GENERATION:
            reply(ErrorCode.NONE, self.generation, member_id, self.leader, self._told_to(member_id))
        else:
            member.join = reply
            self._rebalance_or_complete(f"{member_id} joins again")

    @staticmethod
    def _changed(member: GroupMember, topics: tuple[str, ...], owned: tuple[str, ...]) -> bool:
        """True if the member's metadata differs from what it joined with: topics, and owned partitions (KIP-429)."""
        return member.topics != topics or member.owned != owned

    def _gives_id_first(self, instance: str) -> bool:
        return rules.gives_member_id_first(self.shard.broker.cluster.version.member_id_required, instance or None)

    def _give_id(self, client: str, session: int, reply: Reply) -> None:
        """Gives a new member an id to join with, and waits for it as long as its session."""
        member_id = self.shard.new_member_id(client)
        self._pending.add(member_id)
        self.shard.broker.after(session, self._forget_pending, member_id)
        reply(ErrorCode.MEMBER_ID_REQUIRED, rules.UNKNOWN_GENERATION, member_id, "", ())

    def _forget_pending(self, member_id: str) -> None:
        if member_id in self._pending and not self.shard.closed:
            self._pending.remove(member_id)
            if self.state is GroupState.PREPARING_REBALANCE and not self._initial:
                self._complete_if_all_joined()

    def _join_new(
        self,
        client: str,
        given_id: str,
        instance: str,
        timeouts: tuple[int, int],
        topics: tuple[str, ...],
        reply: Reply,
    ) -> None:
        member_id = given_id or self.shard.new_member_id(instance or client)
        self._pending.discard(member_id)
        replaced = self.members.pop(self.static.get(instance, ""), None) if instance else None
        member = GroupMember(member_id, instance, *timeouts, topics)
        member.heard = self.shard.now
        self.members[member_id] = member
        if instance:
            self.static[instance] = member_id
        self._watch(member)
        if replaced is not None and self._takes_over(replaced, member, reply):
            return
        member.join = reply
        self._member_added = True
        self._rebalance_or_complete(f"{member_id} joins")

    def _takes_over(self, replaced: GroupMember, member: GroupMember, reply: Reply) -> bool:
        """Lets a static member that returns to a stable group keep its partitions, without a rebalance (KIP-345)."""
        replaced.answer_join(ErrorCode.FENCED_INSTANCE_ID, rules.UNKNOWN_GENERATION, replaced.id, "", ())
        replaced.answer_sync(ErrorCode.FENCED_INSTANCE_ID)
        if self.leader == replaced.id:
            self.leader = member.id
        if self.state is not GroupState.STABLE or replaced.topics != member.topics:
            return False
        member.assignment = replaced.assignment
        self.write(lambda _error: None)
        # even as the leader it is not told of the others: it must not assign anew
        reply(ErrorCode.NONE, self.generation, member.id, self.leader, ())
        return True

    def sync(self, member_id: str, instance: str, generation: int, assigned: Assigned, reply: Reply) -> None:
        """SyncGroup: answered with error and the member's partitions, once the leader has sent them."""
        error = rules.validate_sync(
            self.state, self.generation, self.members, self.static, member_id, instance or None, generation
        )
        if error:
            reply(error, ())
            return
        member = self.members[member_id]
        member.heard = self.shard.now
        self._unsynced.discard(member_id)
        if self.state is GroupState.STABLE:
            reply(ErrorCode.NONE, member.assignment)
            return
        member.sync = reply
        if member_id == self.leader:
            self._assign(dict(assigned))

    def heartbeat(self, member_id: str, instance: str, generation: int) -> ErrorCode:
        """The answer to Heartbeat."""
        error = rules.heartbeat(
            self.state, self.generation, self.members, self.static, member_id, instance or None, generation
        )
        if error in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}:
            self.members[member_id].heard = self.shard.now
        return error

    def knows(self, member_id: str) -> bool:
        """True if the id is a member's, or was given to a member to join with."""
        return member_id in self.members or member_id in self._pending

    def leave(self, member_id: str, why: str) -> None:
        """Removes a member: by LeaveGroup, or because its session has expired."""
        self._forget_pending(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self.static = {instance: holder for instance, holder in self.static.items() if holder != member_id}
        member.answer_join(ErrorCode.UNKNOWN_MEMBER_ID, rules.UNKNOWN_GENERATION, "", "", ())
        self._rebalance_or_complete(f"{member_id} {why}")

    # -- the join phase

    def _rebalance_or_complete(self, why: str) -> None:
        if rules.may_change(self.state, GroupState.PREPARING_REBALANCE):
            self._prepare(why)
        elif self.state is GroupState.PREPARING_REBALANCE and not self._initial:
            self._complete_if_all_joined()

    def _prepare(self, why: str) -> None:
        if self.state is GroupState.COMPLETING_REBALANCE:
            for member in self.members.values():
                member.assignment = ()
                member.answer_sync(ErrorCode.REBALANCE_IN_PROGRESS)
        delay = self.shard.initial_delay_ms
        self._initial = self.state is GroupState.EMPTY and delay > 0
        self._change(GroupState.PREPARING_REBALANCE, why)
        if self._initial:
            self._member_added = False
            remaining = max(self._longest_rebalance() // MICROSECONDS - delay, 0)
            self._after(delay * MICROSECONDS, self._initial_delay_over, delay, remaining)
        elif not self._complete_if_all_joined():
            self._after(self._longest_rebalance(), self._complete_join)

    def _initial_delay_over(self, delay_ms: int, remaining_ms: int) -> None:
        again = rules.initial_rebalance_delay(delay_ms, remaining_ms, self._member_added, self.shard.initial_delay_ms)
        self._member_added = False
        if again is None:
            self._complete_join()
        else:
            self._after(again[0] * MICROSECONDS, self._initial_delay_over, *again)

    def _complete_if_all_joined(self) -> bool:
        joined = sum(member.join is not None for member in self.members.values())
        complete = rules.all_members_joined(len(self.members), joined, len(self._pending))
        if complete:
            self._complete_join()
        return complete

    def _complete_join(self) -> None:
        """Ends the join phase: members that have not joined again are removed, unless they are static."""
        self._initial = False
        self._phase += 1
        for member in list(self.members.values()):
            if member.join is None and not member.instance:
                del self.members[member.id]
        joined = [member for member in self.members.values() if member.join is not None]
        if self.members and not joined:
            self._after(self._longest_rebalance(), self._complete_join)
            return
        if joined and (self.leader not in self.members or self.members[self.leader].join is None):
            self.leader = joined[0].id
        self.generation, state = rules.next_generation(self.generation, len(self.members))
        self._change(state, f"{len(self.members)} members")
        if state is GroupState.EMPTY:
            self.leader = ""
            self.empty_since = self.shard.now
            self.write(lambda _error: None)
            return
        for member in self.members.values():
            member.heard = self.shard.now  # a static member that has not joined has another session to return
        for member in joined:
            member.answer_join(ErrorCode.NONE, self.generation, member.id, self.leader, self._told_to(member.id))
        self._unsynced = set(self.members)
        self.shard.broker.after(self._longest_rebalance(), self._sync_time_over, self.generation)

    def _told_to(self, member_id: str) -> tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]:
        """The members in JoinGroup's answer: all of them for the leader, none for the others."""
        if member_id != self.leader:
            return ()
        return tuple((one.id, one.instance, one.topics, one.owned) for one in self.members.values())

    # -- the sync phase

    def _assign(self, assigned: dict[str, tuple[str, ...]]) -> None:
        for member in self.members.values():
            member.assignment = assigned.get(member.id, ())
        generation = self.generation
        self.write(lambda error: self._assignment_written(error, generation))

    def _assignment_written(self, error: ErrorCode, generation: int) -> None:
        """Distributes the assignment, unless another rebalance has begun while it was written."""
        if self.state is not GroupState.COMPLETING_REBALANCE or generation != self.generation:
            return
        if error:
            for member in self.members.values():
                member.assignment = ()
                member.answer_sync(error)
            self._prepare("the assignment could not be written")
            return
        self._change(GroupState.STABLE, "the leader has assigned")
        self._phase += 1
        for member in self.members.values():
            member.heard = self.shard.now
            member.answer_sync(ErrorCode.NONE)

    def _sync_time_over(self, generation: int) -> None:
        """Removes members that sent no SyncGroup within the rebalance timeout, from a stable group too.

        GroupMetadataManager.expirePendingSync: a static member that did not even join is among them.
        """
        elsewhere = self.state not in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}
        out = self._unsynced & self.members.keys()
        if self.shard.closed or generation != self.generation or elsewhere or not out:
            return
        self.members = {one: member for one, member in self.members.items() if one not in out}
        self.static = {instance: holder for instance, holder in self.static.items() if holder not in out}
        self._prepare("members did not sync")

    # -- state

    def restore(self, record: GroupRecord) -> None:
        """Restores the group from a record that the coordinator has read."""
        self.generation, self.leader = record.generation, record.leader
        for member_id, instance, session, rebalance, topics, assignment in record.members:
            member = self.members[member_id] = GroupMember(member_id, instance, session, rebalance, topics)
            member.assignment, member.heard = assignment, self.shard.now
            if instance:
                self.static[instance] = member_id
            self._watch(member)
        self.state = GroupState.STABLE if self.members else GroupState.EMPTY
        self.empty_since = None if self.members else record.time

    def write(self, then: Callable[[ErrorCode], object]) -> None:
        """Writes the group's record."""
        members = tuple(
            (one.id, one.instance, one.session, one.rebalance, one.topics, one.assignment)
            for one in self.members.values()
        )
        self.shard.append((GroupRecord(self.id, self.generation, self.leader, self.shard.now, members),), then)

    def _is_alive(self, member: GroupMember) -> bool:
        """True if a member has been heard of within its session, or waits for an answer."""
        waits = member.join is not None or member.sync is not None
        return waits or not rules.expired(self.shard.now, member.heard, member.session)

    def _watch(self, member: GroupMember) -> None:
        """Checks after a session whether its member is still heard of."""
        self.shard.broker.after(member.session, self._look_at, member)

    def _look_at(self, member: GroupMember) -> None:
        if self.shard.closed or self.members.get(member.id) is not member:
            return
        if self._is_alive(member):
            left = member.heard + member.session - self.shard.now
            self.shard.broker.after(left if left > 0 else member.session, self._look_at, member)
        else:
            self.leave(member.id, "was not heard of within its session")

    def close(self) -> None:
        """Ends the coordination of the group by this broker: waiting members are told to look for the coordinator."""
        self._phase += 1
        for member in self.members.values():
            member.answer_join(ErrorCode.NOT_COORDINATOR, rules.UNKNOWN_GENERATION, member.id, "", ())
            member.answer_sync(ErrorCode.NOT_COORDINATOR)

    def _longest_rebalance(self) -> int:
        return max((member.rebalance for member in self.members.values()), default=0)

    def _change(self, state: GroupState, why: str) -> None:
        assert rules.may_change(self.state, state), (self.state, state)
        self.state = state
        if state is not GroupState.EMPTY:
            self.empty_since = None
        members, rule = tuple(self.members), "group_membership.may_change"
        self.shard.broker.emit(Kind.GROUP_CHANGED, self.id, str(state), self.generation, members, why, rule)

    def _after(self, delay: int, function: Callable[..., object], *arguments: Any) -> None:
        """Plans a call for this phase: another phase, or the end of this coordinator, cancels it."""
        self._phase += 1
        self.shard.broker.after(delay, self._in_phase, self._phase, function, arguments)

    def _in_phase(self, phase: int, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        if phase == self._phase and not self.shard.closed:
            function(*arguments)
