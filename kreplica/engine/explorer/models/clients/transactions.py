"""A transactional producer whose EndTxn is delayed and sent again, under transaction version 1 and 2.

Each transaction writes one record or two, is ended by the client once it has asked for that, and its markers are
written at once. A request that is delayed may still arrive at any time, or never.
"""

from __future__ import annotations

from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.model import Action, Invariant, Model
from kreplica.engine.explorer.models.clients.bounds import ClientBounds
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.end_transaction import (
    complete_transaction,
    end_transaction,
    end_transaction_version_2,
)
from kreplica.engine.rules.transactions.transaction_states import (
    IDLE,
    Decision,
    TransactionMetadata,
    TransactionState,
)

PRODUCER_ID, FRESH_ID = 1, 2
OPEN, COMMITTED, ABORTED = 1, 2, 3
"""Fates of a record; 0 of one that is not written."""
COMMIT, ABORT = 1, 2
"""Ends that a client asks for; 0 while it has asked for none."""
A_TRANSACTION = 2
"""Records of a transaction at most."""


class TransactionsState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        current: The transaction that the client is in, from 0 on; their count once it is done.
        epoch: The producer epoch that the client has.
        asked: For each transaction the end that the client has asked for.
        waits: 1 while the client waits for the answer to an EndTxn, which has not arrived.
        fates: Two for each transaction.
        delayed: For each transaction 1 + its producer epoch if a delayed EndTxn of it may still arrive.
        known_state, known_epoch, last_epoch, client_version: The coordinator's state of the transactional id.
        faults: Delays that are left.
    """

    current: list[int]
    epoch: list[int]
    asked: list[int]
    waits: list[int]
    fates: list[int]
    delayed: list[int]
    known_state: list[int]
    known_epoch: list[int]
    last_epoch: list[int]
    client_version: list[int]
    faults: list[int]


def transactions_model(name: str, bounds: ClientBounds, version: int) -> Model:
    """A model within bounds.

    Args:
        name: Its name.
        bounds: Its bounds; records are transactions.
        version: The transaction version.
    """
    count = bounds.records
    epochs = 2 * count + 1
    layout = Layout(
        TransactionsState,
        {
            "current": Field(count),
            "epoch": Field(epochs),
            "asked": Field(ABORT, count=count),
            "waits": Field(1),
            "fates": Field(ABORTED, count=count * A_TRANSACTION),
            "delayed": Field(epochs + 1, count=count),
            "known_state": Field(max(TransactionState)),
            "known_epoch": Field(epochs),
            "last_epoch": Field(epochs, -1),
            "client_version": Field(2),
            "faults": Field(bounds.faults),
        },
    )
    begins = TransactionsState(
        [0], [0], [0] * count, [0], [0] * (count * A_TRANSACTION), [0] * count, [0], [0], [-1], [0], [bounds.faults]
    )
    return Model(name, layout, begins, _actions(count, version), INVARIANTS, compiles=False)


def _metadata(state: TransactionsState) -> TransactionMetadata:
    return TransactionMetadata(
        producer_id=PRODUCER_ID,
        timeout=1,
        producer_epoch=state.known_epoch[0],
        last_producer_epoch=state.last_epoch[0],
        state=TransactionState(state.known_state[0]),
        client_version=state.client_version[0],
    )


def _decided(metadata: TransactionMetadata, epoch: int, commit: bool, version: int) -> Decision:
    if version < 2:
        return end_transaction(metadata, PRODUCER_ID, epoch, commit, True, 0)
    return end_transaction_version_2(metadata, PRODUCER_ID, epoch, commit, True, FRESH_ID, True, True, 0)


def ends(state: TransactionsState, epoch: int, commit: bool, version: int) -> bool:
    """Has the coordinator take an EndTxn, and write its markers; False if it is refused."""
    decision = _decided(_metadata(state), epoch, commit, version)
    if decision.target is not None:
        done = complete_transaction(decision.target, 0)
        state.known_state[0], state.known_epoch[0] = int(done.state), done.producer_epoch
        state.last_epoch[0], state.client_version[0] = done.last_producer_epoch, done.client_version
        fate = COMMITTED if commit else ABORTED
        state.fates[:] = [fate if each == OPEN else each for each in state.fates]
    return decision.error is ErrorCode.NONE


def _actions(count: int, version: int) -> tuple[Action, ...]:
    def writes(state: TransactionsState, _: int) -> bool:
        current = state.current[0]
        if current == count or state.asked[current] != 0:
            return False
        places = range(current * A_TRANSACTION, (current + 1) * A_TRANSACTION)
        free = [place for place in places if state.fates[place] == 0]
        if not free or state.known_epoch[0] != state.epoch[0]:
            return False
        if TransactionState(state.known_state[0]) in IDLE:
            state.known_state[0] = int(TransactionState.ONGOING)
        state.fates[free[0]] = OPEN
        return True

    def asks(state: TransactionsState, end: int) -> bool:
        current = state.current[0]
        if current == count or state.asked[current] != 0 or state.fates[current * A_TRANSACTION] == 0:
            return False
        state.asked[current] = end + 1
        state.waits[0] = 1
        return True

    def arrives(state: TransactionsState, _: int) -> bool:
        current = state.current[0]
        if state.waits[0] == 0:
            return False
        state.waits[0] = 0
        if ends(state, state.epoch[0], state.asked[current] == COMMIT, version):
            state.epoch[0] = state.known_epoch[0]
            state.current[0] = current + 1
        else:
            state.current[0] = count  # the application gives up
        return True

    def is_delayed(state: TransactionsState, _: int) -> bool:
        if state.faults[0] == 0 or state.waits[0] == 0 or state.delayed[state.current[0]] != 0:
            return False
        state.faults[0] -= 1
        state.delayed[state.current[0]] = 1 + state.epoch[0]
        return True

    def arrives_late(state: TransactionsState, transaction: int) -> bool:
        if state.delayed[transaction] == 0:
            return False
        epoch, state.delayed[transaction] = state.delayed[transaction] - 1, 0
        ends(state, epoch, state.asked[transaction] == COMMIT, version)
        return True

    return (
        Action("write", writes, (1,), "the producer writes a record in its transaction", (1,)),
        Action("end", asks, (ABORT,), "the producer asks for the end of its transaction: {0} (1 commit)", (1,)),
        Action("arrive", arrives, (1,), "the coordinator ends the transaction, or refuses; the producer is told", (1,)),
        Action("delay", is_delayed, (1,), "the request is delayed, and sent again", (1,)),
        Action("arrive-late", arrives_late, (count,), "the delayed request of transaction {0} arrives", (1,)),
    )


def ends_as_asked(state: TransactionsState) -> bool:
    """True if no record has another fate than the end that was asked for its transaction."""
    for place, fate in enumerate(state.fates):
        if fate in (COMMITTED, ABORTED):
            asked = state.asked[place // A_TRANSACTION]
            if asked != (COMMIT if fate == COMMITTED else ABORT):
                return False
    return True


def not_half_visible(state: TransactionsState) -> bool:
    """True if the records of a transaction that are decided have one fate."""
    for transaction in range(len(state.asked)):
        fates = state.fates[transaction * A_TRANSACTION : (transaction + 1) * A_TRANSACTION]
        decided = {each for each in fates if each in (COMMITTED, ABORTED)}
        if len(decided) > 1 or (COMMITTED in decided and OPEN in fates):
            return False
    return True


INVARIANTS = (
    Invariant("ends-as-asked", ends_as_asked, "a transaction ends only as its producer has asked"),
    Invariant("not-half-visible", not_half_visible, "no transaction is visible in part"),
)
