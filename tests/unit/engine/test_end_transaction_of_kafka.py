"""What the transaction coordinator of Kafka 4.3.1 makes of EndTxn, and what the rules make of it."""

from __future__ import annotations

from pathlib import Path

from kreplica.engine.rules.end_transaction import end_transaction, end_transaction_version_2
from kreplica.engine.rules.transaction_states import Decision, TransactionMetadata, TransactionState

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-classes" / "ends.txt"
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


def decided(metadata: TransactionMetadata, asked: str) -> Decision:
    version, sender, outcome, producer_id, epoch = asked.split()
    request = (int(producer_id), int(epoch), outcome == "commit", sender == "client")
    if version == "1":
        return end_transaction(metadata, *request, NOW)
    return end_transaction_version_2(metadata, *request, FRESH, True, True, NOW)


def said(decision: Decision) -> str:
    one = decision.target
    if one is None:
        return decision.error.name
    ids = (one.producer_id, one.next_producer_id, one.producer_epoch, one.last_producer_epoch)
    facts = (int(one.state), *ids, one.start, one.last_update, one.client_version, len(one.partitions))
    return " ".join(map(str, facts))


def test_ends_are_those_of_kafkas_transaction_coordinator() -> None:
    lines = [line.split(" | ") for line in GOLDEN.read_text().splitlines()]
    targets = 0
    for state, asked, expected in lines:
        assert said(decided(before(state), asked)) == expected, f"{state} | {asked}"
        targets += len(expected.split()) > 1
    assert targets > 50, "enough of them are decided"
