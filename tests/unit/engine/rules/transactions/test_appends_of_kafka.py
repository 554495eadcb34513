"""Batches and markers of transactions: equal to what ProducerAppendInfo of several releases answers in random cases."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.producer_state import NO_OFFSET, ProducerState, producer_epoch_error
from kreplica.engine.rules.transactions.transaction_append import (
    Verification,
    marker_error,
    transactional_sequence_error,
)
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

GUARD = 1


def answered(version: Version, line: str) -> ErrorCode:
    """The engine's answer to a batch or a marker of a line."""
    known, asked, _ = line.split(" | ")
    kind, epoch, last, is_open = known.split()
    batches = ((int(last), int(last), 9),) if last != "-1" else ()
    state = ProducerState(int(epoch), batches, 0, 5 if is_open == "true" else NO_OFFSET)
    if kind == "marker":
        sent, transaction = map(int, asked.split())
        return marker_error(state, sent, 0, version.strict_markers and transaction == 2)
    waits, sent, first = asked.split()
    lowest, _, transaction = waits.partition(":")
    verification = None if waits == "-" else Verification(GUARD, int(lowest), int(sent), transaction == "2")
    return producer_epoch_error(state.epoch, int(sent)) or transactional_sequence_error(
        state, verification, int(sent), int(first), version.unknown_producer, version.zero_sequence_first
    )


@pytest.mark.parametrize(("release", "lines"), answers("transaction-appends.txt"))
def test_a_leader_answers_as_kafkas_does(release: str, lines: list[str]) -> None:
    """ProducerAppendInfo.appendDataBatch and appendEndTxnMarker."""
    version, seen = version_named(release), set()
    for line in lines:
        expected = line.rpartition(" | ")[2]
        assert answered(version, line).name == expected, line
        seen.add((line.split()[0], expected))
    assert {kind for kind, _ in seen} == {"batch", "marker"}
    assert len({answer for _, answer in seen}) >= 3
