"""State of a transactional id: its clients, its coordinators, the log of ``__transaction_state`` that they write.

Clients, brokers and partitions count from 0. Every broker has a replica of the log: what is committed is on all of
them, what is not on its coordinator's alone. A message and a record of the log are whole numbers of several places.

The epoch before the present one is left out: it follows from the state of the transaction.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.models.coordinators.packed_values import Places
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_EPOCH
from kreplica.engine.rules.transactions.transaction_states import TransactionState

READY, ASKED, HAS_ID, BEGUN, STOPPED = range(5)
"""States of a client: it knows no producer id, waits for one, has one, adds partitions, was fenced."""

NO_ID = 0
NOBODY = -1


class CoordinatorBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        clients: Producers with one transactional id.
        replicas: Brokers, each with a replica of the log.
        partitions: Partitions that each producer adds to its transaction.
        faults: Elections of another coordinator.
    """

    clients: int
    replicas: int
    partitions: int
    faults: int


class Record(NamedTuple):
    """Record of ``__transaction_state``: the state that a transition leads to, and whose answer waits for it.

    Args:
        state: Of the transaction.
        client: The client that is answered once the record is committed, NOBODY if none is.
        broker: The coordinator that answers it, NOBODY without a client.
        producer_id, epoch: Of the transactional id from then on.
        partitions: In the transaction, as a set.
    """

    state: int
    client: int
    broker: int
    producer_id: int
    epoch: int
    partitions: int


class Message(NamedTuple):
    """Request or answer of a client, which has one under way at most.

    Args:
        kind: See below.
        broker: The one it is sent to, or comes from.
        error: Of an answer.
        producer_id, epoch: That a request or an answer names; NO_ID, NO_PRODUCER_EPOCH if it names none.
        partitions: Those to add, or in the transaction, as a set.
    """

    kind: int
    broker: int
    error: int = 0
    producer_id: int = NO_ID
    epoch: int = NO_PRODUCER_EPOCH
    partitions: int = 0


ASK_ID, GIVE_ID, ADD, ADDED = range(1, 5)
"""Kinds of messages: InitProducerId and AddPartitionsToTxn, each with its answer."""

_PLACES = Places(bits=8)


def number_of(value: Record | Message) -> int:
    """The whole number of a record or message, above 0."""
    return _PLACES.number_of(value)


@lru_cache(maxsize=4096)
def record_of(number: int) -> Record:
    """The record that a number above 0 is."""
    return Record(*_PLACES.values_of(number, len(Record._fields)))


@lru_cache(maxsize=4096)
def message_of(number: int) -> Message:
    """The message that a number above 0 is."""
    return Message(*_PLACES.values_of(number, len(Message._fields)))


class CoordinatorState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        doing: What each client is doing.
        asks: The broker that each client asks to add partitions, NOBODY before it has an id.
        producer_id, epoch: What each client was given, NO_ID and NO_PRODUCER_EPOCH before.
        told: The last error that each client was told.
        adding: Partitions that each client has asked for and not heard of, as a set.
        added: Partitions that each client has added, as a set.
        message: The message of each client that is under way, 0 if none is.
        leader: The broker that each broker takes for the coordinator.
        coordinator_epoch: The epoch of that, as each broker knows it.
        known_id: What each coordinator knows of the transactional id: its producer id, NO_ID if it knows nothing.
        known_epoch, known_state, known_partitions: The same.
        committed: The records that are committed, 0 behind the end.
        tail: For each broker the records that it alone has.
        true_leader, true_epoch: What the controller has decided.
        last_id: The last producer id that was given out.
        faults: Elections that are left.
    """

    doing: list[int]
    asks: list[int]
    producer_id: list[int]
    epoch: list[int]
    told: list[int]
    adding: list[int]
    added: list[int]
    message: list[int]
    leader: list[int]
    coordinator_epoch: list[int]
    known_id: list[int]
    known_epoch: list[int]
    known_state: list[int]
    known_partitions: list[int]
    committed: list[int]
    tail: list[int]
    true_leader: list[int]
    true_epoch: list[int]
    last_id: list[int]
    faults: list[int]


def tail_room(clients: int) -> int:
    """Records that a coordinator alone has at most: one that each client waits for, and the end of a transaction."""
    return clients + 1


def layout(bounds: CoordinatorBounds) -> Layout:
    """The fields of a state within bounds."""
    clients, brokers, some = bounds.clients, bounds.replicas, everybody(bounds.partitions)
    ids = clients * (bounds.faults + 1)
    epochs = clients * (2 + bounds.partitions)
    record = _PLACES.most(len(Record._fields))
    a_broker, an_epoch = brokers - 1, Field(epochs, NO_PRODUCER_EPOCH, clients)
    return Layout(
        CoordinatorState,
        {
            "doing": Field(STOPPED, count=clients),
            "asks": Field(a_broker, NOBODY, clients),
            "producer_id": Field(ids, count=clients),
            "epoch": an_epoch,
            "told": Field(max(ErrorCode), min(ErrorCode), clients),
            "adding": Field(some, count=clients),
            "added": Field(some, count=clients),
            "message": Field(_PLACES.most(len(Message._fields)), count=clients),
            "leader": Field(a_broker, NO_LEADER, brokers),
            "coordinator_epoch": Field(bounds.faults, count=brokers),
            "known_id": Field(ids, count=brokers),
            "known_epoch": Field(epochs, NO_PRODUCER_EPOCH, brokers),
            "known_state": Field(max(TransactionState), count=brokers),
            "known_partitions": Field(some, count=brokers),
            "committed": Field(record, count=clients * (3 + bounds.partitions)),
            "tail": Field(record, count=brokers * tail_room(clients)),
            "true_leader": Field(a_broker),
            "true_epoch": Field(bounds.faults),
            "last_id": Field(ids),
            "faults": Field(bounds.faults),
        },
    )


def initial(bounds: CoordinatorBounds) -> CoordinatorState:
    """The first broker coordinates; nobody has asked yet."""
    clients, brokers = bounds.clients, bounds.replicas
    fields = layout(bounds).fields
    return CoordinatorState(
        doing=[READY] * clients,
        asks=[NOBODY] * clients,
        producer_id=[NO_ID] * clients,
        epoch=[NO_PRODUCER_EPOCH] * clients,
        told=[ErrorCode.NONE] * clients,
        adding=[0] * clients,
        added=[0] * clients,
        message=[0] * clients,
        leader=[0] * brokers,
        coordinator_epoch=[0] * brokers,
        known_id=[NO_ID] * brokers,
        known_epoch=[NO_PRODUCER_EPOCH] * brokers,
        known_state=[0] * brokers,
        known_partitions=[0] * brokers,
        committed=[0] * fields["committed"].count,
        tail=[0] * fields["tail"].count,
        true_leader=[0],
        true_epoch=[0],
        last_id=[0],
        faults=[bounds.faults],
    )


def committed(state: CoordinatorState) -> list[Record]:
    """The committed records."""
    return [record_of(number) for number in state.committed if number]


def tail(state: CoordinatorState, broker: int) -> list[Record]:
    """The records that a broker alone has."""
    room = tail_room(len(state.doing))
    return [record_of(number) for number in state.tail[broker * room : (broker + 1) * room] if number]


def put_committed(state: CoordinatorState, records: list[Record]) -> None:
    """Sets the committed records."""
    assert len(records) <= len(state.committed), records
    state.committed[: len(records)] = [number_of(record) for record in records]


def put_tail(state: CoordinatorState, broker: int, records: list[Record]) -> None:
    """Sets the records that a broker alone has."""
    room = tail_room(len(state.doing))
    assert len(records) <= room, records
    numbers = [number_of(record) for record in records] + [0] * (room - len(records))
    state.tail[broker * room : (broker + 1) * room] = numbers


def coordinates(state: CoordinatorState, broker: int) -> bool:
    """True if a broker takes itself for the coordinator."""
    return state.leader[broker] == broker


def forget(state: CoordinatorState, broker: int) -> None:
    """Makes a broker forget the transactional id."""
    state.known_id[broker] = NO_ID
    state.known_epoch[broker] = NO_PRODUCER_EPOCH
    state.known_state[broker] = state.known_partitions[broker] = 0
