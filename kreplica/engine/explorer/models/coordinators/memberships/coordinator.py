"""Steps of the coordinator of a consumer group: heartbeats that arrive, members that leave or are not heard of.

GroupMetadataManager of 4.x by the engine's rules. Each builder binds the bounds and the rules of one model.
"""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.coordinators.memberships.rules import (
    MembershipRules,
    assignments,
    assigns,
)
from kreplica.engine.explorer.models.coordinators.memberships.state import (
    ANSWERED,
    FENCED,
    GONE,
    JOINING,
    NONE,
    PREPARE_LEAVING,
    UNKNOWN,
    MembershipBounds,
    MembershipState,
    epoch_of,
    held_partitions,
    kind_of,
    member_of,
    message,
    partitions_of,
    put_member,
    target_of,
)
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH, Member, MemberState
from kreplica.engine.rules.groups.member_heartbeats import names_assignment
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import contains, only, without


def assigning(bounds: MembershipBounds, rules: MembershipRules) -> Callable[[MembershipState], None]:
    """Builds what makes the target assignment of the group's epoch."""
    clients, table = bounds.clients, assignments(bounds, rules.version)

    def assign(state: MembershipState) -> None:
        before, every = 0, 1
        for partition in range(len(state.assigned_to)):
            before += state.assigned_to[partition] * every
            every *= clients + 1
        after = table[state.known[0] * every + before]
        for partition in range(len(state.assigned_to)):
            state.assigned_to[partition] = after % (clients + 1)
            after //= clients + 1
        state.assignment_epoch[0] = state.group_epoch[0]

    return assign


def joining(state: MembershipState, client: int) -> None:
    """Makes a client a member; the group's epoch rises."""
    state.known[0] |= only(client)
    put_member(state, client, Member(MemberState.STABLE, JOIN_EPOCH, 0, 0), JOIN_EPOCH)
    state.group_epoch[0] += 1


def remove(state: MembershipState, client: int, raises_epoch: bool) -> None:
    """Takes a member out of the group: what it had is free."""
    state.known[0] = without(state.known[0], only(client))
    put_member(state, client, Member(MemberState.STABLE, JOIN_EPOCH, 0, 0), JOIN_EPOCH)
    for partition in range(len(state.assigned_to)):
        if state.assigned_to[partition] == client + 1:
            state.assigned_to[partition] = 0
    if raises_epoch:
        state.group_epoch[0] += 1


def serving(bounds: MembershipBounds, rules: MembershipRules) -> Callable[[MembershipState, int, int, int], int]:
    """Builds what the coordinator does with a heartbeat and answers; 0 if the choice is none."""
    validates, reconciles, interval = rules.validates, rules.reconciles, rules.interval
    rejoins, begins = rules.version.members_rejoin, rules.version.groups_begin_at_epoch
    assign = assigning(bounds, rules)

    def refusal(state: MembershipState, client: int, epoch: int, owned: int) -> int:
        if not contains(state.known[0], client):
            return ANSWERED if epoch == JOIN_EPOCH else UNKNOWN
        present, previous, has = state.member_epoch[client], state.previous_epoch[client], state.assigned[client]
        error = validates(epoch, present, previous, owned, has, rejoins)
        return ANSWERED if error == ErrorCode.NONE else FENCED

    def due(state: MembershipState, waited: int) -> bool:
        return assigns(state.group_epoch[0], state.assignment_epoch[0], begins, waited, interval)

    def serve(state: MembershipState, client: int, heartbeat: int, waited: int) -> int:
        epoch, owned = epoch_of(heartbeat), partitions_of(heartbeat)
        refused = refusal(state, client, epoch, owned)
        if refused != ANSWERED:
            return message(refused, 0, NONE) if waited == 0 else 0
        joins = not contains(state.known[0], client)
        if joins:
            joining(state, client)
        assigns_now = due(state, waited)
        if waited > 0 and (not assigns_now or due(state, 0)):
            if joins:
                undo(state, client)
            return 0
        if assigns_now:
            assign(state)
        has, target, held = state.assigned[client], target_of(state, client), held_partitions(state)
        before, previous = member_of(state, client), state.previous_epoch[client]
        after, previous = reconciles(before, previous, target, state.assignment_epoch[0], owned, held)
        put_member(state, client, after, previous)
        named = names_assignment(epoch, kind_of(heartbeat) == 1, has, after.assigned)
        return message(ANSWERED, after.epoch, after.assigned if named else NONE)

    return serve


def undo(state: MembershipState, client: int) -> None:
    """Takes back that a client has become a member: a choice that was none leaves the state as it was."""
    state.known[0] = without(state.known[0], only(client))
    state.group_epoch[0] -= 1


def serves(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """The coordinator answers a heartbeat, within the interval between two assignments or after it."""
    serve = serving(bounds, rules)

    def take(state: MembershipState, client: int, waited: int) -> bool:
        if state.request[client] == 0:
            return False
        answer = serve(state, client, state.request[client], waited)
        if answer == 0:
            return False
        state.request[client] = 0
        if state.status[client] != GONE:
            state.answer[client] = answer
        return True

    choices = (bounds.clients, rules.interval + 1)
    return Action("serve", take, choices, "the coordinator answers client {0}", (1, 0))


def serves_late(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """The coordinator takes a heartbeat whose sender does not wait for the answer any more."""
    serve = serving(bounds, rules)

    def take(state: MembershipState, client: int, waited: int) -> bool:
        if state.late[client] == 0 or serve(state, client, state.late[client], waited) == 0:
            return False
        state.late[client] = 0
        return True

    choices = (bounds.clients, rules.interval + 1)
    return Action("serve-late", take, choices, "the coordinator takes a late heartbeat of client {0}", (1, 0))


def lets_go(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """The coordinator takes the heartbeat by which a client leaves, after the one before it."""
    raises_epoch = rules.raises_epoch

    def take(state: MembershipState, client: int) -> bool:
        if state.leaving[client] == 0 or state.request[client] != 0:
            return False
        state.leaving[client] = 0
        if contains(state.known[0], client):
            remove(state, client, raises_epoch)
        return True

    return Action("let-go", take, (bounds.clients,), "the coordinator lets client {0} go", (1,))


def expires(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """The session of a member is over, or the time that it has to give up partitions, although the client runs."""
    raises_epoch = rules.raises_epoch

    def take(state: MembershipState, client: int) -> bool:
        if state.faults[0] == 0 or not contains(state.known[0], client):
            return False
        state.faults[0] -= 1
        remove(state, client, raises_epoch)
        return True

    sentence = "the session of client {0} is over although it runs"
    return Action("expire", take, (bounds.clients,), sentence, (1,))


def is_over(bounds: MembershipBounds, rules: MembershipRules) -> Action:
    """The session of a member is over whose client is gone, or has no heartbeat that the coordinator accepts.

    Or the time is over in which a member was to give up partitions, and its client was never told (rebalance timeout).
    """
    validates, raises_epoch, rejoins = rules.validates, rules.raises_epoch, rules.version.members_rejoin

    def refused(state: MembershipState, client: int) -> bool:
        present, previous, has = state.member_epoch[client], state.previous_epoch[client], state.assigned[client]
        return validates(JOIN_EPOCH, present, previous, 0, has, rejoins) != ErrorCode.NONE

    def is_untold(state: MembershipState, client: int) -> bool:
        revoking = state.member_state[client] == MemberState.UNREVOKED_PARTITIONS
        return revoking and state.answer[client] == 0 and state.target[client] != state.assigned[client]

    def take(state: MembershipState, client: int) -> bool:
        status = state.status[client]
        if not contains(state.known[0], client) or status == PREPARE_LEAVING:
            return False
        if status == JOINING and not refused(state, client):
            return False
        if status not in (GONE, JOINING) and not is_untold(state, client):
            return False
        remove(state, client, raises_epoch)
        return True

    sentence = "the session of client {0} is over, or its time to give up partitions"
    return Action("session-over", take, (bounds.clients,), sentence, (1,))
