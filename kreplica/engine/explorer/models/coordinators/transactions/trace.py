"""States and actions of the models of the transaction coordinator for people: the log of ``__transaction_state``.

The epoch beside a record is the one of the producer that it names.
"""

from __future__ import annotations

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.coordinators.transactions.state import (
    ADDED,
    GIVE_ID,
    CoordinatorState,
    committed,
    message_of,
    number_of,
    tail,
)
from kreplica.engine.explorer.models.one_partition.state import PartitionState
from kreplica.engine.explorer.models.one_partition.trace import broker_of
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody
from kreplica.engine.rules.transactions.transaction_states import TransactionState


def seen(state: CoordinatorState) -> PartitionState:
    """A state as that of a partition: every broker has a replica of the log, all in sync."""
    brokers, done = len(state.leader), committed(state)
    logs = [[*done, *tail(state, broker)] for broker in range(brokers)]
    room = max(1, *map(len, logs))
    names = list(dict.fromkeys(number_of(record) for log in logs for record in log))
    epochs = 1 + max([record.epoch for log in logs for record in log], default=0)
    records = [1 + names.index(number_of(record)) * epochs + record.epoch for log in logs for record in log]
    ends = [sum(map(len, logs[: broker + 1])) for broker in range(brokers)]
    return PartitionState(
        records=[
            number
            for end, log in zip(ends, logs, strict=True)
            for number in [*records[end - len(log) : end], *[0] * (room - len(log))]
        ],
        high_watermark=[len(done)] * brokers,
        epoch=list(state.coordinator_epoch),
        leader=list(state.leader),
        isr=[everybody(brokers)] * brokers,
        written=[len(names)],
        begun=[state.true_epoch[0] + 1],
        true_leader=[state.true_leader[0]],
        true_isr=[everybody(brokers)],
        sent_leader=[NO_LEADER] * epochs,
        sent_isr=[0] * epochs,
    )


def told(before: CoordinatorState, step: Taken) -> str:
    """An action in words.

    Args:
        before: The state in which it is taken.
        step: The action.
    """
    who, name = step.chosen[0], step.action.name
    if name in ("take-ask", "take-add"):
        asked = (
            f"broker {broker_of(message_of(before.message[who]).broker)} takes the request of client {broker_of(who)}"
        )
        return f"{asked}: {_decision(step.state, who, message_of(before.message[who]).broker)}"
    if name in ("hear", "hear-added"):
        answer = message_of(before.message[who])
        error = ErrorCode(answer.error).name if answer.error else _given(answer.kind, answer.producer_id, answer.epoch)
        return f"client {broker_of(who)} hears: {error}"
    if name == "commit":
        record = tail(before, who)[0]
        return f"broker {broker_of(who)} has {_words(record.state, record.producer_id, record.epoch)} committed"
    return step.action.words(step.chosen)


def _decision(after: CoordinatorState, client: int, broker: int) -> str:
    if after.message[client]:
        return ErrorCode(message_of(after.message[client]).error).name
    record = tail(after, broker)[-1]
    return f"writes {_words(record.state, record.producer_id, record.epoch)}"


def _words(state: int, producer_id: int, epoch: int) -> str:
    return f"{TransactionState(state).name.lower()} {producer_id}/{epoch}"


def _given(kind: int, producer_id: int, epoch: int) -> str:
    assert kind in (GIVE_ID, ADDED)
    return f"producer id {producer_id}, epoch {epoch}" if kind == GIVE_ID else "the partition is added"
