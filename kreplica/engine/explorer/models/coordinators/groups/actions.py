"""Actions of the models of a consumer group: heartbeats and answers, steps of clients, and faults."""

from __future__ import annotations

from itertools import islice, product

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.coordinators.groups.rules import STATES, GroupRules
from kreplica.engine.explorer.models.coordinators.groups.state import (
    ACKNOWLEDGING,
    FENCED_EPOCH,
    GROUP_STATES,
    IS_STABLE,
    JOINING,
    LEAVING,
    MOST_MEMBERS,
    MOST_MESSAGES,
    NO_ERROR,
    NOT_TOLD,
    PREPARING,
    RECONCILING,
    SETTLED,
    STABLE,
    UNKNOWN_MEMBER,
    UNSUBSCRIBED,
    GroupBounds,
    GroupMember,
    GroupState,
    Heartbeat,
    heartbeat_of,
    members,
    put_members,
    send,
    take,
)
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH, LEAVE_EPOCH, Member, validate_heartbeat_epoch
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import contains, everybody, only

GONE = (UNSUBSCRIBED, PREPARING, LEAVING)


def converged(state: GroupState) -> bool:
    """True if every client and every member has reached its target, and no client has to ask any more."""
    epoch, known = state.group_epoch[0], {member.member_id for member in members(state)}
    if state.group_status[0] != IS_STABLE:
        return False
    if any(member.status != SETTLED or member.epoch != epoch for member in members(state)):
        return False
    return all(
        status == STABLE and held == epoch and member_id in known
        for status, held, member_id in zip(state.status, state.epoch, state.member_id, strict=True)
    )


# -- clients


def _next_status(state: GroupState, client: int) -> int:
    status = state.status[client]
    if status == UNSUBSCRIBED:
        return JOINING
    if status == ACKNOWLEDGING:
        return STABLE if state.target[client] == state.owned[client] else RECONCILING
    return UNSUBSCRIBED if status == LEAVING else status


def heartbeat(state: GroupState, client: int, topics: int) -> bool:
    """A client sends a heartbeat, with other topics if faults are left."""
    if state.waits[client] or converged(state):
        return False
    changes = topics != state.subscribed[client]
    if (state.faults[0] == 0 and changes) or (state.faults[0] > 0 and topics == 0):
        return False
    state.faults[0] -= changes
    if state.connection[client] == 0:
        state.last_connection[0] += 1
        state.connection[client] = state.last_connection[0]
    owned = state.owned[client]
    tells = state.last_told[client] != owned or owned != state.target[client]
    sent = (state.connection[client], state.member_id[client], state.epoch[client], topics)
    send(state, Heartbeat(0, client, *sent, owned if tells else NOT_TOLD))
    state.status[client] = _next_status(state, client)
    state.subscribed[client], state.waits[client] = topics, 1
    if tells:
        state.last_told[client] = owned
    if state.status[client] == UNSUBSCRIBED:
        state.member_id[client], state.epoch[client] = 0, JOIN_EPOCH
    return True


def _answer(state: GroupState, place: int, refused: bool) -> Heartbeat | None:
    """The answer at a place that its client may take, which is not under way any more."""
    if state.messages[place] == 0:
        return None
    answer = heartbeat_of(state.messages[place])
    if not answer.is_answer or state.connection[answer.client] != answer.connection:
        return None
    if (answer.subscribed != NO_ERROR) != refused:
        return None
    take(state, place)
    return answer


def hear_error(state: GroupState, place: int) -> bool:
    """A client hears that it is fenced or not known: it gives up all it has, and joins again."""
    answer = _answer(state, place, refused=True)
    if answer is None:
        return False
    client = answer.client
    state.waits[client] = 0
    if state.status[client] != UNSUBSCRIBED:
        state.status[client] = UNSUBSCRIBED if state.status[client] in (PREPARING, LEAVING) else JOINING
        _drop(state, client)
        state.member_id[client], state.epoch[client] = 0, JOIN_EPOCH
    return True


def _drop(state: GroupState, client: int) -> None:
    state.owned[client] = state.target[client] = 0
    state.last_told[client] = NOT_TOLD


def hear(state: GroupState, place: int) -> bool:
    """A client hears of its member epoch, and of partitions to take and give up."""
    answer = _answer(state, place, refused=False)
    if answer is None:
        return False
    client = answer.client
    state.waits[client] = 0
    status = state.status[client]
    if status in GONE:
        return True
    state.member_id[client], state.epoch[client] = answer.member_id, answer.epoch
    if answer.partitions == NOT_TOLD:
        if state.target[client] == state.owned[client]:
            state.status[client] = STABLE
        elif status == RECONCILING and state.step_epoch[client] == NOT_TOLD:
            _begin_step(state, client)
    elif answer.partitions != state.owned[client]:
        state.target[client] = answer.partitions
        _begin_step(state, client)
    elif status in (JOINING, RECONCILING):
        state.status[client] = STABLE
    return True


def _begin_step(state: GroupState, client: int) -> None:
    if state.step_epoch[client] == NOT_TOLD:
        state.status[client] = RECONCILING
        state.step_epoch[client], state.step_target[client] = state.epoch[client], state.target[client]


def reconcile(state: GroupState, client: int) -> bool:
    """A client has taken and given up partitions; in another epoch that counts for nothing."""
    if state.step_epoch[client] == NOT_TOLD:
        return False
    if state.status[client] == RECONCILING and state.step_epoch[client] == state.epoch[client]:
        state.status[client], state.owned[client] = ACKNOWLEDGING, state.step_target[client]
    state.step_epoch[client], state.step_target[client] = NOT_TOLD, 0
    return True


def leave(state: GroupState, client: int) -> bool:
    """A client begins to leave."""
    if state.faults[0] == 0 or state.epoch[client] <= 0 or state.status[client] in GONE:
        return False
    state.faults[0] -= 1
    state.status[client], state.leaving[client] = PREPARING, state.owned[client]
    return True


def left(state: GroupState, client: int) -> bool:
    """A client has given up all it has, and tells that it leaves with its next heartbeat."""
    if state.leaving[client] == NOT_TOLD:
        return False
    state.leaving[client] = NOT_TOLD
    if state.status[client] == PREPARING:
        state.status[client], state.epoch[client], state.subscribed[client] = LEAVING, LEAVE_EPOCH, 0
        _drop(state, client)
    return True


# -- the coordinator


def _request(state: GroupState, place: int) -> Heartbeat | None:
    if state.messages[place] == 0:
        return None
    request = heartbeat_of(state.messages[place])
    return None if request.is_answer else request


def _reply(state: GroupState, place: int, answer: Heartbeat) -> None:
    take(state, place)
    if state.connection[answer.client] == answer.connection:
        send(state, answer)


def _refuse(state: GroupState, place: int, request: Heartbeat, error: int) -> None:
    _reply(state, place, Heartbeat(1, request.client, request.connection, 0, 0, error, NOT_TOLD))


def _given(found: list[GroupMember], partitions: int, choice: int) -> tuple[int, ...] | None:
    """A target assignment: the member id of each partition, of any member that subscribes to it; None past the last.

    There is none while nobody subscribes to some topic: the published model then has no answer to a heartbeat.
    """
    subscribed = [
        [one.member_id for one in found if contains(one.subscribed, partition)] for partition in range(partitions)
    ]
    return next(islice(product(*subscribed), choice, None), None)


def _assign(state: GroupState, found: list[GroupMember], chosen: tuple[int, ...]) -> None:
    state.assigned_to[:] = chosen
    state.targets[0] = sum(only(one.member_id) for one in found)
    state.assignment_epoch[0] = state.group_epoch[0]


class Coordination:
    """The actions of a coordinator.

    Args:
        rules: Its rules.
    """

    def __init__(self, rules: GroupRules) -> None:
        self.rules = rules

    def _fences(self, request: Heartbeat, member: GroupMember) -> bool:
        if request.epoch == LEAVE_EPOCH:
            return False
        named = None if request.partitions == NOT_TOLD else request.partitions
        refused = validate_heartbeat_epoch(request.epoch, member.epoch, member.epoch, named, member.assigned, False)
        return refused is not ErrorCode.NONE  # no answer is lost on a connection, so that the epoch before is not sent

    def _set_status(self, state: GroupState, target_epoch: int) -> None:
        found = members(state)
        known = tuple(Member(STATES[one.status], one.epoch, one.assigned, one.to_revoke) for one in found)
        named = self.rules.group_state(known, state.group_epoch[0], target_epoch)
        state.group_status[0] = GROUP_STATES.index(named)

    def _remove(self, state: GroupState, gone: GroupMember) -> None:
        """Takes a member out of the group: its partitions are free."""
        put_members(state, [one for one in members(state) if one.member_id != gone.member_id])
        state.group_epoch[0] += 1
        for partition in range(len(state.partition_epoch)):
            if contains(gone.assigned | gone.to_revoke, partition):
                state.partition_epoch[partition] = 0
        self._set_status(state, state.assignment_epoch[0])

    def refuse(self, state: GroupState, place: int) -> bool:
        """The coordinator refuses a heartbeat: of nobody it knows, or of another epoch, whose member is fenced."""
        request = _request(state, place)
        if request is None:
            return False
        member = _member(state, request.member_id)
        if member is None:
            if request.member_id == 0:
                return False
            _refuse(state, place, request, UNKNOWN_MEMBER)
            return True
        if not self._fences(request, member):
            return False
        self._remove(state, member)
        _refuse(state, place, request, FENCED_EPOCH)
        return True

    def let_go(self, state: GroupState, place: int) -> bool:
        """The coordinator takes a heartbeat of a member that leaves."""
        request = _request(state, place)
        if request is None or request.epoch != LEAVE_EPOCH:
            return False
        member = _member(state, request.member_id)
        if member is None:
            return False
        self._remove(state, member)
        told = (request.client, request.connection, request.member_id, LEAVE_EPOCH)
        _reply(state, place, Heartbeat(1, *told, NO_ERROR, NOT_TOLD))
        return True

    def serve(self, state: GroupState, place: int, choice: int) -> bool:
        """The coordinator takes a heartbeat, makes a target assignment if the group has changed, and answers."""
        request = _request(state, place)
        if request is None:
            return False
        before = _member(state, request.member_id)
        if before is None and request.member_id != 0:
            return False
        if before is not None and (request.epoch == LEAVE_EPOCH or self._fences(request, before)):
            return False
        told = _as_told(state, request, before)
        found = [one for one in members(state) if one.member_id != told.member_id] + [told]
        found.sort()
        epoch = state.group_epoch[0] + (before is None or before.subscribed != told.subscribed)
        assigns = epoch > state.assignment_epoch[0]
        chosen = _given(found, len(state.assigned_to), choice) if assigns else ()
        if chosen is None or (choice > 0 and not assigns):
            return False
        state.group_epoch[0], state.last_id[0] = epoch, max(state.last_id[0], told.member_id)
        if assigns:
            _assign(state, found, chosen)
        after = self._reconciled(state, told)
        put_members(state, [after if one.member_id == after.member_id else one for one in found])
        self._set_status(state, epoch)
        _set_partition_epochs(state, before, after)
        named = request.partitions != NOT_TOLD or request.epoch == JOIN_EPOCH or after != told
        answered = (request.client, request.connection, after.member_id, after.epoch)
        _reply(state, place, Heartbeat(1, *answered, NO_ERROR, after.assigned if named else NOT_TOLD))
        return True

    def expire(self, state: GroupState, place: int) -> bool:
        """The session of a member is over although its client runs."""
        found = members(state)
        if state.faults[0] == 0 or place >= len(found):
            return False
        state.faults[0] -= 1
        self._remove(state, found[place])
        return True

    def expire_dead(self, state: GroupState, place: int) -> bool:
        """The session of a member is over whose client has become another one."""
        found = members(state)
        if place >= len(found):
            return False
        member = found[place]
        client = member.host
        if state.member_id[client] in (0, member.member_id) or state.status[client] == JOINING:
            return False
        self._remove(state, member)
        return True

    def _reconciled(self, state: GroupState, member: GroupMember) -> GroupMember:
        epoch = state.group_epoch[0]
        target = sum(only(one) for one, owner in enumerate(state.assigned_to) if owner == member.member_id)
        return self.rules.reconciles(member, target, epoch, state.partition_epoch)


def _member(state: GroupState, member_id: int) -> GroupMember | None:
    return next((one for one in members(state) if one.member_id == member_id), None)


def _as_told(state: GroupState, request: Heartbeat, before: GroupMember | None) -> GroupMember:
    """The member with what its heartbeat says, or a new one."""
    if before is None:
        new = (state.last_id[0] + 1, request.client, 0, 0, request.subscribed, SETTLED, 0, 0, 0)
        return GroupMember(*new, NOT_TOLD)
    owned = before.owned if request.partitions == NOT_TOLD else request.partitions
    return before._replace(subscribed=request.subscribed, owned=owned)


def _set_partition_epochs(state: GroupState, before: GroupMember | None, after: GroupMember) -> None:
    had = 0 if before is None else before.assigned | before.to_revoke
    for partition in range(len(state.partition_epoch)):
        if contains(after.assigned | after.to_revoke, partition):
            state.partition_epoch[partition] = after.epoch
        elif contains(had, partition):
            state.partition_epoch[partition] = 0


# -- faults


def crash(state: GroupState, client: int) -> bool:
    """A client crashes, and starts again as another member."""
    if state.faults[0] == 0 or state.epoch[client] <= 0:
        return False
    state.faults[0] -= 1
    state.status[client], state.subscribed[client] = JOINING, everybody(len(state.assigned_to))
    state.connection[client] = state.member_id[client] = state.waits[client] = 0
    state.epoch[client], state.step_epoch[client], state.step_target[client] = JOIN_EPOCH, NOT_TOLD, 0
    state.leaving[client] = NOT_TOLD
    _drop(state, client)
    return True


def actions(bounds: GroupBounds, rules: GroupRules) -> tuple[Action, ...]:
    """The actions within bounds; the last three are faults."""
    does = Coordination(rules)
    clients, topics = (bounds.clients,), 1 << bounds.partitions
    place, member = (MOST_MESSAGES,), (MOST_MEMBERS,)
    targets = MOST_MEMBERS**bounds.partitions
    return (
        Action(
            "heartbeat",
            heartbeat,
            (*clients, topics),
            "client {0} sends a heartbeat",
            (1, 0),
        ),
        Action("hear-error", hear_error, place, "a client hears that it is refused", (1,)),
        Action("hear", hear, place, "a client hears of its partitions", (1,)),
        Action("reconcile", reconcile, clients, "client {0} has taken and given up partitions", (1,)),
        Action("left", left, clients, "client {0} has given up what it had, to leave", (1,)),
        Action("refuse", does.refuse, place, "the coordinator refuses a heartbeat", (1,)),
        Action("let-go", does.let_go, place, "the coordinator lets a member go", (1,)),
        Action("serve", does.serve, (*place, targets), "the coordinator answers a heartbeat", (1, 0)),
        Action("expire-dead", does.expire_dead, member, "the session of a member is over that no client is", (1,)),
        Action("leave", leave, clients, "client {0} begins to leave", (1,)),
        Action("crash", crash, clients, "client {0} crashes, and starts again", (1,)),
        Action("expire", does.expire, member, "the session of a member is over", (1,)),
    )
