"""kreplica decode segment: the batches and records of log segments, of every version, damaged or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption, StdinFilenameOption
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.decode.segment.reading import SegmentsAnswer
    from commands.shared.printing.output import Answer, OutputFormat, Row
    from kreplica.formats.logs.segment_files import SegmentsRead
    from kreplica.model.tables.schema import Kind

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
TimeIndexOption = Annotated[
    bool, typer.Option("--timeindex", help="The same for the .timeindex; may be combined with --index.")
]
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


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "segment",
        short_help="Show the batches of log segments, or their records.",
        epilog=examples(
            "kreplica decode segment /srv/kafka/orders-0",
            "kreplica decode segment /srv/kafka/orders-0/00000000000000000000.log --records -o jsonl",
        ),
    )(segment)


def segment(
    paths: PathsArgument,
    records: RecordsOption = False,
    index: IndexOption = False,
    timeindex: TimeIndexOption = False,
    stdin_filename: StdinFilenameOption = None,
    output: OutputOption = None,
) -> None:
    """Show the batches of log segments; with --records the records in them, with --index where its index points.

    Every version of batches and every codec is read, and checksums are compared. A tail that a crash cut off, a damaged
    batch and bytes that are not a batch are reported and skipped. Exits 1 when a file is damaged or an index points
    elsewhere, 2 when there is nothing to read, 5 when a segment has no such index beside it.
    """
    if index or timeindex:
        raise typer.Exit(_indexes(paths, stdin_filename, records, index, timeindex, output))
    with segment_files(paths, stdin_filename) as read:
        if records:
            from commands.decode.segment.reading import print_records

            raise typer.Exit(print_records(read, output))
        raise typer.Exit(_print_batches(read, output))


def _print_batches(read: SegmentsRead, output: OutputFormat | None) -> ExitCode:
    from commands.decode.damage_lines import damage_warnings
    from commands.decode.segment.reading import SegmentsAnswer
    from commands.shared.printing.output import Answer, emit
    from kreplica.formats.segments.rows import BATCH_FIELDS

    rows = read.batch_rows()
    found = SegmentsAnswer(read)
    answer = Answer(
        command="decode-segment",
        rows_name="batches",
        columns=BATCH_FIELDS,
        rows=rows,
        summary=found.summary(),
        warnings=damage_warnings(read.damage.kept, read.damage.places),
        kinds=_kinds(BATCH_FIELDS),
    )
    emit(answer, output, lambda console: _show(answer, found, console))
    return read.exit_code


def _indexes(
    paths: Sequence[str],
    stdin_filename: str | None,
    records: bool,
    index: bool,
    timeindex: bool,
    output: OutputFormat | None,
) -> ExitCode:
    from commands.decode.segment.indexes import show_indexes
    from commands.decode.stdin import refuse_stdin
    from kreplica.formats.checks.segment_indexes import IndexKind

    if records:
        raise UsageError("--records and an index are two answers", fix="give one of them")
    refuse_stdin(paths, "a segment with its indexes", "standard input has no file beside it", stdin_filename)
    asked = {IndexKind.offset: index, IndexKind.time: timeindex}
    return show_indexes(paths, [kind for kind, wanted in asked.items() if wanted], output)


@contextmanager
def segment_files(paths: Sequence[str], stdin_filename: str | None) -> Iterator[SegmentsRead]:
    """Finds the named segments; yields them, in order, to be read.

    Raises:
        UsageError: There are none.
    """
    from commands.decode.stdin import named_files
    from kreplica.formats.logs.segment_files import decode_segment

    with named_files(paths, stdin_filename) as names:
        yield decode_segment(names)


def _kinds(columns: Sequence[str]) -> dict[str, Kind]:
    from kreplica.model.tables.schema import Kind

    words, truths = {"file", "codec"}, {"transactional", "control", "valid"}
    return {name: Kind.STRING if name in words else Kind.BOOL if name in truths else Kind.INT64 for name in columns}


def _show(answer: Answer[Row], found: SegmentsAnswer, console: Console) -> None:
    from commands.shared.printing.screen import print_table

    shown = {**({"file": "file"} if len(found.read.names) > 1 else {}), **_BATCHES_SHOWN}
    if len(answer.rows):
        cells = ([row[name] for name in shown] for row in answer.rows)
        titles = [title.upper() for title in shown.values()]
        print_table(titles, cells, color=console.is_terminal and not console.no_color)
    found.print_verdict(console)
