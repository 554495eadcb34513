"""Steps of the clients of a consumer group: heartbeats, their answers, what is taken over and given up.

ConsumerMembershipManager, AbstractMembershipManager and AbstractHeartbeatRequestManager of 4.x. Each builder binds the
bounds and the rules of one model. A client has one heartbeat under way, but for the one by which it leaves.
"""

from __future__ import annotations

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.coordinators.memberships.rules import MembershipRules
from kreplica.engine.explorer.models.coordinators.memberships.state import (
    ACKNOWLEDGING,
    ANSWERED,
    GONE,
    JOINING,
    NONE,
    PREPARE_LEAVING,
    RECONCILING,
    STABLE,
    MembershipBounds,
    MembershipState,
    epoch_of,
    kind_of,
    message,
    partitions_of,
)
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH


def waits(state: MembershipState, client: int) -> bool:
    """True if a client waits for an answer."""
    return state.request[client] != 0 or state.answer[client] != 0


def sends(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """A client sends a heartbeat: at once when it joins or has taken over an assignment, else by and by."""
    names, tells_all = rules.names, rules.tells_all

    def take(state: MembershipState, client: int) -> bool:
        if state.status[client] == GONE or waits(state, client):
            return False
        joins = state.status[client] == JOINING
        full = int(joins or state.forgot[client] == 1)
        owned = NONE
        if names(joins, state.named[client] == 1):
            owned = max(acknowledged(state, client), 0)
            if tells_all and state.target[client] != NONE:
                owned |= state.target[client]
            state.named[client] = 1
        state.forgot[client] = 0
        state.request[client] = message(full, state.epoch[client], owned)
        if state.status[client] == ACKNOWLEDGING:
            state.status[client] = STABLE if state.settled[client] == 1 else RECONCILING
        return True

    return Action("heartbeat", take, (bounds.clients,), "client {0} sends a heartbeat", (1,))


def acknowledged(state: MembershipState, client: int) -> int:
    """The partitions that a client names as its own: one that says so too early those that it is taking over."""
    if state.step[client] != NONE and state.named[client] == 0 and state.status[client] == ACKNOWLEDGING:
        return state.step[client]
    return state.owned[client]


def hears(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """A client takes an answer: its epoch, and an assignment if one is named; or it is fenced."""
    abandons = rules.abandons

    def take(state: MembershipState, client: int) -> bool:
        answer = state.answer[client]
        if answer == 0:
            return False
        state.answer[client] = 0
        if kind_of(answer) != ANSWERED:
            is_fenced(state, client, abandons)
            return True
        state.epoch[client] = epoch_of(answer)
        if partitions_of(answer) != NONE and state.status[client] != PREPARE_LEAVING:
            is_assigned(state, client, partitions_of(answer))
        return True

    return Action("hear", take, (bounds.clients,), "client {0} hears the answer", (1,))


def is_assigned(state: MembershipState, client: int, partitions: int) -> None:
    """Notes an assignment. One with other partitions is another, even if an earlier one had the same."""
    if partitions != state.target[client]:
        state.target[client] = partitions
        state.settled[client] = 0
        state.step_is_last[client] = 0
    if state.settled[client] == 0:
        state.status[client] = RECONCILING
    elif state.status[client] in (RECONCILING, JOINING):
        state.status[client] = STABLE


def is_fenced(state: MembershipState, client: int, abandons: bool) -> None:
    """Makes a client that is fenced give up all it has and join again; one that is leaving is gone."""
    if state.status[client] == PREPARE_LEAVING:
        is_gone(state, client)
        return
    owned = state.owned[client]
    forget(state, client)
    if not abandons:
        state.owned[client] = owned
    state.status[client] = JOINING
    state.forgot[client] = 1


def forget(state: MembershipState, client: int) -> None:
    """Ends what a client is and has in the group."""
    state.epoch[client] = JOIN_EPOCH
    state.owned[client] = NONE
    state.target[client] = NONE
    state.settled[client] = 1
    state.step[client] = NONE
    state.step_is_last[client] = 0
    state.named[client] = 0
    state.forgot[client] = 0


def is_gone(state: MembershipState, client: int) -> None:
    """Ends a client for good."""
    forget(state, client)
    state.status[client] = GONE
    state.answer[client] = 0


def begins(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """A client begins to take over its assignment; if it has these partitions, it only has to say so."""
    gives_up_first = rules.gives_up_first

    def take(state: MembershipState, client: int) -> bool:
        if state.status[client] != RECONCILING or state.settled[client] == 1 or state.step[client] != NONE:
            return False
        if state.owned[client] == state.target[client]:
            state.settled[client] = 1
            state.named[client] = 0
            state.status[client] = ACKNOWLEDGING
            return True
        state.step[client] = state.target[client]
        state.step_is_last[client] = 1
        if not gives_up_first:
            state.named[client] = 0
            state.status[client] = ACKNOWLEDGING
        return True

    return Action("reconcile", take, (bounds.clients,), "client {0} begins to take over its assignment", (1,))


def finishes(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """A client has given up what it was to give up, and has the rest, unless it is leaving by now."""
    gives_up_first = rules.gives_up_first

    def take(state: MembershipState, client: int) -> bool:
        if state.step[client] == NONE:
            return False
        if state.status[client] == RECONCILING or not gives_up_first:
            state.owned[client] = state.step[client]
            state.settled[client] = state.step_is_last[client]
            state.named[client] = 0
            state.status[client] = ACKNOWLEDGING
        state.step[client] = NONE
        state.step_is_last[client] = 0
        return True

    return Action("take-over", take, (bounds.clients,), "client {0} has taken over its assignment", (1,))


def releases(bounds: MembershipBounds) -> Action:
    """A client that leaves has given up all its partitions, and says so."""

    def take(state: MembershipState, client: int) -> bool:
        if state.status[client] != PREPARE_LEAVING:
            return False
        is_gone(state, client)
        state.leaving[client] = 1
        return True

    return Action("release", take, (bounds.clients,), "client {0} has given up its partitions, and leaves", (1,))


# -- faults


def leaves(bounds: MembershipBounds) -> Action:
    """A client begins to leave."""

    def take(state: MembershipState, client: int) -> bool:
        if state.faults[0] == 0 or state.status[client] in (PREPARE_LEAVING, GONE):
            return False
        state.faults[0] -= 1
        state.status[client] = PREPARE_LEAVING
        state.step[client] = NONE
        state.step_is_last[client] = 0
        return True

    return Action("leave", take, (bounds.clients,), "client {0} begins to leave", (1,))


def crashes(bounds: MembershipBounds) -> Action:
    """A client crashes; its heartbeat may still arrive."""

    def take(state: MembershipState, client: int) -> bool:
        if state.faults[0] == 0 or state.status[client] == GONE:
            return False
        state.faults[0] -= 1
        is_gone(state, client)
        return True

    return Action("crash", take, (bounds.clients,), "client {0} crashes", (1,))


def times_out(bounds: MembershipBounds) -> Action:
    """A client waits no longer for an answer; a heartbeat that has not arrived may still do so."""

    def take(state: MembershipState, client: int) -> bool:
        if state.time_outs[0] == 0 or state.status[client] == GONE or not waits(state, client):
            return False
        if state.request[client] != 0 and state.late[client] != 0:
            return False
        state.time_outs[0] -= 1
        if state.request[client] != 0:
            state.late[client] = state.request[client]
        state.request[client] = 0
        state.answer[client] = 0
        state.named[client] = 0
        state.forgot[client] = 1
        return True

    return Action("time-out", take, (bounds.clients,), "client {0} waits no longer for an answer", (1,))
