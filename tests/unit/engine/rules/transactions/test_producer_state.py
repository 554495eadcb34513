"""State that a replica keeps of a producer: beside ProducerStateEntry restated, and the cases of idempotence."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from plain.transactions import ProducerEntry, said

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import (
    EMPTY_STATE,
    MAX_SEQUENCE,
    NO_OFFSET,
    ProducerState,
    UnknownProducer,
    after_data,
    after_marker,
    duplicate_offset,
    in_sequence,
    last_sequence,
    only_last_batch,
    producer_epoch_error,
    producer_expired,
    sequence_after,
    sequence_error,
)
from kreplica.engine.rules.transactions.transaction_append import marker_error, plain_write_error

ACCEPT = UnknownProducer.ACCEPT

EPOCHS = st.sampled_from([1, 1, 1, 1, 0, 2])
PLACES = st.sampled_from([0, 0, 0, 0, 1, -1, -2, -6, 2])
"""First sequence of a batch: at the following sequence, too far, again, or (2) at 0."""
DATA = st.tuples(st.just("data"), EPOCHS, PLACES, st.integers(1, 3), st.booleans())
MARKER = st.tuples(st.just("marker"), EPOCHS, st.integers(0, 2))


def data_error(state: ProducerState, epoch: int, first: int, transactional: bool) -> ErrorCode:
    """The checks in Kafka's order."""
    errors = (
        producer_epoch_error(state.epoch, epoch),
        sequence_error(state.epoch, last_sequence(state), epoch, first, ACCEPT),
        plain_write_error(state, transactional),
    )
    return next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)


@examples(2)
@given(
    st.sampled_from([1, 5]),
    st.sampled_from([0, MAX_SEQUENCE - 2]),
    st.booleans(),
    st.lists(st.one_of(DATA, DATA, DATA, MARKER), min_size=6, max_size=25),
)
def test_appends_beside_kafkas(retained: int, start: int, strict: bool, steps: list[tuple]) -> None:  # type: ignore[type-arg]
    kafka, state = ProducerEntry(retained), EMPTY_STATE
    following = start
    for offset, step in enumerate(steps):
        epoch = step[1]
        if step[0] == "marker":
            error = said(lambda: kafka.append_marker(epoch, step[2], 2 if strict else 1))  # noqa: B023
            assert marker_error(state, epoch, step[2], strict).name == error
            state = after_marker(state, epoch, step[2], 0, True) if error == "NONE" else state
        else:
            first = 0 if step[2] == 2 else (following + step[2]) % (MAX_SEQUENCE + 1)
            last = sequence_after(first, step[3] - 1)
            known = kafka.find_duplicate(epoch, first, last)
            assert duplicate_offset(state.epoch, state.batches, epoch, first, last) == (
                NO_OFFSET if known is None else known
            )
            error = said(lambda: kafka.append_data(epoch, first, last, offset, transactional=step[4]))  # noqa: B023
            assert data_error(state, epoch, first, step[4]).name == error
            if error == "NONE":
                state = after_data(state, epoch, (first, last, offset), step[4], 0, retained)
                following = sequence_after(last, 1)
        assert [dict(zip(("first", "last", "offset"), batch, strict=True)) for batch in state.batches] == list(
            kafka.batches
        )
        assert (state.epoch, state.coordinator_epoch) == (kafka.epoch, kafka.coordinator_epoch)
        assert state.transaction_start == (NO_OFFSET if kafka.txn_first_offset is None else kafka.txn_first_offset)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=20), st.integers(0, 19))
def test_each_batch_of_the_last_five_is_known_again_and_no_older_one(sizes: list[int], back: int) -> None:
    """ProducerStateEntry.NUM_BATCHES_TO_RETAIN."""
    state, sent = EMPTY_STATE, []
    for offset, size in enumerate(sizes):
        first = sent[-1][1] + 1 if sent else 0
        sent.append((first, first + size - 1, offset))
        state = after_data(state, 0, sent[-1], False, 0)
    again = sent[max(len(sent) - 1 - back, 0)]
    age = len(sent) - 1 - sent.index(again)
    assert duplicate_offset(state.epoch, state.batches, 0, *again[:2]) == (again[2] if age < 5 else NO_OFFSET)
    late = sequence_error(state.epoch, last_sequence(state), 0, again[0], ACCEPT)
    assert late is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(
    ("sequence", "records", "after"),
    [(0, 1, 1), (MAX_SEQUENCE, 1, 0), (MAX_SEQUENCE - 1, 3, 1), (5, 0, 5)],
)
def test_a_sequence_wraps(sequence: int, records: int, after: int) -> None:
    assert sequence_after(sequence, records) == after


@pytest.mark.parametrize(
    ("last", "following", "expected"),
    [(4, 5, True), (4, 4, False), (4, 6, False), (4, 0, False), (MAX_SEQUENCE, 0, True), (MAX_SEQUENCE, 1, False)],
)
def test_which_sequence_is_next(last: int, following: int, expected: bool) -> None:
    """ProducerAppendInfo.inSequence."""
    assert in_sequence(last, following) is expected


FORGOTTEN, ONLY_MARKER = EMPTY_STATE, ProducerState(epoch=3, coordinator_epoch=0)


@pytest.mark.parametrize(
    ("version", "unknown", "forgotten", "only_marker"),
    [
        # read in the sources of the releases: kafka.log.ProducerAppendInfo
        ("0.11", UnknownProducer.OUT_OF_ORDER, "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        ("1.1", UnknownProducer.UNKNOWN, "UNKNOWN_PRODUCER_ID", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        ("2.1", UnknownProducer.UNKNOWN_OR_ONLY_MARKER, "UNKNOWN_PRODUCER_ID", "UNKNOWN_PRODUCER_ID"),
        ("2.5", UnknownProducer.ACCEPT, "NONE", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ],
)
def test_a_sequence_that_nothing_is_known_before(
    version: str, unknown: UnknownProducer, forgotten: str, only_marker: str
) -> None:
    assert sequence_error(FORGOTTEN.epoch, last_sequence(FORGOTTEN), 3, 7, unknown).name == forgotten
    assert sequence_error(ONLY_MARKER.epoch, last_sequence(ONLY_MARKER), 3, 7, unknown).name == only_marker
    assert sequence_error(FORGOTTEN.epoch, last_sequence(FORGOTTEN), 3, 0, unknown) is ErrorCode.NONE
    assert sequence_error(ONLY_MARKER.epoch, last_sequence(ONLY_MARKER), 3, 0, unknown) is ErrorCode.NONE
    assert (
        sequence_error(ONLY_MARKER.epoch, last_sequence(ONLY_MARKER), 4, 7, unknown)
        is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    known = after_data(ONLY_MARKER, 3, (0, 1, 10), False, 0)
    assert sequence_error(known.epoch, last_sequence(known), 3, 7, unknown) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert sequence_error(known.epoch, last_sequence(known), 3, 2, unknown) is ErrorCode.NONE


def test_a_snapshot_keeps_the_last_batch_alone() -> None:
    state = after_data(after_data(EMPTY_STATE, 0, (0, 1, 10), False, 0), 0, (2, 2, 12), False, 0)
    restarted = only_last_batch(state)
    assert duplicate_offset(restarted.epoch, restarted.batches, 0, 0, 1) == NO_OFFSET
    assert duplicate_offset(restarted.epoch, restarted.batches, 0, 2, 2) == 12


def test_expiry_spares_open_transactions() -> None:
    idle = after_data(EMPTY_STATE, 0, (0, 0, 0), False, 100)
    open_one = after_data(EMPTY_STATE, 0, (0, 0, 0), True, 100)
    assert not producer_expired(idle.transaction_start, idle.timestamp, 100 + 59, 60)
    assert producer_expired(idle.transaction_start, idle.timestamp, 100 + 60, 60)
    assert not producer_expired(open_one.transaction_start, open_one.timestamp, 10_000, 60)


@pytest.mark.parametrize(
    ("epoch", "keeps", "expires"),
    [
        (0, True, 150 + 60),
        (1, True, 150 + 60),
        (0, False, 100 + 60),  # the batch before it counts
        (1, False, 151),  # a fencing one clears the batches: NO_TIMESTAMP, which is long ago
    ],
)
def test_from_when_on_a_producer_ages_after_a_marker(epoch: int, keeps: bool, expires: int) -> None:
    """ProducerStateEntry.lastTimestamp: of 2.4.0 that of the last batch, since 2.4.1 of the marker (KAFKA-9144)."""
    begun = after_data(EMPTY_STATE, 0, (0, 0, 0), True, 100)
    ended = after_marker(begun, epoch, 0, 150, keeps)
    assert producer_expired(ended.transaction_start, ended.timestamp, expires, 60)
    assert expires == 151 or not producer_expired(ended.transaction_start, ended.timestamp, expires - 1, 60)
    again = after_data(ended, epoch, (0 if epoch else 1, 1, 5), False, 400)
    assert not producer_expired(again.transaction_start, again.timestamp, 459, 60)
