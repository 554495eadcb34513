"""kreplica decode indexes: entries of a segment's indexes, and the producers in a partition's snapshots."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption, StdinFilenameOption

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.formats.logs.index_rows import IndexEntries

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...", help="Files, partitions' directories, log directories, or quoted patterns; - for stdin."
    ),
]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "indexes",
        short_help="Show index entries, aborted transactions, producers.",
        epilog=examples(
            "kreplica decode indexes /srv/kafka/orders-0",
            "kreplica decode indexes /srv/kafka/orders-0/00000000000000000000.timeindex",
        ),
    )(indexes)


def indexes(paths: PathsArgument, stdin_filename: StdinFilenameOption = None, output: OutputOption = None) -> None:
    """Show the entries of .index, .timeindex and .txnindex files and of producer snapshots (.snapshot).

    Zeros that a broker has preallocated are not entries. Exits 1 when a file is damaged (the others are still read), 2
    when there are none.
    """
    from commands.decode.damage_lines import damage_objects, damage_warnings
    from commands.decode.stdin import INDEX, named_files
    from commands.shared.printing.output import Answer, emit
    from kreplica.formats.logs.index_rows import IndexEntry, decode_indexes

    with named_files(paths, stdin_filename, INDEX) as names:
        found = decode_indexes(names)
    rows, damage = found.rows, found.damage
    answer = Answer(
        command="decode-indexes",
        rows_name="entries",
        columns=IndexEntry,
        rows=rows,
        summary={
            "files": len(found.files),
            "entries": dict(Counter(row.kind for row in rows)),
            "damage": damage_objects(damage),
        },
        warnings=damage_warnings(damage),
    )
    emit(answer, output, lambda console: _show(found, console))
    raise typer.Exit(found.exit_code)


def _show(found: IndexEntries, console: Console) -> None:
    from commands.decode.damage_lines import count_places
    from commands.decode.shared_folder import shared_folder
    from commands.shared.printing.screen import print_lines, print_rows, print_verdict
    from kreplica.formats.logs.index_rows import IndexEntry
    from kreplica.model.tables.rows import names_of
    from kreplica.model.wording.words import counted

    rows = found.rows
    told = [name for name in names_of(IndexEntry) if any(getattr(row, name) is not None for row in rows)]
    folder, rest = shared_folder(row.file for row in rows)
    print_rows(console, IndexEntry, rows, shown=told, cells={"file": rest})
    scope = f"{counted(len(rows), 'entry', 'entries')} in {counted(len(found.files), 'file')}"
    if found.damage:
        print_verdict(console, "DAMAGED", "red", f"{count_places(len(found.damage))}; {scope}")
    else:
        print_verdict(console, "OK", "green", scope)
    print_lines(console, "folder", folder)
