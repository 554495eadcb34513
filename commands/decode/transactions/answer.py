"""The answer of kreplica decode transactions: a row for each record, and numbers over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from commands.decode.damage_lines import damage_objects, damage_warnings
from commands.shared.printing.output import Answer, Row
from kreplica.formats.logs.partition_logs import copy_warnings
from kreplica.formats.transactions.reading import TransactionRow, TransactionsReading
from kreplica.model.wording.words import counted


@dataclass(frozen=True, slots=True)
class TransactionsAnswer:
    """The summary, warnings and exit code of every form of the command."""

    reading: TransactionsReading

    def summary(self, counts: Row) -> Row:
        """The summary of the answer: numbers over all rows, and the logs they are from."""
        reading = self.reading
        return {
            **counts,
            "partitions": reading.partitions,
            "partitions_found": len(reading.found),
            "partitions_missing": reading.missing,
            "partitions_doubt": reading.doubt or None,
            "logs": [{"directory": str(log.directory), "partition": log.partition} for log in reading.logs],
            "other_copies": [{"directory": str(log.directory), "partition": log.partition} for log in reading.copies],
            "damaged_places": reading.damage.places,
            "skipped_bytes": reading.damage.skipped,
            "damage": damage_objects(reading.damage.kept),
        }

    def warnings(self, summary: Row) -> list[str]:
        """Damage, missing partitions, and copies that were not read."""
        told = damage_warnings(self.reading.damage.kept, self.reading.damage.places)
        if summary["partitions_doubt"]:
            told.append(str(summary["partitions_doubt"]))
        elif summary["partitions_missing"]:
            told.append(f"{_found(summary)}; transactional ids in the rest cannot be known")
        told += copy_warnings(self.reading.logs, self.reading.copies)
        return (
            [*told, f"{counted(self.reading.unknown, 'record')} of a version that is not known"]
            if self.reading.unknown
            else told
        )


def is_partial(summary: Row) -> bool:
    """True unless all partitions that the answer needs were found."""
    return bool(summary["partitions_missing"] or summary["partitions_doubt"])


def _found(summary: Mapping[str, Any]) -> str:
    """Number of partitions of the topic that were found, in words."""
    found, total = summary["partitions_found"], summary["partitions"]
    if not found:
        return f"which of the {total} partitions of __transaction_state this is, is not known"
    return f"{found} of {counted(total, 'partition')} of __transaction_state found"


def counts_of(reading: TransactionsReading) -> Row:
    """Numbers over rows of states."""
    return {
        "transactions": len(reading.rows),
        "states": dict(Counter(row.state for row in reading.rows)),
        "open": reading.open,
        "overdue": reading.overdue,
    }


def answer_of(rows: Sequence[TransactionRow], summary: Row, warnings: list[str]) -> Answer[TransactionRow]:
    """The answer about states, for every form of the command."""
    return Answer(
        command="decode-transactions",
        rows_name="transactions",
        columns=TransactionRow,
        rows=rows,
        summary=summary,
        warnings=warnings,
    )
