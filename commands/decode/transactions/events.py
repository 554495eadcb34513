"""kreplica decode transactions --events: every record of the coordinators' logs, printed while they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from commands.decode.transactions.answer import TransactionsAnswer
from commands.decode.transactions.screen import place_names, print_events_verdict
from commands.shared.printing.output import OutputFormat
from commands.shared.printing.streams import Ending, LongAnswer, emit_long
from commands.shared.values import spell_moment
from kreplica.errors import ExitCode
from kreplica.formats.transactions.reading import EVENTS, TransactionRow
from kreplica.model.tables.rows import fields_of

if TYPE_CHECKING:
    from kreplica.formats.transactions.reading import TransactionEvents

_SHOWN: Final = (
    *("coordinator_partition", "record_offset", "record_timestamp"),
    *("transactional_id", "producer_id", "producer_epoch", "state", "partitions"),
)


def show_events(events: TransactionEvents, output: OutputFormat | None) -> ExitCode:
    """Prints the records while they are read; memory does not grow with their number."""
    answer = LongAnswer(
        command="decode-transactions",
        rows_name="transactions",
        tables=events,
        schema=EVENTS,
        json_columns=("partitions",),
        shown={field.name: field.label for name in _SHOWN for field in fields_of(TransactionRow) if field.name == name},
        cells={"partitions": place_names, "record_timestamp": _time},
        ending=lambda _: _ending(events),
    )
    emit_long(answer, output)
    return events.reading().exit_code


def _time(timestamp: Any) -> str:
    return spell_moment(timestamp)


def _ending(events: TransactionEvents) -> Ending:
    reading = TransactionsAnswer(events.reading())
    summary = reading.summary(events.counts())
    return Ending(summary, reading.warnings(summary), lambda console: print_events_verdict(console, summary))
