"""Hanging transactions: records in a log that no transaction coordinator will ever commit or abort (KIP-664).

A coordinator writes the markers of the partitions that it has in a transaction. Where it has forgotten one, or never
knew of it (a delayed request of a producer, before KIP-890), the last stable offset of the partition stands still.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kreplica.formats.damage import DamageTally
from kreplica.formats.logs.internal_topic import Place
from kreplica.formats.logs.partition_logs import PartitionLog, furthest
from kreplica.formats.transactions.logs import Begun, open_in
from kreplica.formats.transactions.records import OPEN, TransactionRecord

MAX_TRANSACTION_TIMEOUT_MS = 900_000
"""Default of transaction.max.timeout.ms: a younger transaction may still be ended, as kafka-transactions find-hanging
takes it."""


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """One producer's transaction in one partition.

    Args:
        place: Topic and partition.
        producer_id: Id of the producer.
        begun: Its first offset, and its last batch.
        record: The coordinators' record of that producer; None for none.
    """

    place: Place
    producer_id: int
    begun: Begun
    record: TransactionRecord | None


def hanging_transactions(
    logs: Mapping[Place, Sequence[PartitionLog]], known: Iterable[TransactionRecord], now: int, damage: DamageTally
) -> Iterator[HangingTransaction]:
    """Open transactions in logs that no coordinator has among those it will end, by topic and partition.

    TransactionsCommand.FindHangingTransactionsCommand asks brokers the same. Of several copies of a log the one that
    goes furthest is read.

    Args:
        logs: Logs of partitions.
        known: State of every transactional id.
        now: ms since the epoch.
        damage: Takes what could not be read: a marker may have been there.

    Raises:
        InputError: A file cannot be read.
    """
    by_producer = {record.data["producerId"]: record for record in known if record.data is not None}
    for place in sorted(logs):
        for producer, begun in sorted(open_in(furthest(logs[place])[0], damage=damage).items()):
            record = by_producer.get(producer)
            ends = record is not None and record.state in OPEN and place in record.partitions
            if not ends and now - begun.last_timestamp > MAX_TRANSACTION_TIMEOUT_MS:
                yield HangingTransaction(place, producer, begun, record)
