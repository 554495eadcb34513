"""Answers of the transaction coordinators of 4.2.0 and 4.3.1 to EndTxn and InitProducerId, and those of the rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from releases.kafka_classes import answers

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.end_transaction import (
    complete_transaction,
    end_transaction,
    end_transaction_version_2,
)
from kreplica.engine.rules.transactions.init_producer_id import init_producer_id
from kreplica.engine.rules.transactions.transaction_states import (
    Decision,
    TransactionMetadata,
    TransactionState,
    accepted,
    preparing,
)
from kreplica.engine.versions.supported import version_named

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-classes"
PRODUCER, FRESH, START, BEFORE, NOW = 10, 99, 400, 700, 1000


def before(text: str) -> TransactionMetadata:
    state, pending, *numbers = text.split()
    previous, following, epoch, last, version = map(int, numbers)
    return TransactionMetadata(
        PRODUCER,
        60_000,
        previous,
        following,
        epoch,
        last,
        TransactionState(int(state)),
        () if state == "0" else ("t-0",),
        START,
        BEFORE,
        version,
        None if pending == "-" else TransactionState(int(pending)),
    )


def decided(metadata: TransactionMetadata, asked: str, fence_rotates: bool) -> Decision:
    version, sender, outcome, producer_id, epoch = asked.split()
    request = (int(producer_id), int(epoch), outcome == "commit", sender == "client")
    if version == "1":
        return end_transaction(metadata, *request, NOW)
    return end_transaction_version_2(metadata, *request, FRESH, True, fence_rotates, NOW)


def said(decision: Decision) -> str:
    one = decision.target
    if one is None:
        return decision.error.name
    ids = (one.producer_id, one.next_producer_id, one.producer_epoch, one.last_producer_epoch)
    facts = (int(one.state), *ids, one.start, one.last_update, one.client_version, len(one.partitions))
    return " ".join(map(str, facts))


def test_ends_are_those_of_kafkas_transaction_coordinator() -> None:
    agrees("ends.txt", decided)


def begun(metadata: TransactionMetadata, asked: str, fence_rotates: bool) -> Decision:
    """What is written at once: where a transaction is open the end of it, by the raised epoch."""
    version, producer_id, epoch = asked.split()
    expected = None if epoch == "-" else (int(producer_id), int(epoch))
    decision = init_producer_id(metadata, expected, 50_000, FRESH, NOW)
    fence = decision.target
    if fence is None or fence.state is not TransactionState.PREPARE_EPOCH_FENCE:
        return decision
    end = f"{version} coordinator abort {fence.producer_id} {fence.producer_epoch}"
    return decided(preparing(metadata, fence), end, fence_rotates)


def test_producer_ids_are_those_of_kafkas_transaction_coordinator() -> None:
    agrees("inits.txt", begun)


def test_completed_transactions_are_those_of_kafkas_transaction_metadata() -> None:
    """TransactionMetadata.prepareComplete; the producer id before counts with version 2 alone."""
    lines = [line.split(" | ") for line in (GOLDEN / "completes.txt").read_text().splitlines()]
    assert len(lines) == 100
    for state, previous, expected in lines:
        held = before(state)
        done = complete_transaction(held, NOW)
        assert said(accepted(done)) == expected, state
        assert held.client_version < 2 or done.previous_producer_id == int(previous), state


def agrees(file: str, decide: Callable[[TransactionMetadata, str, bool], Decision]) -> None:
    for release, lines in answers(file):
        rotates, done = version_named(release).fence_rotates, 0
        for state, asked, expected in (line.split(" | ") for line in lines):
            assert said(decide(before(state), asked, rotates)) == expected, f"{release} {state} | {asked}"
            done += len(expected.split()) > 1
        assert done > 50, "enough of them are decided"


def test_a_transactional_id_that_nobody_knows() -> None:
    """TransactionCoordinator.endTransaction: the state is None."""
    unknown = Decision(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    assert end_transaction(None, PRODUCER, 0, True, True, NOW) == unknown
    assert end_transaction_version_2(None, PRODUCER, 0, True, True, FRESH, True, True, NOW) == unknown
