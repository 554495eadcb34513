"""States and actions of the models of a consumer group by the engine's rules, for people.

As ``groups.trace`` shows them: what a client has stands in place of its log, a record for each partition in the
client's member epoch; members in place of the ISR, the group epoch in place of the leader epoch. As events they are a
group that reads ``orders``: heartbeats that arrive, changes of the group, what each consumer takes over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.clients.traces.change import Change
from kreplica.engine.explorer.models.clients.traces.commits import COORDINATOR, GROUP
from kreplica.engine.explorer.models.coordinators.memberships.state import (
    ANSWERED,
    FENCED,
    NONE,
    MembershipState,
    epoch_of,
    has,
    kind_of,
    member_of,
    partitions_of,
)
from kreplica.engine.explorer.models.one_partition.state import PartitionState
from kreplica.engine.explorer.models.one_partition.trace import broker_of, events_between
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH, consumer_group_state
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.rules.replication.replica_set import members as in_set
from kreplica.engine.trace import Event, Kind
from kreplica.model.wording.words import ids

CLIENTS = ("consumer-a", "consumer-b", "consumer-c")
"""The clients of a model as processes."""
HEARTBEAT = "ConsumerGroupHeartbeat"


def seen(state: MembershipState) -> PartitionState:
    """A state as that of a partition whose replicas are the clients."""
    clients, partitions = len(state.status), len(state.assigned_to)
    epochs = 1 + max(state.epoch)
    records = list[int]()
    for client in range(clients):
        owned = [1 + each * epochs + state.epoch[client] for each in in_set(has(state, client))]
        records += [*owned, *[0] * (partitions - len(owned))]
    return PartitionState(
        records=records,
        high_watermark=[has(state, client).bit_count() for client in range(clients)],
        epoch=list(state.epoch),
        leader=[NO_LEADER] * clients,
        isr=[0] * clients,
        written=[partitions],
        begun=[state.group_epoch[0] + 1],
        true_leader=[NO_LEADER],
        true_isr=[state.known[0]],
        sent_leader=[NO_LEADER] * epochs,
        sent_isr=[0] * epochs,
    )


def told(before: MembershipState, step: Taken) -> str:
    """An action in words.

    Args:
        before: The state in which it is taken.
        step: The action.
    """
    client, after = step.chosen[0], step.state
    if step.action.name == "heartbeat":
        joins = "joins" if before.epoch[client] == JOIN_EPOCH else "sends a heartbeat"
        named = partitions_of(after.request[client])
        return f"client {broker_of(client)} {joins}{_names(', has', named)}"
    if step.action.name == "hear":
        return f"client {broker_of(client)} hears: {_answer(before.answer[client])}"
    if step.action.name in ("reconcile", "take-over"):
        takes = before.target[client] if step.action.name == "reconcile" else before.step[client]
        return f"{step.action.words(step.chosen)}{_names(':', takes)}"
    if step.action.name in ("serve", "serve-late"):
        target = ", ".join(f"{partition} to {owner or 'nobody'}" for partition, owner in enumerate(after.assigned_to))
        assigns = after.assignment_epoch != before.assignment_epoch
        return f"{step.action.words(step.chosen)}{f'; target: partition {target}' if assigns else ''}"
    return step.action.words(step.chosen)


def _answer(answer: int) -> str:
    if kind_of(answer) == ANSWERED:
        return f"member epoch {epoch_of(answer)}{_names(',', partitions_of(answer))}"
    error = ErrorCode.FENCED_MEMBER_EPOCH if kind_of(answer) == FENCED else ErrorCode.UNKNOWN_MEMBER_ID
    return error.name


def _names(words: str, partitions: int) -> str:
    if partitions == NONE:
        return ""
    return f"{words} partitions {ids(in_set(partitions))}" if partitions else f"{words} no partitions"


def events_of(initial: MembershipState, steps: Sequence[Taken]) -> list[Event]:
    """The events of a counterexample.

    Args:
        initial: The state that it begins in.
        steps: Its actions.
    """
    return events_between(initial, steps, _Heartbeats)


class _Heartbeats(Change):
    """An action of a client, or of the coordinator."""

    before: MembershipState
    after: MembershipState

    def events(self) -> Iterator[Event]:
        """The events, in order: a heartbeat or its answer that arrives, and what changes then."""
        client = self.chosen[0]
        name = CLIENTS[client]
        if self.name in ("serve", "serve-late", "let-go"):
            yield self.message(COORDINATOR, name, HEARTBEAT)
        elif self.name == "hear":
            yield self.message(name, COORDINATOR, f"{HEARTBEAT} answer")
        elif self.name in ("crash", "release"):
            yield self.event(Kind.CRASHED, name, False) if self.name == "crash" else self.event(Kind.STOPPED, name)
        if _group(self.before) != _group(self.after):
            yield self.changed()
        if self.name == "take-over" and has(self.before, client) != has(self.after, client):
            has_now = tuple(f"orders-{number}" for number in in_set(has(self.after, client)))
            yield self.event(Kind.ASSIGNED, name, GROUP, self.after.epoch[client], has_now, "group_epochs.reconcile")

    def changed(self) -> Event:
        """The group as the coordinator has it now."""
        after = self.after
        members = tuple(member_of(after, client) for client in in_set(after.known[0]))
        state = consumer_group_state(members, after.group_epoch[0], after.assignment_epoch[0])
        names = tuple(f"{CLIENTS[client]}.1" for client in in_set(after.known[0]))
        rule = "group_epochs.consumer_group_state"
        return self.event(Kind.GROUP_CHANGED, COORDINATOR, GROUP, state, after.group_epoch[0], names, self.name, rule)


def _group(state: MembershipState) -> tuple[object, ...]:
    """All that the coordinator knows of the group."""
    members = tuple(member_of(state, client) for client in in_set(state.known[0]))
    return state.group_epoch[0], state.assignment_epoch[0], members, tuple(state.assigned_to)
