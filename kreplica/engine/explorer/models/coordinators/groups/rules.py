"""Rules of the models of a consumer group: the engine's, where the published model goes another way, one guard less.

The published model is a draft of KIP-848 ("version 2"). A step of a member there is the engine's
(CurrentAssignmentBuilder), but a member has given up what it was to give up once it has named exactly what it keeps, in
whichever heartbeat, and one that has yet to give up is given another target at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kreplica.engine.explorer.models.coordinators.groups.state import ASSIGNING, REVOKING, SETTLED, GroupMember
from kreplica.engine.rules.groups.group_epochs import Member, MemberState, consumer_group_state, reconcile
from kreplica.engine.rules.replication.replica_set import only, without

Reconciles = Callable[[GroupMember, int, int, Sequence[int]], GroupMember]


@dataclass(frozen=True, slots=True)
class GroupRules:
    """The rules in which the models differ.

    Args:
        reconciles: The member after a heartbeat: the member, its target, the target's epoch, the epoch of each
            partition, 0 of one that is free.
        group_state: The state of the group: its members, its epoch, the target's.
    """

    reconciles: Reconciles
    group_state: Callable[[tuple[Member, ...], int, int], str]


STATES = {
    SETTLED: MemberState.STABLE,
    REVOKING: MemberState.UNREVOKED_PARTITIONS,
    ASSIGNING: MemberState.UNRELEASED_PARTITIONS,
}
"""The engine's state of a member by the number of the models."""

_NUMBERS = {state: number for number, state in STATES.items()}


def reconciles_as_published(member: GroupMember, target: int, target_epoch: int, epochs: Sequence[int]) -> GroupMember:
    """A step of a member towards its target."""
    if target_epoch != member.target_epoch:
        known = Member(MemberState.STABLE, member.epoch, member.assigned | member.to_revoke, 0)
    elif member.status == SETTLED or (member.status == REVOKING and member.owned != member.assigned):
        return member
    else:
        known = Member(MemberState.UNRELEASED_PARTITIONS, member.epoch, member.assigned, 0)
    held = sum(only(one) for one, epoch in enumerate(epochs) if epoch != 0)
    after = reconcile(known, target, target_epoch, None, held)
    return member._replace(
        status=_NUMBERS[after.state],
        epoch=after.epoch,
        target_epoch=target_epoch,
        assigned=after.assigned,
        to_revoke=after.pending_revocation,
        to_assign=without(target, after.assigned),
    )


def gives_at_once(member: GroupMember, target: int, target_epoch: int, epochs: Sequence[int]) -> GroupMember:
    """Assigns what other members have not given up yet."""
    return reconciles_as_published(member, target, target_epoch, [0] * len(epochs))


def revokes_at_once(member: GroupMember, target: int, target_epoch: int, epochs: Sequence[int]) -> GroupMember:
    """Takes partitions for given up before the member has said so."""
    return reconciles_as_published(member._replace(owned=member.assigned), target, target_epoch, epochs)


def stable_with_a_target(_members: tuple[Member, ...], group_epoch: int, assignment_epoch: int) -> str:
    """Takes a group for stable as soon as it has a target."""
    return consumer_group_state((), group_epoch, assignment_epoch) if not _members else "Stable"


PUBLISHED = GroupRules(reconciles_as_published, consumer_group_state)
GIVES_AT_ONCE = replace(PUBLISHED, reconciles=gives_at_once)
REVOKES_AT_ONCE = replace(PUBLISHED, reconciles=revokes_at_once)
STABLE_AT_ONCE = replace(PUBLISHED, group_state=stable_with_a_target)
