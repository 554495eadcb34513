"""The answer of kreplica decode transactions: a row for each record, and numbers over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commands.decode.damage_lines import damage_objects, damage_warnings
from commands.decode.transactions.question import COLUMNS
from commands.shared.printing.output import Answer, Row
from commands.shared.printing.screen import counted
from kreplica.errors import ExitCode
from kreplica.formats.consumer_offsets.partition_count import doubt_of_count
from kreplica.formats.damage import DamageTally
from kreplica.formats.logs.partition_logs import copy_warnings
from kreplica.formats.transactions.records import OPEN, TRANSACTION_TOPIC
from kreplica.model.schema import Kind

if TYPE_CHECKING:
    from commands.decode.transactions.question import Asked
    from kreplica.formats.transactions.logs import Place, ReplayedLog, TransactionLogs
    from kreplica.formats.transactions.records import TransactionRecord


@dataclass(frozen=True, slots=True)
class TransactionsReading:
    """The partitions of the topic that were read, for every form of the command.

    Args:
        logs: The partitions that were found.
        homes: Each transactional id, and the partition in which it was found.
        asked: The options of the command.
        damage: Damage in all files.
        unknown: Number of records of a version that is not known.
    """

    logs: TransactionLogs
    homes: Collection[tuple[str, int]]
    asked: Asked
    damage: DamageTally
    unknown: int

    @classmethod
    def of_state(cls, logs: TransactionLogs, read: Sequence[ReplayedLog], asked: Asked) -> TransactionsReading:
        """The reading where the state was asked for."""
        homes = {
            (record.transactional_id, log.log.partition)
            for log in read
            for record in log.records
            if log.log.partition is not None
        }
        damage = DamageTally()
        damage.add(logs.damage)
        for log in read:
            damage.join(log.findings.damage)
        return cls(logs, homes, asked, damage, sum(log.findings.unknown for log in read))

    def summary(self, counts: Row) -> Row:
        """The summary of the answer: numbers over all rows, and the logs they are from."""
        found = {log.partition for log in self.logs.logs if log.partition is not None}
        partitions = self.asked.partitions
        return {
            **counts,
            "partitions": partitions,
            "partitions_found": len(found),
            "partitions_missing": sorted(self.asked.needed - found),
            "partitions_doubt": doubt_of_count(self.homes, found, partitions, TRANSACTION_TOPIC) or None,
            "logs": [{"directory": str(log.directory), "partition": log.partition} for log in self.logs.logs],
            "other_copies": [{"directory": str(log.directory), "partition": log.partition} for log in self.logs.copies],
            "damaged_places": self.damage.places,
            "skipped_bytes": self.damage.skipped,
            "damage": damage_objects(self.damage.kept),
        }

    def warnings(self, summary: Row) -> list[str]:
        """Damage, missing partitions, and copies that were not read."""
        told = damage_warnings(self.damage.kept, self.damage.places)
        if summary["partitions_doubt"]:
            told.append(str(summary["partitions_doubt"]))
        elif summary["partitions_missing"]:
            told.append(f"{_found(summary)}; transactional ids in the rest cannot be known")
        told += copy_warnings(self.logs.logs, self.logs.copies)
        return [*told, f"{counted(self.unknown, 'record')} of a version that is not known"] if self.unknown else told

    def exit_code(self, summary: Row) -> ExitCode:
        """1 for damage and overdue transactions, 5 for missing partitions, 0 otherwise."""
        if self.damage.places or summary.get("overdue"):
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if is_partial(summary) else ExitCode.OK


def is_partial(summary: Row) -> bool:
    """True unless all partitions that the answer needs were found."""
    return bool(summary["partitions_missing"] or summary["partitions_doubt"])


def _found(summary: Row) -> str:
    """Number of partitions of the topic that were found, in words."""
    found, total = summary["partitions_found"], summary["partitions"]
    if not found:
        return f"which of the {total} partitions of __transaction_state this is, is not known"
    return f"{found} of {total} partitions of __transaction_state found"


def counts_of(rows: Sequence[Row]) -> Row:
    """Numbers over rows of states."""
    return {
        "transactions": len(rows),
        "states": dict(Counter(str(row["state"]) for row in rows)),
        "open": sum(row["age_ms"] is not None for row in rows),
        "overdue": sum(row["overdue"] is True for row in rows),
    }


def state_row(
    partition: int | None, record: TransactionRecord, begun: Mapping[tuple[Place, int | None], int], now: int
) -> Row:
    """The row of an id's state.

    Args:
        partition: Partition of __transaction_state.
        record: Last record of the id.
        begun: First offset of each producer's open transaction by partition.
        now: Time for ages, in ms since the epoch.
    """
    row = event_row(partition, record, begun)
    started, timeout = row["start_timestamp"], row["timeout_ms"]
    if record.state not in OPEN or not isinstance(started, int):
        return row
    age = max(0, now - started)
    return {**row, "age_ms": age, "overdue": age > timeout if isinstance(timeout, int) else None}


def event_row(
    partition: int | None, record: TransactionRecord, begun: Mapping[tuple[Place, int | None], int]
) -> dict[str, object]:
    """The row of a record. It has no age, since a transaction open at the record may have ended by now."""
    data = record.data or {}
    producer = data.get("producerId")
    return {
        "transactional_id": record.transactional_id,
        "producer_id": producer,
        "producer_epoch": data.get("producerEpoch"),
        "state": record.state,
        "timeout_ms": data.get("transactionTimeoutMs"),
        "partitions": [
            {"topic": topic, "partition": number, "first_offset": begun.get(((topic, number), producer))}
            for topic, number in record.partitions
        ],
        "start_timestamp": _or_null(data.get("transactionStartTimestampMs")),
        "last_update_timestamp": _or_null(data.get("transactionLastUpdateTimestampMs")),
        "age_ms": None,
        "overdue": None,
        "client_transaction_version": data.get("clientTransactionVersion"),
        "previous_producer_id": _or_null(data.get("previousProducerId")),
        "next_producer_id": _or_null(data.get("nextProducerId")),
        "next_producer_epoch": _or_null(data.get("nextProducerEpoch")),
        "coordinator_partition": partition,
        "record_offset": record.offset,
        "record_timestamp": record.timestamp,
    }


def _or_null(value: int | None) -> int | None:
    """Null where Kafka writes -1 for none."""
    return None if value is None or value < 0 else value


def answer_of(rows: list[Row], summary: Row, warnings: list[str]) -> Answer:
    """The answer about states, for every form of the command."""
    return Answer(
        command="decode-transactions",
        rows_name="transactions",
        columns=COLUMNS,
        rows=rows,
        summary=summary,
        warnings=warnings,
        kinds={name: kind_of(name) for name in COLUMNS},
    )


def kind_of(name: str) -> Kind:
    """Kind of a column's values."""
    if name in ("transactional_id", "state", "partitions"):
        return Kind.STRING
    return Kind.BOOL if name == "overdue" else Kind.INT64
