"""The models of a consumer group by the engine's rules, their names, and what is asked of them."""

from __future__ import annotations

from kreplica.engine.explorer.model import Action, Goal, Healing, Invariant, Model
from kreplica.engine.explorer.models.coordinators.memberships import clients, coordinator
from kreplica.engine.explorer.models.coordinators.memberships.rules import (
    KAFKA_4_1,
    KAFKA_4_2,
    KAFKA_4_3,
    MENDED,
    MUTANTS,
    MembershipRules,
)
from kreplica.engine.explorer.models.coordinators.memberships.state import (
    GONE,
    STABLE,
    MembershipBounds,
    MembershipState,
    has,
    initial,
    layout,
    target_of,
)
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH, MemberState
from kreplica.engine.rules.replication.replica_set import contains, everybody, without

TABLES: dict[str, MembershipRules] = {
    "consumer-group-4.1": KAFKA_4_1,
    "consumer-group-4.2": KAFKA_4_2,
    "consumer-group-4.3": KAFKA_4_3,
    "consumer-group-4.3-mended": MENDED,
    **{f"consumer-group-4.2-{name}": rules for name, rules in MUTANTS.items()},
}
"""The rules of each model, by its name."""

MOST = MembershipBounds(clients=3, partitions=3, faults=3, time_outs=2)
"""The largest bounds."""

FAULTS = ("leave", "crash", "expire", "time-out")


def actions(bounds: MembershipBounds, rules: MembershipRules) -> tuple[Action, ...]:
    """All actions of a model, in the order in which they are taken."""
    return (
        clients.sends(bounds, rules),
        clients.hears(bounds, rules),
        clients.begins(bounds, rules),
        clients.finishes(bounds, rules),
        clients.releases(bounds),
        coordinator.serves(bounds, rules),
        coordinator.serves_late(bounds, rules),
        coordinator.lets_go(bounds, rules),
        coordinator.is_over(bounds, rules),
        clients.leaves(bounds),
        clients.crashes(bounds),
        clients.times_out(bounds),
        coordinator.expires(bounds, rules),
    )


def model_of(name: str, bounds: MembershipBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    rules = TABLES[name]
    taken = actions(bounds, rules)
    goes_on = tuple(action for action in taken if action.name not in FAULTS)
    healing = Healing(goes_on, concerned, GOALS)
    return Model(name, layout(bounds), initial(bounds, rules.version), taken, INVARIANTS, healing=healing)


def is_member(state: MembershipState, client: int) -> bool:
    """True if a client takes itself for a member and the coordinator would not fence it."""
    if state.status[client] == GONE or state.epoch[client] == JOIN_EPOCH or not contains(state.known[0], client):
        return False
    return state.epoch[client] in (state.member_epoch[client], state.previous_epoch[client])


def owned_once(state: MembershipState) -> bool:
    """True if no two members have the same partition."""
    seen = 0
    for client in range(len(state.status)):
        if is_member(state, client):
            if seen & has(state, client) != 0:
                return False
            seen |= has(state, client)
    return True


def released_first(state: MembershipState) -> bool:
    """True if all that a member has counts as its own at the coordinator."""
    for client in range(len(state.status)):
        counts = state.assigned[client] | state.to_revoke[client]
        if is_member(state, client) and without(has(state, client), counts) != 0:
            return False
    return True


def given_once(state: MembershipState) -> bool:
    """True if the coordinator counts no partition as that of two members."""
    seen = 0
    for client in range(len(state.status)):
        counts = state.assigned[client] | state.to_revoke[client]
        if seen & counts != 0 or state.assigned[client] & state.to_revoke[client] != 0:
            return False
        seen |= counts
    return True


def epochs_in_order(state: MembershipState) -> bool:
    """True if no epoch is ahead of the one that it follows."""
    if state.assignment_epoch[0] > state.group_epoch[0]:
        return False
    for client in range(len(state.status)):
        if state.member_epoch[client] > state.assignment_epoch[0] or state.epoch[client] > state.group_epoch[0]:
            return False
        if is_member(state, client) and state.epoch[client] > state.member_epoch[client]:
            return False
    return True


def epoch_earned(state: MembershipState) -> bool:
    """True if no member in the epoch of the target has, or counts as having, what the target gives to others."""
    for client in range(len(state.status)):
        if not contains(state.known[0], client) or state.member_epoch[client] != state.assignment_epoch[0]:
            continue
        target, counts = target_of(state, client), state.assigned[client] | state.to_revoke[client]
        if without(counts, target) != 0:
            return False
        in_epoch = is_member(state, client) and state.epoch[client] == state.assignment_epoch[0]
        if in_epoch and without(has(state, client), target) != 0:
            return False
    return True


def stable_reconciled(state: MembershipState) -> bool:
    """True if every member that is stable in the epoch of the target has all of it."""
    for client in range(len(state.status)):
        in_epoch = contains(state.known[0], client) and state.member_epoch[client] == state.assignment_epoch[0]
        stable = in_epoch and state.member_state[client] == MemberState.STABLE
        if stable and state.assigned[client] != target_of(state, client):
            return False
    return True


def settles(state: MembershipState) -> bool:
    """True if every client is a stable member in the group's epoch, and each partition is that of one of them."""
    owned, alive = 0, 0
    for client in range(len(state.status)):
        if state.status[client] == GONE:
            if contains(state.known[0], client):
                return False
            continue
        alive += 1
        if state.status[client] != STABLE or not is_member(state, client):
            return False
        if state.epoch[client] != state.group_epoch[0] or owned & has(state, client) != 0:
            return False
        owned |= has(state, client)
    return alive == 0 or owned == everybody(len(state.assigned_to))


def concerned(_state: MembershipState) -> bool:
    """Every state: faults are what is bounded, nothing that heals."""
    return True


INVARIANTS = (
    Invariant("owned-once", owned_once, "no two members have a partition at the same time, but for fenced ones"),
    Invariant("released-first", released_first, "what a member has counts as its own until it has given it up"),
    Invariant("given-once", given_once, "the coordinator counts no partition as that of two members"),
    Invariant("epochs-in-order", epochs_in_order, "no member epoch is ahead of the target's, nor that of the group's"),
    Invariant("epoch-earned", epoch_earned, "who is in the epoch of the target has given up what others are to get"),
    Invariant("stable-reconciled", stable_reconciled, "a stable member in the epoch of the target has all of it"),
)

GOALS = (
    Goal(
        "group-settles",
        settles,
        "without further faults each partition is that of one stable member, in the end",
    ),
)
