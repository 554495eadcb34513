"""kreplica decode transactions --events: every record of the coordinators' logs, printed while they are read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from commands.decode.transactions.answer import TransactionsReading, event_row, kind_of
from commands.decode.transactions.question import COLUMNS
from commands.decode.transactions.screen import place_names, print_events_verdict
from commands.shared.printing.output import OutputFormat
from commands.shared.printing.streams import Ending, LongAnswer, emit_long
from commands.shared.values import spell_moment
from kreplica.errors import ExitCode
from kreplica.formats.damage import DamageTally
from kreplica.formats.transactions.logs import TransactionLogs, transaction_history
from kreplica.formats.transactions.records import Findings
from kreplica.model.schema import Field, TableSchema
from kreplica.model.table import Table

if TYPE_CHECKING:
    from commands.decode.transactions.question import Asked
    from kreplica.formats.transactions.records import TransactionRecord

EVENTS: Final = TableSchema(
    "events", tuple(Field(name, kind_of(name), nullable=True, doc="") for name in COLUMNS), sort=()
)
_SHOWN: Final = {
    "coordinator_partition": "PARTITION",
    "record_offset": "OFFSET",
    "record_timestamp": "TIME",
    "transactional_id": "TRANSACTIONAL_ID",
    "producer_id": "PRODUCER_ID",
    "producer_epoch": "EPOCH",
    "state": "STATE",
    "partitions": "PARTITIONS",
}


@dataclass(slots=True)
class TransactionEvents:
    """The records of logs as tables, decoded on demand; the numbers over them are complete after the last table.

    Args:
        logs: The partitions of the topic.
        asked: The options that choose records.
        states: Number of rows of each state.
        homes: Each id of a record, and the partition in which it was found.
        damage: Ranges that could not be read.
        unknown: Number of records of a version that is not known.
    """

    logs: TransactionLogs
    asked: Asked
    states: Counter[str] = field(default_factory=Counter)
    homes: set[tuple[str, int]] = field(default_factory=set)
    damage: DamageTally = field(default_factory=DamageTally)
    unknown: int = 0

    def __post_init__(self) -> None:
        self.damage.add(self.logs.damage)

    def __iter__(self) -> Iterator[Table]:
        for log in self.logs.logs:
            found = Findings(str(log.directory), self.damage)
            for records in transaction_history(log, self.asked.until, found):
                yield self._table(log.partition, records)
            self.unknown += found.unknown

    def _table(self, partition: int | None, records: list[TransactionRecord]) -> Table:
        if partition is not None:
            self.homes.update((record.transactional_id, partition) for record in records)
        kept = [record for record in records if self.asked.wants(record)]
        self.states.update(record.state for record in kept)
        rows = [event_row(partition, record, {}) for record in kept]
        return Table.from_rows(EVENTS, [{**row, "partitions": _json(row["partitions"])} for row in rows])

    def reading(self) -> TransactionsReading:
        """The reading so far."""
        return TransactionsReading(self.logs, self.homes, self.asked, self.damage, self.unknown)

    def counts(self) -> dict[str, object]:
        """Numbers over the rows so far; the number of transactions open now cannot be derived from single records."""
        return {"transactions": self.states.total(), "states": dict(self.states), "open": None, "overdue": None}


def _json(places: object) -> str:
    return json.dumps(places, ensure_ascii=False, separators=(",", ":"))


def show_events(events: TransactionEvents, output: OutputFormat | None) -> ExitCode:
    """Prints the records while they are read; memory does not grow with their number."""
    answer = LongAnswer(
        command="decode-transactions",
        rows_name="transactions",
        tables=events,
        schema=EVENTS,
        json_columns=("partitions",),
        shown=_SHOWN,
        cells={"partitions": place_names, "record_timestamp": _time},
        ending=lambda _: _ending(events),
    )
    emit_long(answer, output)
    reading = events.reading()
    return reading.exit_code(reading.summary(events.counts()))


def _time(timestamp: Any) -> str:
    return spell_moment(timestamp)


def _ending(events: TransactionEvents) -> Ending:
    reading = events.reading()
    summary = reading.summary(events.counts())
    return Ending(summary, reading.warnings(summary), lambda console: print_events_verdict(console, summary))
