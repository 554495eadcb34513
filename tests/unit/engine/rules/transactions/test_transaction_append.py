"""The verification before a transactional append (KIP-890): as VerificationStateEntry and UnifiedLog have it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import EMPTY_STATE, UnknownProducer, after_data, after_marker
from kreplica.engine.rules.transactions.transaction_append import (
    NO_GUARD,
    Verification,
    marker_error,
    plain_write_error,
    start_verification,
    transaction_open,
    transactional_sequence_error,
    verification_answer,
    verification_error,
)

ACCEPT = UnknownProducer.ACCEPT


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1))
def test_the_lowest_sequence_of_the_highest_epoch_that_waits(asked: list[tuple[int, int]]) -> None:
    verification = None
    highest, waiting = asked[0][0], [asked[0][1]]
    for guard, (epoch, sequence) in enumerate(asked, start=1):
        verification = start_verification(verification, guard, sequence, epoch, False)
        if epoch > highest:
            highest, waiting = epoch, []
        if epoch == highest:
            waiting.append(sequence)
        assert (verification.epoch, verification.lowest_sequence) == (highest, min(waiting))
        assert verification.guard == 1


def test_only_the_answer_to_the_same_question_counts() -> None:
    waiting = Verification(guard=2, lowest_sequence=0, epoch=0)
    assert verification_error(waiting, 2) is ErrorCode.NONE
    assert verification_error(waiting, 1) is ErrorCode.INVALID_TXN_STATE  # an older question (ABA)
    assert verification_error(waiting, NO_GUARD) is ErrorCode.INVALID_TXN_STATE
    assert verification_error(None, 2) is ErrorCode.INVALID_TXN_STATE  # a marker has removed it
    assert verification_error(None, NO_GUARD) is ErrorCode.INVALID_TXN_STATE
    assert verification_error(Verification(NO_GUARD, 0, 0), NO_GUARD) is ErrorCode.INVALID_TXN_STATE


def test_a_transaction_is_open_from_its_first_batch_to_its_marker() -> None:
    begun = after_data(EMPTY_STATE, 4, (0, 0, 10), True, 0)
    assert not transaction_open(EMPTY_STATE, 4, True)
    assert transaction_open(begun, 4, True)
    assert not transaction_open(begun, 5, True)  # of another epoch is another transaction, since 4.0
    assert transaction_open(begun, 5, False)
    assert not transaction_open(after_marker(begun, 4, 0, 0, True), 4, False)


@pytest.mark.parametrize(
    ("lowest", "version_2", "first", "zero_first", "expected"),
    [
        (0, False, 5, True, "OUT_OF_ORDER_SEQUENCE_NUMBER"),  # a lower one waits
        (5, False, 5, True, "NONE"),  # version 1: any sequence may come first
        (5, True, 5, True, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (5, True, 5, False, "NONE"),  # 4.0
        (0, True, 0, True, "NONE"),
    ],
)
def test_the_first_sequence_in_a_log(lowest: int, version_2: bool, first: int, zero_first: bool, expected: str) -> None:
    waiting = Verification(1, lowest, 0, version_2)
    assert transactional_sequence_error(EMPTY_STATE, waiting, 0, first, ACCEPT, zero_first).name == expected


def test_without_verification_the_sequence_alone_decides() -> None:
    known = after_data(EMPTY_STATE, 0, (0, 4, 0), False, 0)
    assert transactional_sequence_error(known, None, 0, 5, ACCEPT, True) is ErrorCode.NONE
    assert transactional_sequence_error(known, None, 0, 6, ACCEPT, True) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_only_a_log_without_batches_of_the_producer_wants_sequence_0() -> None:
    """ProducerAppendInfo.checkSequence: the sequence goes on where batches are known, verification under way or not."""
    known = after_data(EMPTY_STATE, 4, (0, 4, 10), True, 0)
    waiting = Verification(guard=1, lowest_sequence=5, epoch=4, version_2=True)
    assert transactional_sequence_error(known, waiting, 4, 5, ACCEPT, True) is ErrorCode.NONE
    unknown = transactional_sequence_error(EMPTY_STATE, waiting, 4, 5, ACCEPT, True)
    assert unknown is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_is_outside_a_transaction_has_to_wait_for_its_end() -> None:
    """ProducerAppendInfo.appendDataBatch."""
    begun = after_data(EMPTY_STATE, 4, (0, 0, 10), True, 0)
    assert plain_write_error(begun, False) is ErrorCode.INVALID_TXN_STATE
    assert plain_write_error(begun, True) is ErrorCode.NONE
    assert plain_write_error(EMPTY_STATE, False) is ErrorCode.NONE
    assert plain_write_error(after_marker(begun, 4, 0, 0, True), False) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "expected"),
    [
        (4, 2, "NONE"),
        (5, 3, "NONE"),
        (4, 1, "TRANSACTION_COORDINATOR_FENCED"),
        (3, 2, "INVALID_PRODUCER_EPOCH"),
        (3, 1, "INVALID_PRODUCER_EPOCH"),
    ],
)
def test_markers_of_older_coordinators_and_producers(epoch: int, coordinator_epoch: int, expected: str) -> None:
    """ProducerAppendInfo.appendEndTxnMarker looks at the producer's epoch first."""
    state = after_marker(after_data(EMPTY_STATE, 4, (0, 0, 10), True, 0), 4, 2, 0, True)
    assert marker_error(state, epoch, coordinator_epoch, False).name == expected
    assert marker_error(state, epoch, coordinator_epoch, True).name == expected, "none is open: it may come again"


@pytest.mark.parametrize(
    ("begun", "epoch", "since_0_11", "since_4_2"),
    [
        (4, 5, "NONE", "NONE"),
        (4, 4, "NONE", "INVALID_PRODUCER_EPOCH"),
        (4, 3, "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"),
        (32_766, 32_766, "NONE", "INVALID_PRODUCER_EPOCH"),
        (32_767, 32_767, "NONE", "NONE"),
    ],
)
def test_a_marker_of_the_epoch_of_an_open_transaction(begun: int, epoch: int, since_0_11: str, since_4_2: str) -> None:
    """ProducerAppendInfo.checkProducerEpoch of 4.3.1: with version 2 it has to be above, but for Short.MAX_VALUE."""
    state = after_data(EMPTY_STATE, begun, (0, 0, 10), True, 0)
    assert marker_error(state, epoch, 0, False).name == since_0_11
    assert marker_error(state, epoch, 0, True).name == since_4_2


@pytest.mark.parametrize(
    ("error", "version_1", "version_2"),
    [
        ("CONCURRENT_TRANSACTIONS", "NOT_ENOUGH_REPLICAS", "CONCURRENT_TRANSACTIONS"),
        ("NOT_COORDINATOR", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"),
        ("COORDINATOR_NOT_AVAILABLE", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"),
        ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"),
        ("NETWORK_EXCEPTION", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"),
        ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"),
        ("INVALID_TXN_STATE", "INVALID_TXN_STATE", "INVALID_TXN_STATE"),
        ("TRANSACTION_ABORTABLE", "TRANSACTION_ABORTABLE", "TRANSACTION_ABORTABLE"),
    ],
)
def test_what_a_producer_hears_of_the_coordinators_answer(error: str, version_1: str, version_2: str) -> None:
    """ReplicaManager.handleProduceAppend and AddPartitionsToTxnManager."""
    assert verification_answer(ErrorCode[error], False).name == version_1
    assert verification_answer(ErrorCode[error], True).name == version_2
