"""kreplica decode transactions --hanging: transactions that no coordinator will end, in the logs of all partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.decode.transactions.answer import TransactionsAnswer, answer_of, counts_of, is_partial
from commands.decode.transactions.screen import damaged, held_lines, print_states
from commands.shared.printing.output import Answer, OutputFormat, emit
from commands.shared.printing.screen import print_lines, print_verdict
from kreplica.errors import ExitCode
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.formats.transactions.reading import TransactionRow, TransactionsReading


def show_hanging(reading: TransactionsReading, output: OutputFormat | None) -> ExitCode:
    """Answers with a row for each transaction, and partition, that no coordinator will end."""
    found = TransactionsAnswer(reading)
    summary = {**found.summary(counts_of(reading)), "logs_read": len(reading.topic_logs.others)}
    answer = answer_of(reading.rows, summary, found.warnings(summary))
    emit(answer, output, lambda console: _show(answer, console))
    return reading.exit_code


def _show(answer: Answer[TransactionRow], console: Console) -> None:
    print_states(console, answer.rows)
    print_verdict(console, *_verdict(answer))
    print_lines(console, "holds", held_lines(answer.rows))
    print_lines(console, "next", dict.fromkeys(_abort(row) for row in answer.rows), whole=True)


def _verdict(answer: Answer[TransactionRow]) -> tuple[str, str, str]:
    scope = f"{counted(int(str(answer.summary['logs_read'])), 'partition')} looked through"
    sure = sum(row.overdue is True for row in answer.rows)
    if sure:
        return "HANGING", "red", f"{counted(sure, 'transaction')} that no coordinator will end; {scope}"
    if found := damaged(answer.summary, scope):
        return found
    if answer.rows:
        said = f"{counted(len(answer.rows), 'transaction')} of which the coordinator's partition is not here"
        return "INCOMPLETE", "yellow", f"{said}; {scope}"
    word = ("INCOMPLETE", "yellow") if is_partial(answer.summary) else ("OK", "green")
    return (*word, f"no transaction hangs; {scope}")


def _abort(row: TransactionRow) -> str:
    """The command that aborts the transaction once the cluster runs again."""
    (place,) = row.partitions
    asked = f"--topic {place['topic']} --partition {place['partition']} --start-offset {place['first_offset']}"
    return f"kafka-transactions --bootstrap-server HOST:PORT abort {asked}"
