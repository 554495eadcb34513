"""kreplica decode transactions: what the transaction coordinators remember, read from `__transaction_state`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import OutputOption, StdinFilenameOption
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from commands.output import Answer, Row
    from kreplica.formats.damage import Damage
    from kreplica.formats.transaction_state import TransactionRecord
    from kreplica.formats.until import Until
    from kreplica.model.schema import Kind
    from kreplica.sources.transaction_logs import Place, ReplayedLog, TransactionLogs

COLUMNS = (
    "transactional_id",
    "producer_id",
    "producer_epoch",
    "state",
    "timeout_ms",
    "partitions",
    "start_timestamp",
    "last_update_timestamp",
    "age_ms",
    "overdue",
    "client_transaction_version",
    "previous_producer_id",
    "next_producer_id",
    "next_producer_epoch",
    "coordinator_partition",
    "record_offset",
    "record_timestamp",
)

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
    typer.Option("--hanging", help="Transactions in the logs of all partitions that no coordinator will end."),
]
EventsOption = Annotated[bool, typer.Option("--events", help="Every record of the log, not the state it comes to.")]
OffsetOption = Annotated[
    int | None,
    typer.Option(
        "--as-of-offset",
        min=0,
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
        "--partitions", min=1, metavar="N", help="Partitions of the topic: transaction.state.log.num.partitions."
    ),
]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command("transactions", short_help="The state of every transactional id.")(transactions)


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
    output: OutputOption = None,
) -> None:
    """Show the state of every transactional id from the files of brokers, and what open transactions hold back.

    Where the directories hold the partitions of an open transaction too, its first offset there is told: consumers that
    read committed records stop before it. Of several copies of a partition the one with the highest last leader epoch,
    then the longest, is read.

    --hanging reads the logs of all partitions there, and lists transactions that no coordinator has among those it will
    end: consumers that read committed records wait in front of them until kafka-transactions aborts them.

    Exits 1 when a file is damaged (all else is read nevertheless) or a transaction hangs, 5 when not all partitions
    were found, unless the ids that are asked for live in those that were.
    """
    from commands.decode_damage import damage_warnings
    from commands.decode_stdin import named_files
    from commands.decode_transactions_screen import show
    from commands.output import emit
    from kreplica.formats.until import Until
    from kreplica.sources.transaction_logs import replay_transactions

    if hanging and (transactional_id or only_open or events or as_of_offset is not None or as_of_time is not None):
        raise UsageError("--hanging asks about all transactions, at the end of the logs", fix="leave out the others")
    now, until = _moments(as_of_offset, as_of_time)
    with named_files(paths, stdin_filename) as names:
        logs = _found(names, until)
        read = [replay_transactions(log, until, events=events) for log in logs.logs]
    if hanging:
        from commands.decode_transactions_hanging import show_hanging

        raise typer.Exit(show_hanging(logs, read, partitions, now, output))
    kept = _kept(read, transactional_id or (), partitions, only_open=only_open)
    begun = {} if events or until != Until() else _first_offsets(logs, kept)
    rows = [_row(log, record, begun, now) for log, record in kept]
    damage = [each for log in read for each in log.findings.damage]
    summary = summary_of(logs, read, rows, _needed(transactional_id or (), partitions), partitions, damage)
    answer = answer_of(rows, summary, [*damage_warnings(damage), *remarks_of(logs, read, summary)])
    emit(answer, output, lambda console: show(answer, console, events=events))
    incomplete = summary["partitions_missing"] or summary["partitions_doubt"]
    complete = ExitCode.INCOMPLETE if incomplete else ExitCode.OK
    raise typer.Exit(ExitCode.FINDINGS if damage else complete)


def _moments(offset: int | None, moment: str | None) -> tuple[int, Until]:
    """Now, in ms since the epoch, as far as ages are concerned; and what counts."""
    from commands.moments import milliseconds_of, parse_moment
    from kreplica.formats.until import Until

    if moment is None:
        return round(time.time() * 1000), Until(offset)
    if offset is not None:
        raise UsageError("--as-of-offset and --as-of-time name two moments", fix="leave out one of them")
    then = milliseconds_of(parse_moment(moment, "--as-of-time"))
    return then, Until(timestamp=then)


def _found(paths: Sequence[str], until: Until) -> TransactionLogs:
    from kreplica.formats.transaction_state import TRANSACTION_TOPIC
    from kreplica.sources.transaction_logs import find_transaction_logs

    logs = find_transaction_logs(paths)
    if not logs.logs:
        why = f"no directory there is named {TRANSACTION_TOPIC}-N and holds a segment"
        raise UsageError(f"no transactions in {', '.join(paths)}", why, "name a log directory of a broker")
    if until.offset is not None and len(logs.logs) > 1:
        numbers = ", ".join(str(log.partition) for log in logs.logs[:8])
        why = f"each partition counts its own: {numbers} are there"
        raise UsageError("--as-of-offset needs one partition", why, "name the directory of one partition")
    return logs


def _kept(
    logs: Sequence[ReplayedLog], ids: Sequence[str], partitions: int, *, only_open: bool
) -> list[tuple[ReplayedLog, TransactionRecord]]:
    from kreplica.engine.rules.coordinator_partition import coordinator_partition
    from kreplica.formats.transaction_state import OPEN

    known = [(log, record) for log in logs for record in log.records]
    absent = sorted(set(ids) - {record.transactional_id for _, record in known})
    if absent:
        home = coordinator_partition(absent[0], partitions)
        there = "is" if home in {log.log.partition for log in logs} else "is not"
        raise UsageError(
            f"no transactional id {', '.join(absent)}",
            f"the files tell of {len({record.transactional_id for _, record in known})} others",
            f"{absent[0]} lives in partition {home} of {partitions}, which {there} among them",
        )
    kept = [each for each in known if not ids or each[1].transactional_id in ids]
    return [each for each in kept if not only_open or each[1].state in OPEN]


def _needed(ids: Sequence[str], partitions: int) -> frozenset[int]:
    """The partitions that the answer needs: all, unless ids are asked for."""
    from kreplica.engine.rules.coordinator_partition import coordinator_partition

    return frozenset(coordinator_partition(name, partitions) for name in ids) or frozenset(range(partitions))


def _first_offsets(
    logs: TransactionLogs, kept: Sequence[tuple[ReplayedLog, TransactionRecord]]
) -> Mapping[tuple[Place, int | None], int]:
    """Of the log's end: what had begun at an earlier moment is not looked for."""
    from kreplica.formats.transaction_state import OPEN
    from kreplica.sources.transaction_logs import first_offsets

    wanted: dict[Place, frozenset[int]] = {}
    for _, record in kept:
        if record.state in OPEN and record.data is not None:
            for place in record.partitions:
                wanted[place] = wanted.get(place, frozenset()) | {record.data["producerId"]}
    return {(place, producer): offset for (place, producer), offset in first_offsets(logs.others, wanted).items()}


def _row(read: ReplayedLog, record: TransactionRecord, begun: Mapping[tuple[Place, int | None], int], now: int) -> Row:
    data = record.data or {}
    started = _moment(data.get("transactionStartTimestampMs"))
    age = _age(record, started, now)
    timeout = data.get("transactionTimeoutMs")
    producer = data.get("producerId")
    return {
        "transactional_id": record.transactional_id,
        "producer_id": producer,
        "producer_epoch": data.get("producerEpoch"),
        "state": record.state,
        "timeout_ms": timeout,
        "partitions": [
            {"topic": topic, "partition": number, "first_offset": begun.get(((topic, number), producer))}
            for topic, number in record.partitions
        ],
        "start_timestamp": started,
        "last_update_timestamp": _moment(data.get("transactionLastUpdateTimestampMs")),
        "age_ms": age,
        "overdue": None if age is None or timeout is None else age > timeout,
        "client_transaction_version": data.get("clientTransactionVersion"),
        "previous_producer_id": _moment(data.get("previousProducerId")),
        "next_producer_id": _moment(data.get("nextProducerId")),
        "next_producer_epoch": _moment(data.get("nextProducerEpoch")),
        "coordinator_partition": read.log.partition,
        "record_offset": record.offset,
        "record_timestamp": record.timestamp,
    }


def _moment(value: int | None) -> int | None:
    """Null where Kafka writes -1 for none."""
    return None if value is None or value < 0 else value


def _age(record: TransactionRecord, started: int | None, now: int) -> int | None:
    from kreplica.formats.transaction_state import OPEN

    return None if record.state not in OPEN or started is None else max(0, now - started)


def summary_of(
    logs: TransactionLogs,
    read: Sequence[ReplayedLog],
    rows: Sequence[Row],
    needed: frozenset[int],
    partitions: int,
    damage: Sequence[Damage],
) -> Row:
    """Numbers over all rows, and where they are from."""
    from commands.decode_damage import damage_objects
    from kreplica.formats.coordinator_count import doubt_of_count
    from kreplica.formats.transaction_state import TRANSACTION_TOPIC

    homes = {
        (record.transactional_id, log.log.partition)
        for log in read
        for record in log.records
        if log.log.partition is not None
    }
    found = {log.partition for log in logs.logs if log.partition is not None}
    return {
        "transactions": len(rows),
        "states": dict(Counter(str(row["state"]) for row in rows)),
        "open": sum(row["age_ms"] is not None for row in rows),
        "overdue": sum(row["overdue"] is True for row in rows),
        "partitions": partitions,
        "partitions_found": len(found),
        "partitions_missing": sorted(needed - found),
        "partitions_doubt": doubt_of_count(homes, found, partitions, TRANSACTION_TOPIC) or None,
        "logs": [{"directory": str(log.directory), "partition": log.partition} for log in logs.logs],
        "other_copies": [{"directory": str(log.directory), "partition": log.partition} for log in logs.copies],
        "damage": damage_objects(damage),
    }


def remarks_of(logs: TransactionLogs, read: Sequence[ReplayedLog], summary: Row) -> list[str]:
    """What is missing, and what was not read."""
    from commands.decode_copies import copy_warnings
    from commands.screen import counted

    remarks = []
    if summary["partitions_doubt"]:
        remarks.append(str(summary["partitions_doubt"]))
    elif summary["partitions_missing"]:
        remarks.append(f"{found_of(summary)}; transactional ids in the rest cannot be known")
    remarks += copy_warnings(logs.copies)
    unknown = sum(log.findings.unknown for log in read)
    return [*remarks, f"{counted(unknown, 'record')} of a version that is not known"] if unknown else remarks


def found_of(summary: Row) -> str:
    """How many partitions of the topic were found, in words."""
    found, total = summary["partitions_found"], summary["partitions"]
    if not found:
        return f"which of the {total} partitions of __transaction_state this is, is not known"
    return f"{found} of {total} partitions of __transaction_state found"


def answer_of(rows: list[Row], summary: Row, warnings: list[str]) -> Answer:
    """The answer about transactions, whatever was asked of them."""
    from commands.output import Answer

    return Answer(
        command="decode-transactions",
        rows_name="transactions",
        columns=COLUMNS,
        rows=rows,
        summary=summary,
        warnings=warnings,
        kinds=kinds(),
    )


def kinds() -> dict[str, Kind]:
    """What the columns hold."""
    from kreplica.model.schema import Kind

    words = {"transactional_id", "state", "partitions"}
    return {name: Kind.STRING if name in words else Kind.BOOL if name == "overdue" else Kind.INT64 for name in COLUMNS}
