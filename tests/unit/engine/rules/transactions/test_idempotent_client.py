"""Decisions of an idempotent client: the cases of ProducerConfig and TransactionManager.canRetry, by version."""

from __future__ import annotations

import pytest

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.idempotent_client import (
    Reaction,
    idempotence_contradiction,
    is_idempotent,
    reaction_to_expiry,
    reaction_to_failure,
    reaction_to_sequence_error,
)

OUT_OF_ORDER, UNKNOWN = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID


@pytest.mark.parametrize(
    ("asked", "default", "acks", "retries", "in_flight", "expected"),
    [
        (None, True, -1, 5, 5, True),
        (None, True, 1, 5, 5, False),  # KAFKA-13598: acks=1 switches the default off without a word
        (None, True, -1, 0, 5, False),
        (None, True, -1, 1, 5, True),
        (None, True, -1, 5, 6, False),
        (None, False, -1, 5, 5, False),
        (False, True, -1, 5, 5, False),
        (True, False, 1, 5, 5, True),  # and is then refused by what contradicts it
    ],
)
def test_whether_a_producer_is_idempotent(
    asked: bool | None, default: bool, acks: int, retries: int, in_flight: int, expected: bool
) -> None:
    assert is_idempotent(asked, default, acks, retries, in_flight) is expected


def test_what_does_not_go_with_it() -> None:
    assert idempotence_contradiction(1, 5, 5, 5) == "acks"
    assert idempotence_contradiction(-1, 0, 5, 5) == "retries"
    assert idempotence_contradiction(-1, 5, 6, 5) == "max.in.flight.requests.per.connection"
    assert idempotence_contradiction(-1, 5, 2, 1) == "max.in.flight.requests.per.connection"  # 0.11
    assert idempotence_contradiction(-1, 1, 5, 5) == ""


@pytest.mark.parametrize(
    ("error", "transactional", "is_next", "unresolved", "next_unresolved", "deleted", "may_raise", "expected"),
    [
        (OUT_OF_ORDER, False, False, False, False, False, True, Reaction.RETRY),  # one before it is under way
        (OUT_OF_ORDER, True, False, False, False, False, True, Reaction.RETRY),
        (OUT_OF_ORDER, False, True, False, False, False, True, Reaction.RAISE_EPOCH),  # a gap in the log
        (OUT_OF_ORDER, False, True, False, False, False, False, Reaction.NEW_ID),
        (OUT_OF_ORDER, True, True, False, False, False, True, Reaction.FAIL),
        (OUT_OF_ORDER, False, False, True, False, False, True, Reaction.RETRY),
        (OUT_OF_ORDER, False, False, True, True, False, True, Reaction.RAISE_EPOCH),
        (UNKNOWN, False, False, False, False, False, True, Reaction.RAISE_EPOCH),
        (UNKNOWN, False, False, False, False, True, False, Reaction.RESTART),
        (UNKNOWN, False, False, False, False, False, False, Reaction.NEW_ID),
        (UNKNOWN, True, False, False, False, True, True, Reaction.RESTART),
        (UNKNOWN, True, False, False, False, False, True, Reaction.FAIL),
    ],
)
def test_what_becomes_of_a_refused_batch(
    error: ErrorCode,
    transactional: bool,
    is_next: bool,
    unresolved: bool,
    next_unresolved: bool,
    deleted: bool,
    may_raise: bool,
    expected: Reaction,
) -> None:
    facts = (transactional, is_next, unresolved, next_unresolved, deleted, may_raise)
    assert reaction_to_sequence_error(error, *facts) is expected


def test_what_follows_a_batch_that_was_given_up() -> None:
    assert reaction_to_expiry(False, True) is Reaction.RETRY
    assert reaction_to_expiry(False, False) is Reaction.RAISE_EPOCH
    assert reaction_to_expiry(True, False) is Reaction.FAIL


@pytest.mark.parametrize("error", [OUT_OF_ORDER, UNKNOWN])
@pytest.mark.parametrize("transactional", [False, True])
def test_an_answer_about_sequences_that_a_batch_no_longer_has_says_nothing(
    error: ErrorCode, transactional: bool
) -> None:
    """TransactionManager.canRetry: ``batch.sequenceHasBeenReset()``."""
    facts = (transactional, True, False, False, False, True)
    assert reaction_to_sequence_error(error, *facts, renumbered=True) is Reaction.RETRY
    assert reaction_to_sequence_error(error, *facts) is not Reaction.RETRY


def test_an_answer_about_former_sequences_counts_while_a_batch_before_is_unresolved() -> None:
    facts = (False, False, True, True, False, True)
    assert reaction_to_sequence_error(OUT_OF_ORDER, *facts, renumbered=True) is Reaction.RAISE_EPOCH


@pytest.mark.parametrize(
    ("error", "transactional", "exhausted", "may_raise", "expected"),
    [  # TransactionManager.handleFailedBatch of 4.x, and of 2.4 where the epoch may not be raised
        (OUT_OF_ORDER, False, False, True, Reaction.RAISE_EPOCH),
        (OUT_OF_ORDER, False, True, True, Reaction.RAISE_EPOCH),
        (OUT_OF_ORDER, False, True, False, Reaction.NEW_ID),
        (UNKNOWN, False, False, False, Reaction.NEW_ID),
        (OUT_OF_ORDER, True, False, True, Reaction.SHIFT),
        (OUT_OF_ORDER, True, True, True, Reaction.NOTHING),
        (ErrorCode.INVALID_PRODUCER_EPOCH, False, False, True, Reaction.RAISE_EPOCH),
        (ErrorCode.INVALID_PRODUCER_EPOCH, False, False, False, Reaction.SHIFT),
        (ErrorCode.NOT_ENOUGH_REPLICAS, False, True, True, Reaction.NOTHING),  # it may be in the log
        (ErrorCode.INVALID_TXN_STATE, True, False, True, Reaction.SHIFT),
    ],
)
def test_what_follows_for_the_batches_behind_one_that_failed(
    error: ErrorCode, transactional: bool, exhausted: bool, may_raise: bool, expected: Reaction
) -> None:
    assert reaction_to_failure(error, transactional, exhausted, may_raise) is expected
