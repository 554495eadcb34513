"""States and actions of the models of a consumer group for people: a client in place of each replica.

What a client owns stands in place of its log, a record for each partition in the client's member epoch; clients that
are members in place of the ISR, the group epoch in place of the leader epoch.
"""

from __future__ import annotations

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.coordinators.groups.state import (
    FENCED_EPOCH,
    NO_ERROR,
    NOT_TOLD,
    GroupState,
    heartbeat_of,
    members,
)
from kreplica.engine.explorer.models.one_partition.state import PartitionState
from kreplica.engine.explorer.models.one_partition.trace import broker_of
from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH, LEAVE_EPOCH
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER, only
from kreplica.engine.rules.replication.replica_set import members as in_set
from kreplica.model.wording.words import ids


def seen(state: GroupState) -> PartitionState:
    """A state as that of a partition whose replicas are the clients."""
    clients, partitions = len(state.status), len(state.assigned_to)
    known = {member.member_id for member in members(state)}
    epochs = 1 + max(0, *state.epoch)
    records = []
    for client in range(clients):
        owned = [1 + each * epochs + max(0, state.epoch[client]) for each in in_set(state.owned[client])]
        records += [*owned, *[0] * (partitions - len(owned))]
    in_group = sum(only(client) for client, member_id in enumerate(state.member_id) if member_id in known)
    return PartitionState(
        records=records,
        high_watermark=[owned.bit_count() for owned in state.owned],
        epoch=list(state.epoch),
        leader=[NO_LEADER] * clients,
        isr=[0] * clients,
        written=[partitions],
        begun=[state.group_epoch[0] + 1],
        true_leader=[NO_LEADER],
        true_isr=[in_group],
        sent_leader=[NO_LEADER] * epochs,
        sent_isr=[0] * epochs,
    )


def told(before: GroupState, step: Taken) -> str:
    """An action in words.

    Args:
        before: The state in which it is taken.
        step: The action.
    """
    name, place = step.action.name, step.chosen[0]
    if name == "heartbeat":
        client = f"client {broker_of(place)}"
        changed = step.state.subscribed[place] != before.subscribed[place]
        topics = f" and subscribes to {_names(step.chosen[1], 'topic')}" if changed else ""
        sends = {JOIN_EPOCH: "joins", LEAVE_EPOCH: "tells that it leaves"}
        return f"{client} {sends.get(before.epoch[place], 'sends a heartbeat')}{topics}"
    if name in ("expire", "expire-dead"):
        return f"the session of member {members(before)[place].member_id} is over"
    if name in ("hear", "hear-error", "refuse", "let-go", "serve"):
        return _message(before, step)
    return step.action.words(step.chosen)


def _message(before: GroupState, step: Taken) -> str:
    message = heartbeat_of(before.messages[step.chosen[0]])
    client = f"client {broker_of(message.client)}"
    if step.action.name == "hear-error":
        error = ErrorCode.FENCED_MEMBER_EPOCH if message.subscribed == FENCED_EPOCH else ErrorCode.UNKNOWN_MEMBER_ID
        return f"{client} hears: {error.name}"
    if step.action.name == "hear":
        assert message.subscribed == NO_ERROR
        named = "" if message.partitions == NOT_TOLD else f", {_names(message.partitions, 'partition')}"
        return f"{client} hears: member epoch {message.epoch}{named}"
    if step.action.name == "serve":
        assigns = step.state.assignment_epoch != before.assignment_epoch
        target = ", ".join(f"{partition} to {owner}" for partition, owner in enumerate(step.state.assigned_to))
        computed = f"; target: partition {target} (member ids)" if assigns else ""
        return f"the coordinator answers {client}{computed}"
    does = "refuses" if step.action.name == "refuse" else "lets go of"
    return f"the coordinator {does} {client}"


def _names(numbers: int, what: str) -> str:
    return f"{what}s {ids(in_set(numbers))}" if numbers else f"no {what}"
