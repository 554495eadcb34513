"""State of a consumer group: what each client knows, what the coordinator knows, heartbeats under way.

Clients and topics count from 0, member ids and connections from 1: 0 is none. Each topic has one partition: sets of
topics and of partitions are the same. Members, heartbeats and their answers are whole numbers of several places.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout, OutOfRangeError
from kreplica.engine.explorer.models.coordinators.packed_values import Places
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH
from kreplica.engine.rules.replication.replica_set import everybody

JOINING, STABLE, RECONCILING, ACKNOWLEDGING, PREPARING, LEAVING, UNSUBSCRIBED = range(7)
"""States of a client: org.apache.kafka.clients.consumer.internals.MemberState, without those that pass at once."""

SETTLED, REVOKING, ASSIGNING = range(3)
"""States of a member at the coordinator: it has its target, is to give partitions up, waits for others to do so."""

GROUP_STATES = ("Empty", "Assigning", "Reconciling", "Stable")
"""States of the group, each by its place."""

EMPTY, IS_STABLE = 0, 3

NOT_TOLD = -1
"""In place of partitions that a heartbeat or its answer does not name, and of a step that is not under way."""

MOST_MEMBERS = 4
MOST_MESSAGES = 6
MOST_ID = 31
MOST_EPOCH = 62


class GroupBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        clients: Consumers of the group.
        partitions: Topics of one partition, all of which each client subscribes to at first.
        faults: Other subscriptions, clients that leave or crash, members that are fenced.
    """

    clients: int
    partitions: int
    faults: int


class GroupMember(NamedTuple):
    """State of a member at the coordinator.

    Args:
        member_id: Its id.
        host: The client that joined with it.
        epoch: Its member epoch.
        target_epoch: The group epoch of the target that it goes to.
        subscribed: Its topics, as a set.
        status: See above.
        assigned: Partitions that it has, as a set.
        to_revoke: Partitions that it is to give up.
        to_assign: Partitions that it is to get.
        owned: Partitions that it has last said it owns; NOT_TOLD before.
    """

    member_id: int
    host: int
    epoch: int
    target_epoch: int
    subscribed: int
    status: int
    assigned: int
    to_revoke: int
    to_assign: int
    owned: int


class Heartbeat(NamedTuple):
    """ConsumerGroupHeartbeat, or its answer.

    Args:
        is_answer: 1 of an answer.
        client: Which sends it, or is to get it.
        connection: Over which it goes: one that was lost brings nothing any more.
        member_id, epoch: Of the member.
        subscribed: Topics, of a heartbeat; the error, of an answer.
        partitions: That the client owns, or is to own; NOT_TOLD if not named.
    """

    is_answer: int
    client: int
    connection: int
    member_id: int
    epoch: int
    subscribed: int
    partitions: int


NO_ERROR, UNKNOWN_MEMBER, FENCED_EPOCH = range(3)
"""Errors of answers."""

_PLACES = Places(bits=6)


def number_of(value: GroupMember | Heartbeat) -> int:
    """The whole number of a member or a heartbeat, above 0."""
    return _PLACES.number_of(value)


@lru_cache(maxsize=1 << 14)
def member_of(number: int) -> GroupMember:
    """The member that a number is."""
    return GroupMember(*_PLACES.values_of(number, len(GroupMember._fields)))


@lru_cache(maxsize=1 << 14)
def heartbeat_of(number: int) -> Heartbeat:
    """The heartbeat or answer that a number is."""
    return Heartbeat(*_PLACES.values_of(number, len(Heartbeat._fields)))


class GroupState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        status: Of each client.
        connection: The connection of each client, 0 before it has one.
        member_id, epoch: What each client was given.
        subscribed: The topics of each client, as a set.
        owned: Partitions that each client has, as a set.
        target: Partitions that each client was told to have.
        last_told: Partitions that each client has last said it has.
        waits: 1 for each client that waits for an answer.
        step_epoch: The member epoch in which each client began to take and give up partitions, NOT_TOLD if it does not.
        step_target: The partitions that it will have then.
        leaving: Partitions of each client that began to leave, NOT_TOLD of others.
        members: The members, by id, 0 behind the last.
        group_epoch: The group's.
        group_status: The group's.
        assignment_epoch: The group epoch of the target assignment.
        assigned_to: For each partition the member that the target assignment gives it to, 0 before there is one.
        targets: Members that the target assignment was made for, as a set of ids.
        partition_epoch: For each partition the epoch of the member that has it, 0 if none has.
        messages: Heartbeats and answers under way, in order.
        last_id, last_connection: The last of each that was given out.
        faults: Those that are left.
    """

    status: list[int]
    connection: list[int]
    member_id: list[int]
    epoch: list[int]
    subscribed: list[int]
    owned: list[int]
    target: list[int]
    last_told: list[int]
    waits: list[int]
    step_epoch: list[int]
    step_target: list[int]
    leaving: list[int]
    members: list[int]
    group_epoch: list[int]
    group_status: list[int]
    assignment_epoch: list[int]
    assigned_to: list[int]
    targets: list[int]
    partition_epoch: list[int]
    messages: list[int]
    last_id: list[int]
    last_connection: list[int]
    faults: list[int]


def layout(bounds: GroupBounds) -> Layout:
    """The fields of a state within bounds."""
    clients, every = bounds.clients, everybody(bounds.partitions)
    an_id, an_epoch, some = Field(MOST_ID, count=clients), Field(MOST_EPOCH, -1, clients), Field(every, count=clients)
    told = Field(every, NOT_TOLD, clients)
    one_id, one_epoch = Field(MOST_ID), Field(MOST_EPOCH)
    return Layout(
        GroupState,
        {
            "status": Field(UNSUBSCRIBED, count=clients),
            "connection": an_id,
            "member_id": an_id,
            "epoch": an_epoch,
            "subscribed": some,
            "owned": some,
            "target": some,
            "last_told": told,
            "waits": Field(1, count=clients),
            "step_epoch": an_epoch,
            "step_target": some,
            "leaving": told,
            "members": Field(_PLACES.most(len(GroupMember._fields)), count=MOST_MEMBERS),
            "group_epoch": one_epoch,
            "group_status": Field(IS_STABLE),
            "assignment_epoch": one_epoch,
            "assigned_to": Field(MOST_ID, count=bounds.partitions),
            "targets": Field((2 << MOST_ID) - 1),
            "partition_epoch": Field(MOST_EPOCH, count=bounds.partitions),
            "messages": Field(_PLACES.most(len(Heartbeat._fields)), count=MOST_MESSAGES),
            "last_id": one_id,
            "last_connection": one_id,
            "faults": Field(bounds.faults),
        },
    )


def initial(bounds: GroupBounds) -> GroupState:
    """Every client is about to join with all topics; the group is empty."""
    clients = bounds.clients
    return GroupState(
        status=[JOINING] * clients,
        connection=[0] * clients,
        member_id=[0] * clients,
        epoch=[JOIN_EPOCH] * clients,
        subscribed=[everybody(bounds.partitions)] * clients,
        owned=[0] * clients,
        target=[0] * clients,
        last_told=[NOT_TOLD] * clients,
        waits=[0] * clients,
        step_epoch=[NOT_TOLD] * clients,
        step_target=[0] * clients,
        leaving=[NOT_TOLD] * clients,
        members=[0] * MOST_MEMBERS,
        group_epoch=[0],
        group_status=[EMPTY],
        assignment_epoch=[0],
        assigned_to=[0] * bounds.partitions,
        targets=[0],
        partition_epoch=[0] * bounds.partitions,
        messages=[0] * MOST_MESSAGES,
        last_id=[0],
        last_connection=[0],
        faults=[bounds.faults],
    )


def members(state: GroupState) -> list[GroupMember]:
    """The members, by id."""
    return [member_of(number) for number in state.members if number]


def put_members(state: GroupState, found: list[GroupMember]) -> None:
    """Sets the members."""
    _fill(state.members, sorted(map(number_of, found)), "members")


def send(state: GroupState, heartbeat: Heartbeat) -> None:
    """Puts a heartbeat or an answer under way."""
    _fill(state.messages, sorted({*filter(None, state.messages), number_of(heartbeat)}), "messages")


def take(state: GroupState, place: int) -> None:
    """Takes a message away."""
    _fill(state.messages, [number for at, number in enumerate(state.messages) if number and at != place], "messages")


def _fill(field: list[int], numbers: list[int], what: str) -> None:
    if len(numbers) > len(field):
        raise OutOfRangeError(f"there are {len(numbers)} {what}, and room for {len(field)}")
    field[:] = [*numbers, *[0] * (len(field) - len(numbers))]
