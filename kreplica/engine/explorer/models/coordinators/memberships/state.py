"""State of a consumer group: what each client knows and has, what the coordinator knows, heartbeats under way.

Clients and partitions count from 0. A client is a member under its own id from its first heartbeat to its end; whoever
starts anew is another client. Sets of partitions and of clients are bitmasks. Heartbeats and answers are whole numbers:
0 for none, otherwise 1 + their parts side by side.
"""

from __future__ import annotations

from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH, Member, MemberState
from kreplica.engine.rules.replication.replica_set import everybody
from kreplica.engine.versions.version import Version

JOINING, STABLE, RECONCILING, ACKNOWLEDGING, PREPARE_LEAVING, GONE = range(6)
"""States of a client: org.apache.kafka.clients.consumer.internals.MemberState. FENCED, LEAVING and UNSUBSCRIBED pass at
once; who is gone has left or crashed and does not come back."""

NONE = -1
"""In place of a set of partitions that is not named, not known yet, or not being taken over."""

MOST_EPOCH = 30
"""The largest epoch that there is room for."""

EPOCHS = MOST_EPOCH + 2
SETS = 16
"""Room in a message: epochs from 0, sets of partitions from ``NONE``."""

ANSWERED, FENCED, UNKNOWN = range(3)
"""Kinds of answers: with the member's epoch, FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID."""


class MembershipBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        clients: Consumers that join the group, each at any time.
        partitions: Partitions that all of them subscribe to.
        faults: Clients that leave or crash, and sessions that end although the client runs.
        time_outs: Times that a client waits no longer for an answer; its heartbeat may still arrive.
    """

    clients: int
    partitions: int
    faults: int
    time_outs: int


class MembershipState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        status: Of each client.
        epoch: The member epoch that each client knows.
        owned: Partitions that each client has, as a set; ``NONE`` before it has taken over any assignment.
        target: The assignment that each client was told last, ``NONE`` before.
        settled: 1 for each client whose assignment is that one, and not an earlier one with the same partitions.
        step: Partitions that each client is just taking over, giving up the others; ``NONE`` if it does not.
        step_is_last: 1 if it has not been told another assignment since that began.
        named: 1 for each client that has named its present assignment in a heartbeat.
        forgot: 1 for each client whose next heartbeat names all there is, since one before has failed.
        request: The heartbeat of each client that is under way.
        answer: The answer that is under way to it.
        late: A heartbeat that is under way and whose answer it does not wait for any more.
        leaving: 1 for each client whose last heartbeat, by which it leaves, is under way.
        known: Clients that are members at the coordinator, as a set.
        member_state, member_epoch, previous_epoch, assigned, to_revoke: The coordinator's, of each member.
        assigned_to: The target assignment: for each partition 1 + the client, 0 for nobody.
        group_epoch, assignment_epoch: The group's.
        faults, time_outs: Those that are left.
    """

    status: list[int]
    epoch: list[int]
    owned: list[int]
    target: list[int]
    settled: list[int]
    step: list[int]
    step_is_last: list[int]
    named: list[int]
    forgot: list[int]
    request: list[int]
    answer: list[int]
    late: list[int]
    leaving: list[int]
    known: list[int]
    member_state: list[int]
    member_epoch: list[int]
    previous_epoch: list[int]
    assigned: list[int]
    to_revoke: list[int]
    assigned_to: list[int]
    group_epoch: list[int]
    assignment_epoch: list[int]
    faults: list[int]
    time_outs: list[int]


def layout(bounds: MembershipBounds) -> Layout:
    """The fields of a state within bounds."""
    clients, every = bounds.clients, everybody(bounds.partitions)
    flag, epochs, some = Field(1, count=clients), Field(MOST_EPOCH, count=clients), Field(every, count=clients)
    maybe, message = Field(every, NONE, clients), Field(EPOCHS * SETS * 2, count=clients)
    return Layout(
        MembershipState,
        {
            "status": Field(GONE, count=clients),
            "epoch": epochs,
            "owned": maybe,
            "target": maybe,
            "settled": flag,
            "step": maybe,
            "step_is_last": flag,
            "named": flag,
            "forgot": flag,
            "request": message,
            "answer": Field(EPOCHS * SETS * 3, count=clients),
            "late": message,
            "leaving": flag,
            "known": Field(everybody(clients)),
            "member_state": Field(int(MemberState.UNRELEASED_PARTITIONS), count=clients),
            "member_epoch": epochs,
            "previous_epoch": epochs,
            "assigned": some,
            "to_revoke": some,
            "assigned_to": Field(clients, count=bounds.partitions),
            "group_epoch": Field(MOST_EPOCH),
            "assignment_epoch": Field(MOST_EPOCH),
            "faults": Field(bounds.faults),
            "time_outs": Field(bounds.time_outs),
        },
    )


def initial(bounds: MembershipBounds, version: Version) -> MembershipState:
    """Every client is about to join; the group is empty."""
    clients, begins = bounds.clients, version.groups_begin_at_epoch
    return MembershipState(
        status=[JOINING] * clients,
        epoch=[JOIN_EPOCH] * clients,
        owned=[NONE] * clients,
        target=[NONE] * clients,
        settled=[1] * clients,
        step=[NONE] * clients,
        step_is_last=[0] * clients,
        named=[0] * clients,
        forgot=[0] * clients,
        request=[0] * clients,
        answer=[0] * clients,
        late=[0] * clients,
        leaving=[0] * clients,
        known=[0],
        member_state=[int(MemberState.STABLE)] * clients,
        member_epoch=[JOIN_EPOCH] * clients,
        previous_epoch=[JOIN_EPOCH] * clients,
        assigned=[0] * clients,
        to_revoke=[0] * clients,
        assigned_to=[0] * bounds.partitions,
        group_epoch=[begins],
        assignment_epoch=[begins],
        faults=[bounds.faults],
        time_outs=[bounds.time_outs],
    )


def message(kind: int, epoch: int, partitions: int) -> int:
    """A heartbeat or an answer as a number: the kind of an answer, 1 of a heartbeat with all there is, else 0."""
    return 1 + (kind * EPOCHS + epoch) * SETS + partitions - NONE


def kind_of(number: int) -> int:
    """The kind of a message."""
    return (number - 1) // (SETS * EPOCHS)


def epoch_of(number: int) -> int:
    """The epoch in a message."""
    return (number - 1) // SETS % EPOCHS


def partitions_of(number: int) -> int:
    """The partitions that a message names, ``NONE`` if it names none."""
    return (number - 1) % SETS + NONE


def has(state: MembershipState, client: int) -> int:
    """The partitions that a client has, as a set."""
    return max(state.owned[client], 0)


def target_of(state: MembershipState, client: int) -> int:
    """The partitions that the target assignment gives to a member, as a set."""
    found = 0
    for partition in range(len(state.assigned_to)):
        if state.assigned_to[partition] == client + 1:
            found |= 1 << partition
    return found


def state_of(number: int) -> MemberState:
    """The state of a member by its number."""
    if number == MemberState.UNREVOKED_PARTITIONS:
        return MemberState.UNREVOKED_PARTITIONS
    if number == MemberState.UNRELEASED_PARTITIONS:
        return MemberState.UNRELEASED_PARTITIONS
    return MemberState.STABLE


def member_of(state: MembershipState, client: int) -> Member:
    """A member as the rules know it."""
    return Member(
        state_of(state.member_state[client]),
        state.member_epoch[client],
        state.assigned[client],
        state.to_revoke[client],
    )


def put_member(state: MembershipState, client: int, member: Member, previous_epoch: int) -> None:
    """Sets a member."""
    state.member_state[client] = member.state
    state.member_epoch[client] = member.epoch
    state.previous_epoch[client] = previous_epoch
    state.assigned[client] = member.assigned
    state.to_revoke[client] = member.pending_revocation


def held_partitions(state: MembershipState) -> int:
    """The partitions that members have, or have yet to give up, as a set."""
    held = 0
    for client in range(len(state.status)):
        held |= state.assigned[client] | state.to_revoke[client]
    return held
