"""kreplica decode segment: the batches and records of log segments, whatever wrote them, however they ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from commands.options import OutputOption, StdinFilenameOption
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.output import Answer, OutputFormat, Row
    from kreplica.formats.damage_tally import DamageTally
    from kreplica.model.schema import Kind

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...", help="Segments, partition directories, log directories, quoted patterns; - for stdin."
    ),
]
RecordsOption = Annotated[bool, typer.Option("--records", help="A row for each record instead of each batch.")]
IndexOption = Annotated[
    bool, typer.Option("--index", help="A row for each entry of the .index beside a segment, held against the log.")
]
TimeIndexOption = Annotated[bool, typer.Option("--timeindex", help="The same for the .timeindex; both may be given.")]
_BATCHES_SHOWN = {
    "base_offset": "from",
    "last_offset": "to",
    "count": "records",
    "leader_epoch": "epoch",
    "producer_id": "producer",
    "max_timestamp": "max_timestamp",
    "codec": "codec",
    "position": "position",
    "size": "size",
    "valid": "valid",
}
_RECORDS_SHOWN = {name: name for name in ("offset", "timestamp", "key", "value", "headers")}


@dataclass(frozen=True, slots=True)
class SegmentReading:
    """What was read: rows, damage, and the counts of the summary."""

    rows: Sequence[Row]
    damage: DamageTally
    files: int
    batches: int
    records: int
    read_bytes: int
    zero_bytes: int


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command("segment", short_help="Batches of log segments, or their records.")(segment)


def segment(
    paths: PathsArgument,
    records: RecordsOption = False,
    index: IndexOption = False,
    timeindex: TimeIndexOption = False,
    stdin_filename: StdinFilenameOption = None,
    output: OutputOption = None,
) -> None:
    """Show the batches of log segments, with --records the records in them, with --index where its index leads.

    Every version of batches and every codec is read; checksums are compared. A tail that a crash cut off, a damaged
    batch or bytes that are none are told and stepped over. Exits 1 when a file is damaged or an index leads elsewhere,
    2 when there is nothing to read, 5 when a segment has no such index beside it.
    """
    if index or timeindex:
        raise typer.Exit(_indexes(paths, stdin_filename, records, index, timeindex, output))
    from commands.streams import STREAMED

    if records and output in STREAMED:
        from commands.decode_segment_records import print_records

        with segment_files(paths, stdin_filename) as names:
            raise typer.Exit(print_records(names, output))
    from commands.decode_damage import damage_warnings
    from commands.output import Answer, emit
    from kreplica.formats.segment_rows import BATCH_FIELDS, RECORD_FIELDS

    reading = _read(paths, stdin_filename, with_records=records)
    columns = RECORD_FIELDS if records else BATCH_FIELDS
    answer = Answer(
        command="decode-segment",
        rows_name="records" if records else "batches",
        columns=columns,
        rows=reading.rows,
        summary=_summary(reading),
        warnings=damage_warnings(reading.damage.kept, reading.damage.places),
        kinds=_kinds(columns),
    )
    emit(answer, output, lambda console: _show(answer, reading, console, shown=_shown(records, reading.files)))
    raise typer.Exit(ExitCode.FINDINGS if reading.damage.places else ExitCode.OK)


def _indexes(
    paths: Sequence[str],
    stdin_filename: str | None,
    records: bool,
    index: bool,
    timeindex: bool,
    output: OutputFormat | None,
) -> ExitCode:
    from commands.decode_segment_indexes import show_indexes
    from commands.decode_stdin import refuse_stdin
    from kreplica.formats.checks.segment_indexes import IndexKind

    if records:
        raise UsageError("--records and an index are two answers", fix="give one of them")
    refuse_stdin(paths, "a segment with its indexes", "standard input has no file beside it", stdin_filename)
    asked = {IndexKind.offset: index, IndexKind.time: timeindex}
    return show_indexes(paths, [kind for kind, wanted in asked.items() if wanted], output)


def _shown(records: bool, files: int) -> dict[str, str]:
    shown = _RECORDS_SHOWN if records else _BATCHES_SHOWN
    return {**({"file": "file"} if files > 1 else {}), **shown}


@contextmanager
def segment_files(paths: Sequence[str], stdin_filename: str | None) -> Iterator[list[str]]:
    """The segments that are named, in order.

    Raises:
        UsageError: There are none.
    """
    from commands.decode_stdin import named_files
    from kreplica.formats.partition_logs import find_logs

    with named_files(paths, stdin_filename) as names:
        files = [path for log in find_logs(names) for path in log.segments]
        if not files:
            why = "no file there is named as a segment, 00000000000000000000.log"
            raise UsageError(
                f"no segments in {', '.join(paths)}", why, "name a partition's directory, or a file itself"
            )
        yield [str(path) for path in files]


def _read(paths: Sequence[str], stdin_filename: str | None, *, with_records: bool) -> SegmentReading:
    with segment_files(paths, stdin_filename) as names:
        return _read_files(names, with_records=with_records)


def _read_files(names: Sequence[str], *, with_records: bool) -> SegmentReading:
    from pathlib import Path

    from commands.streams import rows_of
    from kreplica.formats.batch_windows import read_windows
    from kreplica.formats.damage_tally import DamageTally
    from kreplica.formats.file_bytes import FileBytes
    from kreplica.formats.records import decode_records
    from kreplica.formats.segment_rows import RECORD_JSON, BatchRows, record_table

    damage, parts = DamageTally(), []
    rows: list[Row] = []
    counts = {"batches": 0, "records": 0, "read_bytes": 0, "zero_bytes": 0}
    for name in names:
        with FileBytes.open(Path(name)) as source:
            counts["read_bytes"] += source.size
            for window in read_windows(source):
                damage.add(window.damage)
                counts["batches"] += len(window.batches)
                counts["zero_bytes"] += window.zero_bytes
                parts.append((name, window.batches))
                for records in decode_records(window):
                    damage.add(records.damage)
                    counts["records"] += len(records)
                    rows += rows_of(record_table(name, records), RECORD_JSON) if with_records else []
    return SegmentReading(rows if with_records else BatchRows(parts), damage, len(names), **counts)


def _summary(reading: SegmentReading) -> Row:
    from commands.decode_damage import damage_objects

    return {
        "files": reading.files,
        "batches": reading.batches,
        "records": reading.records,
        "bytes": reading.read_bytes,
        "preallocated_bytes": reading.zero_bytes,
        "damaged_places": reading.damage.places,
        "skipped_bytes": reading.damage.skipped,
        "damage": damage_objects(reading.damage.kept),
    }


def _kinds(columns: Sequence[str]) -> dict[str, Kind]:
    from kreplica.model.schema import Kind

    words, truths = {"file", "codec", "key", "value", "headers"}, {"transactional", "control", "valid"}
    return {name: Kind.STRING if name in words else Kind.BOOL if name in truths else Kind.INT64 for name in columns}


def _show(answer: Answer, reading: SegmentReading, console: Console, shown: dict[str, str]) -> None:
    from commands.screen import print_lines, print_verdict
    from commands.tables import print_table

    if len(answer.rows):
        cells = [[_cell(row[name]) for name in shown] for row in answer.rows]
        print_table(
            [title.upper() for title in shown.values()], cells, color=console.is_terminal and not console.no_color
        )
    word, color = ("DAMAGED", "red") if reading.damage.places else ("OK", "green")
    files = _count(reading.files, "segment")
    told = f"{_count(reading.batches, 'batch', 'batches')}, {_count(reading.records, 'record')} in {files}"
    if reading.damage.places:
        left_out = f"{_count(reading.damage.skipped, 'byte')} left out"
        told = f"{_count(reading.damage.places, 'damaged place')}, {left_out}; {told}"
    print_verdict(console, word, color, told)
    if reading.zero_bytes:
        print_lines(console, "means", [f"{_count(reading.zero_bytes, 'byte')} preallocated and not written yet"])


def _cell(value: object) -> object:
    if isinstance(value, list):
        return ",".join(f"{entry['key']}:{entry['value']}" for entry in value) or None
    return value


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"
