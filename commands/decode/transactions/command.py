"""kreplica decode transactions: the state of the transaction coordinators, read from `__transaction_state`."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.decode.transactions.question import Asked
from commands.shared.help import examples
from commands.shared.options import LARGEST_INT32, LARGEST_OFFSET, ExitZeroOption, OutputOption, StdinFilenameOption
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from commands.shared.printing.output import OutputFormat
    from kreplica.formats.segments.as_of import Until
    from kreplica.formats.transactions.logs import Place, ReplayedLog, TransactionLogs
    from kreplica.formats.transactions.records import TransactionRecord


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
OffsetOption = Annotated[
    int | None,
    typer.Option(
        "--as-of-offset",
        min=0,
        max=LARGEST_OFFSET,
        metavar="OFFSET",
        help="State of one partition when this offset was next to be written.",
    ),
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--as-of-time", metavar="TIME", help="State then, that time included: 2026-03-01T12:00 (UTC), or 2h for ago."
    ),
]
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
    as_of_offset: OffsetOption = None,
    as_of_time: TimeOption = None,
    partitions: PartitionsOption = 50,
    stdin_filename: StdinFilenameOption = None,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Show the state of every transactional id from the files of brokers, and what open transactions hold back.

    If the directories also hold the partitions of an open transaction, its first offset there is shown: read_committed
    consumers stop before it. Of several copies of a partition the one with the highest last leader epoch, then the
    longest, is read.

    --hanging reads the logs of all partitions there, and lists transactions that no coordinator will end:
    read_committed consumers stop before them until kafka-transactions aborts them.

    Exits 1 when a file is damaged (all else is read nevertheless), a transaction hangs or is overdue, 5 when not all
    partitions were found, unless the ids that are asked for live in those that were.
    """
    from commands.decode.stdin import named_files

    if hanging and (transactional_id or only_open or events or as_of_offset is not None or as_of_time is not None):
        raise UsageError("--hanging asks about all transactions, at the end of the logs", fix="leave out the others")
    now, until = _moments(as_of_offset, as_of_time)
    asked = Asked(until, frozenset(transactional_id or ()), only_open, partitions, now)
    with named_files(paths, stdin_filename) as names:
        logs = _found(names, until)
        show = _show_hanging if hanging else _show_events if events else _show_state
        code = show(logs, asked, output)
    raise typer.Exit(ExitCode.OK if exit_zero and code is ExitCode.FINDINGS else code)


def _moments(offset: int | None, moment: str | None) -> tuple[int, Until]:
    """The time for ages, in ms since the epoch, and the offset or time up to which the logs are replayed."""
    from commands.shared.values import milliseconds_of, parse_moment
    from kreplica.formats.segments.as_of import Until

    if moment is None:
        return round(time.time() * 1000), Until(offset)
    if offset is not None:
        raise UsageError("--as-of-offset and --as-of-time name two moments", fix="leave out one of them")
    then = milliseconds_of(parse_moment(moment, "--as-of-time"))
    return then, Until(timestamp=then)


def _found(paths: Sequence[str], until: Until) -> TransactionLogs:
    from kreplica.formats.transactions.logs import find_transaction_logs
    from kreplica.formats.transactions.records import TRANSACTION_TOPIC

    logs = find_transaction_logs(paths)
    if not logs.logs:
        why = f"no directory there is named {TRANSACTION_TOPIC}-N and holds a segment"
        raise UsageError(f"no transactions in {', '.join(paths)}", why, "name a log directory of a broker")
    if until.offset is not None and len(logs.logs) > 1:
        numbers = ", ".join(str(log.partition) for log in logs.logs[:8])
        why = f"each partition counts its own: {numbers} are there"
        raise UsageError("--as-of-offset needs one partition", why, "name the directory of one partition")
    return logs


def _show_hanging(logs: TransactionLogs, asked: Asked, output: OutputFormat | None) -> ExitCode:
    from commands.decode.transactions.hanging import show_hanging

    return show_hanging(logs, asked, output)


def _show_events(logs: TransactionLogs, asked: Asked, output: OutputFormat | None) -> ExitCode:
    from commands.decode.transactions.events import TransactionEvents, show_events
    from kreplica.formats.transactions.logs import transactional_ids

    if asked.ids:  # a wrong name is reported before the first row
        _refuse_absent(asked, logs, {name for log in logs.logs for name in transactional_ids(log, asked.until)})
    return show_events(TransactionEvents(logs, asked), output)


def _show_state(logs: TransactionLogs, asked: Asked, output: OutputFormat | None) -> ExitCode:
    from commands.decode.transactions.answer import TransactionsReading, answer_of, counts_of, state_row
    from commands.decode.transactions.screen import show
    from commands.shared.printing.output import emit
    from kreplica.formats.transactions.logs import replay_transactions

    read = [replay_transactions(log, asked.until) for log in logs.logs]
    _refuse_absent(asked, logs, {record.transactional_id for log in read for record in log.records})
    kept = [(log, record) for log in read for record in log.records if asked.wants(record)]
    begun = {} if asked.until.given else _first_offsets(logs, kept)
    rows = [state_row(log.log.partition, record, begun, asked.now) for log, record in kept]
    reading = TransactionsReading.of_state(logs, read, asked)
    summary = reading.summary(counts_of(rows))
    answer = answer_of(rows, summary, reading.warnings(summary))
    emit(answer, output, lambda console: show(answer, console))
    return reading.exit_code(summary)


def _refuse_absent(asked: Asked, logs: TransactionLogs, known: Collection[str]) -> None:
    from commands.shared.printing.screen import counted
    from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition

    absent = sorted(asked.ids.difference(known))
    if absent:
        home = coordinator_partition(absent[0], asked.partitions)
        there = "is" if home in {log.partition for log in logs.logs} else "is not"
        raise UsageError(
            f"no transactional id {', '.join(absent)}",
            f"the files tell of {counted(len(known), 'other')}",
            f"{absent[0]} lives in partition {home} of {asked.partitions}, which {there} among them",
        )


def _first_offsets(
    logs: TransactionLogs, kept: Sequence[tuple[ReplayedLog, TransactionRecord]]
) -> Mapping[tuple[Place, int | None], int]:
    """First offsets of open transactions at the end of the logs only, not as of an earlier moment."""
    from kreplica.formats.transactions.logs import first_offsets
    from kreplica.formats.transactions.records import OPEN

    wanted: dict[Place, frozenset[int]] = {}
    for _, record in kept:
        if record.state in OPEN and record.data is not None:
            for place in record.partitions:
                wanted[place] = wanted.get(place, frozenset()) | {record.data["producerId"]}
    return {(place, producer): offset for (place, producer), offset in first_offsets(logs.others, wanted).items()}
