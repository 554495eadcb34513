"""The consumer group protocol of KIP-848: the coordinator assigns, each member reconciles by itself.

Preview in 3.7, general in 4.0 (group.protocol=consumer). Three epochs, each never above the one before it:

    group epoch         grows when a member comes, goes, changes its subscription, or a topic's partitions change
    assignment epoch    the group epoch that the target assignment was computed for
    member epoch        the assignment epoch that a member has reconciled to

Partitions are bitmasks: bit ``i`` is the i-th partition of those the group reads.
"""

from enum import IntEnum
from typing import NamedTuple

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import without

JOIN_EPOCH = 0
"""A heartbeat with this epoch joins."""
LEAVE_EPOCH = -1
"""A heartbeat with this epoch leaves; ConsumerGroupHeartbeatRequest.LEAVE_GROUP_MEMBER_EPOCH."""
LEAVE_STATIC_EPOCH = -2
"""A static member leaves for a while: its partitions wait for it until its session times out."""
UNSAID_TIMEOUT = -1
"""In place of a rebalance timeout that a heartbeat does not say."""


class MemberState(IntEnum):
    """org.apache.kafka.coordinator.group.modern.MemberState, with its numbers."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It has yet to give partitions up, and stays in its epoch until it has."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others have yet to give up."""

    @property
    def title(self) -> str:
        """Its name for people: UnrevokedPartitions."""
        return "".join(word.capitalize() for word in self.name.split("_"))


class Member(NamedTuple):
    """State of a member at the coordinator.

    ConsumerGroupMember. ``assigned`` and ``pending_revocation`` are disjoint; both belong to the member until it
    reports that it no longer owns the second.
    """

    state: MemberState
    epoch: int
    assigned: int
    pending_revocation: int


def validate_heartbeat_epoch(
    sent_epoch: int, member_epoch: int, previous_epoch: int, owned: int | None, assigned: int, rejoins: bool
) -> ErrorCode:
    """Returns the error for a heartbeat that is not of the member's present epoch; NONE if it is accepted.

    GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid. The previous epoch is accepted too if the member
    owns nothing beyond its assignment: the answer that raised the epoch may have been lost. A member that was fenced
    joins again under its id; up to 4.1 it is fenced again and again until its session is over (KAFKA-19233).

    Args:
        sent_epoch: In the request, JOIN_EPOCH or above.
        member_epoch: The coordinator's.
        previous_epoch: The member's epoch before that.
        owned: Partitions the member says it owns; None if it does not say.
        assigned: Partitions assigned to it.
        rejoins: Whether a member that is known may join again (``Version.members_rejoin``).
    """
    if sent_epoch == member_epoch or (rejoins and sent_epoch == JOIN_EPOCH):
        return ErrorCode.NONE
    lost_answer = sent_epoch == previous_epoch and owned is not None and without(owned, assigned) == 0
    return ErrorCode.NONE if sent_epoch < member_epoch and lost_answer else ErrorCode.FENCED_MEMBER_EPOCH


def join_static_member(holder_epoch: int | None) -> ErrorCode:
    """Returns the error for a new process with a group.instance.id; NONE if it is free, or its holder left for a while.

    GroupMetadataManager.throwIfInstanceIdIsUnreleased. The classic protocol accepts the new process and fences the old.

    Args:
        holder_epoch: The epoch of the member that holds the instance, None if there is none.
    """
    free = holder_epoch is None or holder_epoch == LEAVE_STATIC_EPOCH
    return ErrorCode.NONE if free else ErrorCode.UNRELEASED_INSTANCE_ID


def consumer_group_state(members: tuple[Member, ...], group_epoch: int, assignment_epoch: int) -> str:
    """Empty, Assigning, Reconciling or Stable.

    ConsumerGroup.maybeUpdateGroupState.
    """
    if not members:
        return "Empty"
    if group_epoch > assignment_epoch:
        return "Assigning"
    reconciled = all(member.state == MemberState.STABLE and member.epoch == assignment_epoch for member in members)
    return "Stable" if reconciled else "Reconciling"


def may_assign(group_epoch: int, assignment_epoch: int, assigned_at: int | None, now: int, interval: int) -> bool:
    """True if a heartbeat makes the coordinator compute a target assignment.

    GroupMetadataManager.maybeUpdateTargetAssignment and, since 4.3 (KIP-1263), canComputeNextTargetAssignment. Only
    heartbeats do: no timer runs for it, and a member that leaves or is fenced only raises the group epoch. Members that
    join within the interval wait for the first heartbeat after it, and are assigned together.

    Args:
        group_epoch, assignment_epoch: The group's.
        assigned_at: When the last one was computed; None if none ever was.
        now: In the unit of the interval.
        interval: group.consumer.assignment.interval.ms; 0 before 4.3.
    """
    if assignment_epoch >= group_epoch:
        return False
    return assigned_at is None or now >= assigned_at + interval


def after_heartbeat(
    member: Member, previous_epoch: int, target: int, assignment_epoch: int, owned: int | None, held: int
) -> tuple[Member, int]:
    """Returns the member after a heartbeat, and its previous epoch.

    GroupMetadataManager.maybeReconcile. The arguments are those of ``reconcile``, and its previous epoch so far.
    """
    if stays_as_it_is(member, assignment_epoch, owned):
        return member, previous_epoch
    return reconcile(member, target, assignment_epoch, owned, held), member.epoch


def reconcile(member: Member, target: int, assignment_epoch: int, owned: int | None, held: int) -> Member:
    """Takes a member one step nearer to its target assignment.

    CurrentAssignmentBuilder.build. No member gets a partition before its owner has given it up, and each goes on
    reading what it keeps without waiting for others: this replaced the stop-the-world rebalance.

    Args:
        member: Its present state.
        target: Its partitions in the target assignment.
        assignment_epoch: The target assignment's.
        owned: Partitions the member reports that it owns; None if the heartbeat does not say.
        held: Partitions that any member, this one too, has assigned or has yet to revoke.
    """
    if stays_as_it_is(member, assignment_epoch, owned):
        return member
    epoch = member.epoch + (member.state == MemberState.UNREVOKED_PARTITIONS)
    return _next_assignment(epoch, member.assigned, target, assignment_epoch, owned, held)


def stays_as_it_is(member: Member, assignment_epoch: int, owned: int | None) -> bool:
    """True if a heartbeat finds nothing to do: the member has reconciled, or has yet to give partitions up.

    CurrentAssignmentBuilder.build. Otherwise its assignment is computed anew, and the epoch it is in becomes its
    previous one even if nothing changes (ConsumerGroupMember.Builder.updateMemberEpoch): a member that waits for
    partitions of others and sends two heartbeats in an epoch is refused if it then sends the epoch before.

    Args:
        member: Its present state.
        assignment_epoch: The target assignment's.
        owned: Partitions the member reports that it owns; None if the heartbeat does not say.
    """
    if member.state == MemberState.STABLE:
        return member.epoch == assignment_epoch
    if member.state == MemberState.UNREVOKED_PARTITIONS:
        return owned is None or owned & member.pending_revocation != 0
    return False


def _next_assignment(
    epoch: int, assigned: int, target: int, assignment_epoch: int, owned: int | None, held: int
) -> Member:
    """CurrentAssignmentBuilder.computeNextAssignment."""
    kept = assigned & target
    to_revoke = without(assigned, target)
    missing = without(target, kept)
    if to_revoke != 0 and (owned is None or owned & to_revoke != 0):
        return Member(MemberState.UNREVOKED_PARTITIONS, epoch, kept, to_revoke)
    state = MemberState.UNRELEASED_PARTITIONS if missing & held != 0 else MemberState.STABLE
    return Member(state, assignment_epoch, kept | without(missing, held), 0)
