"""kreplica decode transactions --hanging: transactions that no coordinator will end, in the logs of all partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.decode.transactions.answer import TransactionsReading, answer_of, counts_of, is_partial
from commands.decode.transactions.question import COLUMNS
from commands.decode.transactions.screen import damaged, held_lines, state_cells, state_header
from commands.shared.printing.output import Answer, OutputFormat, Row, emit
from commands.shared.printing.screen import counted, print_lines, print_table, print_verdict
from kreplica.errors import ExitCode
from kreplica.formats.transactions.hanging import HangingTransaction, hanging_transactions
from kreplica.formats.transactions.logs import replay_transactions

if TYPE_CHECKING:
    from rich.console import Console

    from commands.decode.transactions.question import Asked
    from kreplica.formats.transactions.logs import TransactionLogs

UNKNOWN = "unknown"
"""State of a producer that has no record."""


def show_hanging(logs: TransactionLogs, asked: Asked, output: OutputFormat | None) -> ExitCode:
    """Answers with a row for each transaction, and partition, that no coordinator will end.

    Raises:
        InputError: A file cannot be read.
    """
    read = [replay_transactions(log, asked.until) for log in logs.logs]
    reading = TransactionsReading.of_state(logs, read, asked)
    known = [record for log in read for record in log.records]
    found = list(hanging_transactions(logs.others, known, asked.now, reading.damage))
    partial = is_partial(reading.summary({}))
    rows = [_row(each, asked.now, certain=not partial or each.record is not None) for each in found]
    summary = {**reading.summary(counts_of(rows)), "logs_read": len(logs.others)}
    answer = answer_of(rows, summary, reading.warnings(summary))
    emit(answer, output, lambda console: _show(answer, console))
    return reading.exit_code(summary)


def _row(found: HangingTransaction, now: int, *, certain: bool) -> Row:
    topic, partition = found.place
    record, begun = found.record, found.begun
    place = {"topic": topic, "partition": partition, "first_offset": begun.first_offset}
    return dict.fromkeys(COLUMNS) | {
        "transactional_id": None if record is None else record.transactional_id,
        "producer_id": found.producer_id,
        "producer_epoch": begun.producer_epoch,
        "state": UNKNOWN if record is None else record.state,
        "timeout_ms": None if record is None or record.data is None else record.data["transactionTimeoutMs"],
        "partitions": [place],
        "last_update_timestamp": begun.last_timestamp,
        "age_ms": now - begun.last_timestamp,
        "overdue": True if certain else None,
    }


def _show(answer: Answer, console: Console) -> None:
    if answer.rows:
        color = console.is_terminal and not console.no_color
        print_table([name.upper() for name in state_header()], list(map(state_cells, answer.rows)), color=color)
    print_verdict(console, *_verdict(answer))
    print_lines(console, "holds", held_lines(answer))
    print_lines(console, "next", dict.fromkeys(_abort(row) for row in answer.rows), whole=True)


def _verdict(answer: Answer) -> tuple[str, str, str]:
    scope = f"{counted(int(str(answer.summary['logs_read'])), 'partition')} looked through"
    sure = sum(row["overdue"] is True for row in answer.rows)
    if sure:
        return "HANGING", "red", f"{counted(sure, 'transaction')} that no coordinator will end; {scope}"
    if found := damaged(answer.summary, scope):
        return found
    if answer.rows:
        said = f"{counted(len(answer.rows), 'transaction')} of which the coordinator's partition is not here"
        return "INCOMPLETE", "yellow", f"{said}; {scope}"
    word = ("INCOMPLETE", "yellow") if is_partial(answer.summary) else ("OK", "green")
    return (*word, f"no transaction hangs; {scope}")


def _abort(row: Row) -> str:
    """The command that aborts the transaction once the cluster runs again."""
    places = row["partitions"]
    assert isinstance(places, list)
    (place,) = places
    asked = f"--topic {place['topic']} --partition {place['partition']} --start-offset {place['first_offset']}"
    return f"kafka-transactions --bootstrap-server HOST:PORT abort {asked}"
