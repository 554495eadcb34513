"""The models of a consumer group by their names, and what is asked of them."""

from __future__ import annotations

from itertools import combinations

from kreplica.engine.explorer.model import Goal, Healing, Invariant, Model
from kreplica.engine.explorer.models.coordinators.groups.actions import actions, converged
from kreplica.engine.explorer.models.coordinators.groups.rules import (
    GIVES_AT_ONCE,
    PUBLISHED,
    REVOKES_AT_ONCE,
    STABLE_AT_ONCE,
    GroupRules,
)
from kreplica.engine.explorer.models.coordinators.groups.state import (
    IS_STABLE,
    SETTLED,
    GroupBounds,
    GroupState,
    initial,
    layout,
    members,
)
from kreplica.engine.rules.replication.replica_set import contains, only

TABLES: dict[str, GroupRules] = {
    "consumer-group": PUBLISHED,
    "consumer-group-m1": GIVES_AT_ONCE,
    "consumer-group-m2": REVOKES_AT_ONCE,
    "consumer-group-m3": STABLE_AT_ONCE,
}
"""The rules of each model, by its name."""

MOST = GroupBounds(clients=2, partitions=2, faults=1)
"""The largest bounds. These models are not compiled."""

FAULTS = ("leave", "crash", "expire")


def model_of(name: str, bounds: GroupBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    taken = actions(bounds, TABLES[name])
    healing = tuple(action for action in taken if action.name not in FAULTS)
    return Model(
        name,
        layout(bounds),
        initial(bounds),
        taken,
        INVARIANTS,
        healing=Healing(healing, lambda state: state.faults[0] == 0, GOALS),
        compiles=False,
    )


def owned_once(state: GroupState) -> bool:
    """True if no two clients that are members have the same partition."""
    known = {member.member_id for member in members(state)}
    owned = [have for have, member_id in zip(state.owned, state.member_id, strict=True) if member_id in known]
    return all(one & other == 0 for one, other in combinations(owned, 2))


def target_is_whole(state: GroupState) -> bool:
    """True if the target assignment gives each partition to one member."""
    return state.targets[0] == 0 or 0 not in state.assigned_to


def epoch_is_earned(state: GroupState) -> bool:
    """True if no client in the epoch of the target has a partition that the target gives to another member."""
    for client, epoch in enumerate(state.epoch):
        for partition, owner in enumerate(state.assigned_to):
            foreign = owner not in (0, state.member_id[client]) and contains(state.owned[client], partition)
            if foreign and epoch == state.assignment_epoch[0]:
                return False
    return True


def stable_is_reconciled(state: GroupState) -> bool:
    """True if every member of a stable group has its target and nothing else, in the epoch of the group."""
    if state.group_status[0] != IS_STABLE:
        return True
    for member in members(state):
        target = sum(only(one) for one, owner in enumerate(state.assigned_to) if owner == member.member_id)
        settled = member.status == SETTLED and member.epoch == state.group_epoch[0]
        if not settled or member.to_revoke or member.assigned != target:
            return False
    return True


def free_is_nobodys(state: GroupState) -> bool:
    """True if no member has, or is yet to give up, a partition that counts as free."""
    had = 0
    for member in members(state):
        had |= member.assigned | member.to_revoke
    return not any(contains(had, one) for one, epoch in enumerate(state.partition_epoch) if epoch == 0)


INVARIANTS = (
    Invariant("owned-once", owned_once, "no two members have a partition at the same time"),
    Invariant("target-whole", target_is_whole, "the target assignment gives each partition to one member"),
    Invariant("epoch-earned", epoch_is_earned, "who is in the epoch of the target has given up what others are to get"),
    Invariant("stable-reconciled", stable_is_reconciled, "in a stable group every member has its target, no more"),
    Invariant("free-nobodys", free_is_nobodys, "what counts as free belongs to no member"),
)

GOALS = (Goal("converges", converged, "without further faults every client has what the target gives it, in the end"),)
