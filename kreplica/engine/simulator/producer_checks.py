"""What a leader looks at before it appends a producer's batch or a transaction's marker.

kafka.log.UnifiedLog.analyzeAndValidateProducerState.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kreplica.engine.records import DATA, Record
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.rules.producer_state import (
    NO_OFFSET,
    NO_SEQUENCE,
    ProducerState,
    duplicate_offset,
    producer_epoch_error,
)
from kreplica.engine.rules.transaction_append import (
    marker_error,
    plain_write_error,
    transaction_open,
    transactional_sequence_error,
    verification_error,
)
from kreplica.engine.trace import Kind

if TYPE_CHECKING:
    from kreplica.engine.simulator.replica import Replica


def check_producer(replica: Replica, records: Sequence[Record], guard: int) -> tuple[ErrorCode, int]:
    """What is wrong with a batch, and where it stands already if it does (NO_OFFSET otherwise).

    Args:
        replica: The leader's.
        records: One batch of a producer with an id, or a marker.
        guard: Of the verification.
    """
    first = records[0]
    state = replica.producers.state(first.producer_id)
    if first.kind == DATA and first.sequence != NO_SEQUENCE:
        offset = duplicate_offset(
            state.epoch, state.batches, first.producer_epoch, first.sequence, records[-1].sequence
        )
        if offset != NO_OFFSET:
            replica.broker.emit(Kind.DUPLICATE, replica.partition, first.producer_id, first.sequence, offset)
            return ErrorCode.NONE, offset
    error, rule = _error(replica, state, first, guard)
    if error:
        broker, partition = replica.broker, replica.partition
        broker.emit(Kind.APPEND_REFUSED, partition, first.producer_id, first.sequence, error.name, rule)
    return error, NO_OFFSET


def asks_coordinator(replica: Replica, record: Record) -> bool:
    """Whether a leader asks the coordinator before it appends: for the first batch of a transaction on its partition.

    With transaction version 2 it does so in any case: that is how the partition gets into the transaction.
    ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
    """
    version_2 = replica.broker.simulation.version.transaction_version >= 2
    return (version_2 or _verifies(replica)) and _begins_here(replica, record)


def _verifies(replica: Replica) -> bool:
    simulation = replica.broker.simulation
    return simulation.version.verify_transactions and simulation.boolean("transaction.partition.verification.enable")


def _begins_here(replica: Replica, record: Record) -> bool:
    version_2 = replica.broker.simulation.version.transaction_version >= 2
    state = replica.producers.state(record.producer_id)
    return record.transactional and not transaction_open(state, record.producer_epoch, version_2)


def _error(replica: Replica, state: ProducerState, record: Record, guard: int) -> tuple[ErrorCode, str]:
    if record.kind != DATA:
        strict = replica.broker.simulation.version.strict_markers
        return marker_error(state, record.producer_epoch, int(record.value), strict), "transaction_append.marker_error"
    by_client = record.sequence != NO_SEQUENCE  # a group coordinator's writes have no sequence
    if by_client and _verifies(replica) and _begins_here(replica, record):
        error = verification_error(replica.producers.verifications.get(record.producer_id), guard)
        if error:
            return error, "transaction_append.verification_error"
    error = producer_epoch_error(state.epoch, record.producer_epoch)
    if error:
        return error, "producer_state.producer_epoch_error"
    if by_client:
        error = _sequence_error(replica, state, record)
        if error:
            return error, "transaction_append.transactional_sequence_error"
    return plain_write_error(state, record.transactional), "transaction_append.plain_write_error"


def _sequence_error(replica: Replica, state: ProducerState, record: Record) -> ErrorCode:
    version = replica.broker.simulation.version
    return transactional_sequence_error(
        state,
        replica.producers.verifications.get(record.producer_id),
        record.producer_epoch,
        record.sequence,
        version.unknown_producer,
        version.zero_sequence_first,
    )
