"""Answers of a leader to the batches of an idempotent producer: equal to Kafka's own class, release by release."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import (
    EMPTY_STATE,
    NO_OFFSET,
    ProducerState,
    after_data,
    after_marker,
    duplicate_offset,
    last_sequence,
    producer_epoch_error,
    sequence_after,
    sequence_error,
)
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

RELEASES = answers("producer-states.txt")
ERRORS = {
    ErrorCode.INVALID_PRODUCER_EPOCH: ("ProducerFencedException", "InvalidProducerEpochException"),
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: ("OutOfOrderSequenceException",),
    ErrorCode.UNKNOWN_PRODUCER_ID: ("UnknownProducerIdException",),
}
"""Kafka's exceptions by error; up to 2.6 a zombie is told that it is fenced."""


def taken(version: Version, state: ProducerState, batch: list[int]) -> tuple[str | ErrorCode, ProducerState]:
    """What a leader makes of a batch: ok, the offset of the same one, or an error; and the state after it."""
    epoch, first, count, offset = batch
    last = sequence_after(first, count - 1)
    same = duplicate_offset(state.epoch, state.batches, epoch, first, last)
    if same != NO_OFFSET:
        return str(same), state
    error = producer_epoch_error(state.epoch, epoch)
    error = error or sequence_error(state.epoch, last_sequence(state), epoch, first, version.unknown_producer)
    if error:
        return error, state
    return "ok", after_data(state, epoch, (first, last, offset), False, 0, version.cached_batches)


@pytest.mark.parametrize(("release", "lines"), RELEASES, ids=[release for release, _ in RELEASES])
def test_batches_are_taken_refused_or_known_as_kafkas_producer_state_has_it(release: str, lines: list[str]) -> None:
    """ProducerStateManager, ProducerStateEntry.findDuplicateBatch, ProducerAppendInfo; KAFKA-7298, KIP-360."""
    version, seen = version_named(release), set[str]()
    for line in lines:
        state, end = EMPTY_STATE, 0
        for word in line.split():
            *told, expected = word.split(":")
            if told[0] == "marker":
                takes_place_at = end if version.cached_batches == 1 else NO_OFFSET
                state = after_marker(state, int(told[1]), 0, 0, version.markers_keep_producer, takes_place_at)
                end += 1
                continue
            found, state = taken(version, state, list(map(int, told)))
            end = int(told[3]) + int(told[2]) if found == "ok" else end
            assert expected in (ERRORS[found] if isinstance(found, ErrorCode) else (found,)), (word, line)
            seen.add(expected)
    assert len(lines) == 60
    assert {"ok", "OutOfOrderSequenceException"} < seen
    assert ("UnknownProducerIdException" in seen) is ((1,) <= version.number < (2, 5))


def test_what_is_unknown_differs_between_2_0_0_and_2_0_1_and_is_taken_since_2_5() -> None:
    """Up to 0.11 it is out of order."""
    told = {release: [word for line in lines for word in line.split()] for release, lines in RELEASES}
    count = {release: sum(word.endswith("UnknownProducerIdException") for word in told[release]) for release in told}
    assert count["1.1.1"] == count["2.0.0"] < count["2.0.1"]
    assert count["2.7.0"] == count["0.11.0.3"] == 0
