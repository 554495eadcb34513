"""Rules of the models of the transaction coordinator: the engine's, the published ones', one guard less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.end_transaction import end_transaction, end_transaction_version_2
from kreplica.engine.rules.transactions.init_producer_id import init_producer_id
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_ID
from kreplica.engine.rules.transactions.transaction_partitions import add_partitions
from kreplica.engine.rules.transactions.transaction_states import (
    PREPARED,
    Decision,
    TransactionMetadata,
    TransactionState,
    preparing,
    refused,
)

Gives = Callable[[TransactionMetadata], Decision]
Adds = Callable[[TransactionMetadata | None, int, int, tuple[str, ...]], Decision]
Aborts = Callable[[TransactionMetadata, int, int], Decision]
Holds = Callable[[TransactionMetadata, TransactionMetadata], TransactionMetadata]


@dataclass(frozen=True, slots=True)
class CoordinatorRules:
    """The rules in which the models differ.

    Args:
        gives: The decision on an InitProducerId of a new producer.
        adds: On an AddPartitionsToTxn: metadata, producer id, its epoch, partitions.
        aborts: On the abort of an open transaction whose producer is fenced: metadata, producer id, the raised epoch.
        holds: The metadata while a target is being written.
        asks_any: Whether a client asks any broker for an id, or the coordinator.
        transacts: Whether clients add partitions.
        keeps_error: Whether a client that has an id remembers the last error.
        inherits: Whether a new coordinator knows what the old one has not written.
        goes_back: Whether a request of a known transactional id makes its producer id the last one that was given out.
        all_hear: Whether brokers hear of a new coordinator; otherwise only the old coordinator does.
        raises_epoch: Whether each coordinator has an epoch of its own.
        commits_replaced: Whether a coordinator commits that was replaced, and has not heard of it.
        version: The transaction version.
    """

    gives: Gives
    adds: Adds
    aborts: Aborts
    holds: Holds
    asks_any: bool = False
    transacts: bool = True
    keeps_error: bool = False
    inherits: bool = False
    goes_back: bool = False
    all_hear: bool = True
    raises_epoch: bool = True
    commits_replaced: bool = False
    version: int = 1


def _gives(metadata: TransactionMetadata) -> Decision:
    return init_producer_id(metadata, None, 0, NO_PRODUCER_ID, 0)


def _adds(
    metadata: TransactionMetadata | None, producer_id: int, epoch: int, partitions: tuple[str, ...], pending_first: bool
) -> Decision:
    return add_partitions(metadata, producer_id, epoch, partitions, 0, pending_first)


def _aborts(metadata: TransactionMetadata, producer_id: int, epoch: int) -> Decision:
    return end_transaction(metadata, producer_id, epoch, False, False, 0)


def _aborts_version_2(metadata: TransactionMetadata, producer_id: int, epoch: int) -> Decision:
    return end_transaction_version_2(
        metadata, producer_id, epoch, False, False, NO_PRODUCER_ID, single_rise=True, fence_rotates=True, now=0
    )


def _holds_unchanged(metadata: TransactionMetadata, target: TransactionMetadata) -> TransactionMetadata:
    """Raises an epoch only once that is written: until then a fenced producer is told to wait."""
    return replace(metadata, pending=target.state)


VERSION_1 = CoordinatorRules(_gives, partial(_adds, pending_first=False), _aborts, preparing)
"""The engine's, with transaction version 1: Kafka 3.9."""

VERSION_2 = CoordinatorRules(
    _gives,
    partial(_adds, pending_first=True),
    _aborts_version_2,
    partial(preparing, single_rise=True),
    version=2,
)
"""The engine's, with transaction version 2: Kafka 4.1."""

PUBLISHED = replace(VERSION_1, holds=_holds_unchanged, inherits=True, goes_back=True, all_hear=False)
"""The published model of ids, partitions and changes of coordinator."""

PUBLISHED_IDS = replace(PUBLISHED, asks_any=True, transacts=False, keeps_error=True)
"""The published model of ids alone."""


def gives_without_raising(metadata: TransactionMetadata) -> Decision:
    """Gives the next producer the epoch of the one before."""
    target = _gives(metadata).target
    if target is None or target.state is not TransactionState.EMPTY or metadata.producer_epoch < 0:
        return _gives(metadata)
    return Decision(ErrorCode.NONE, replace(target, producer_epoch=metadata.producer_epoch))


def gives_while_writing(metadata: TransactionMetadata) -> Decision:
    """Decides while an earlier decision is being written."""
    return _gives(replace(metadata, pending=None))


def gives_while_ending(metadata: TransactionMetadata) -> Decision:
    """Does not wait for a transaction whose end is decided: takes it for one that has ended."""
    if metadata.state not in PREPARED or metadata.pending is not None:
        return _gives(metadata)
    return _gives(replace(metadata, state=TransactionState.EMPTY))


def adds_for_anyone(
    metadata: TransactionMetadata | None, producer_id: int, _epoch: int, partitions: tuple[str, ...]
) -> Decision:
    """Takes partitions from a producer whatever its epoch is."""
    if metadata is None:
        return refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    return _adds(metadata, producer_id, metadata.producer_epoch, partitions, pending_first=False)
