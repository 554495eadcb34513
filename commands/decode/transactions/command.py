"""kreplica decode transactions: the state of the transaction coordinators, read from `__transaction_state`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.decode.as_of import AsOfOffsetOption, AsOfTimeOption, parse_as_of
from commands.shared.help import examples
from commands.shared.options.common import LARGEST_INT32, ExitZeroOption, OutputOption, StdinFilenameOption, exit_of
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from commands.shared.printing.output import OutputFormat
    from kreplica.formats.transactions.reading import TransactionQuestion


PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Log directories of brokers, directories of __transaction_state-N, segments, patterns; - for stdin.",
    ),
]
IdOption = Annotated[
    list[str] | None, typer.Option("--transactional-id", metavar="ID", help="Only this id; may be repeated.")
]
OpenOption = Annotated[bool, typer.Option("--open", help="Only transactions that are neither committed nor aborted.")]
HangingOption = Annotated[
    bool,
    typer.Option("--hanging", help="Find transactions in partition logs that no coordinator will end."),
]
EventsOption = Annotated[bool, typer.Option("--events", help="Every record of the log, not the state it comes to.")]
PartitionsOption = Annotated[
    int,
    typer.Option(
        "--partitions",
        min=1,
        max=LARGEST_INT32,
        metavar="N",
        help="Partitions of the topic: transaction.state.log.num.partitions.",
    ),
]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "transactions",
        short_help="Show the state of every transactional id.",
        epilog=examples(
            "kreplica decode transactions /srv/kafka --open",
            "kreplica decode transactions /srv/kafka --hanging",
        ),
    )(transactions)


def transactions(
    paths: PathsArgument,
    transactional_id: IdOption = None,
    only_open: OpenOption = False,
    hanging: HangingOption = False,
    events: EventsOption = False,
    as_of_offset: AsOfOffsetOption = None,
    as_of_time: AsOfTimeOption = None,
    partitions: PartitionsOption = 50,
    stdin_filename: StdinFilenameOption = None,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Show the state of every transactional id from the files of brokers, and which consumers open transactions block.

    If the directories also hold the partitions of an open transaction, its first offset there is shown: read_committed
    consumers stop before it. Of several copies of a partition, the one with the highest last leader epoch, then the
    longest, is read.

    --hanging reads the logs of all partitions there, and lists transactions that no coordinator will end:
    read_committed consumers stop before them until kafka-transactions aborts them.

    Exits 1 when a file is damaged (the others are still read), or a transaction hangs or is overdue; 5 when partitions
    of the topic were not found, unless the requested ids are in those that were.
    """
    from commands.decode.stdin import named_files

    if hanging and (transactional_id or only_open or events or as_of_offset is not None or as_of_time is not None):
        raise UsageError("--hanging asks about all transactions, at the end of the logs", fix="leave out the others")
    from kreplica.formats.segments.as_of import AsOf
    from kreplica.formats.transactions.reading import TransactionQuestion

    as_of = parse_as_of(as_of_offset, as_of_time) or AsOf()
    now = round(time.time() * 1000) if as_of.timestamp is None else as_of.timestamp
    asked = TransactionQuestion(now, as_of, frozenset(transactional_id or ()), only_open, partitions)
    with named_files(paths, stdin_filename) as names:
        show = _show_hanging if hanging else _show_events if events else _show_state
        code = show(names, asked, output)
    raise exit_of(code, exit_zero=exit_zero)


def _show_hanging(paths: Sequence[str], asked: TransactionQuestion, output: OutputFormat | None) -> ExitCode:
    from commands.decode.transactions.hanging import show_hanging
    from kreplica.formats.transactions.reading import decode_hanging_transactions

    return show_hanging(decode_hanging_transactions(paths, asked), output)


def _show_events(paths: Sequence[str], asked: TransactionQuestion, output: OutputFormat | None) -> ExitCode:
    from commands.decode.transactions.events import show_events
    from kreplica.formats.transactions.reading import decode_transaction_events

    return show_events(decode_transaction_events(paths, asked), output)


def _show_state(paths: Sequence[str], asked: TransactionQuestion, output: OutputFormat | None) -> ExitCode:
    from commands.decode.transactions.answer import TransactionsAnswer, answer_of, counts_of
    from commands.decode.transactions.screen import show
    from commands.shared.printing.output import emit
    from kreplica.formats.transactions.reading import decode_transactions

    reading = decode_transactions(paths, asked)
    found = TransactionsAnswer(reading)
    summary = found.summary(counts_of(reading))
    answer = answer_of(reading.rows, summary, found.warnings(summary))
    emit(answer, output, lambda console: show(answer, console))
    return reading.exit_code
