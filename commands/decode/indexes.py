"""kreplica decode indexes: entries of a segment's indexes, and the producers in a partition's snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options import OutputOption, StdinFilenameOption

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer
    from kreplica.formats.damage import Damage
    from kreplica.model.schema import Kind

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

    Zeros that a broker allocated ahead are no entries. Exits 1 when a file is damaged (all else is read nevertheless),
    2 when there are none.
    """
    from commands.decode.damage_lines import damage_objects, damage_warnings
    from commands.decode.stdin import INDEX, named_files
    from commands.shared.printing.output import Answer, emit
    from kreplica.formats.logs.index_rows import COLUMNS, decode_indexes

    with named_files(paths, stdin_filename, INDEX) as names:
        found = decode_indexes(names)
    rows, damage = found.rows, found.damage
    answer = Answer(
        command="decode-indexes",
        rows_name="entries",
        columns=COLUMNS,
        rows=rows,
        summary={
            "files": len(found.files),
            "entries": dict(Counter(str(row["kind"]) for row in rows)),
            "damage": damage_objects(damage),
        },
        warnings=damage_warnings(damage),
        kinds=_kinds(COLUMNS),
    )
    emit(answer, output, lambda console: _show(answer, damage, console))
    raise typer.Exit(found.exit_code)


def _kinds(columns: Sequence[str]) -> dict[str, Kind]:
    from kreplica.model.schema import Kind

    return {name: Kind.STRING if name in ("file", "kind") else Kind.INT64 for name in columns}


def _show(answer: Answer, damage: Sequence[Damage], console: Console) -> None:
    from commands.decode.damage_lines import count_places
    from commands.shared.printing.screen import print_table, print_verdict
    from kreplica.model.words import counted

    told = [name for name in answer.names if any(row.get(name) is not None for row in answer.rows)]
    if answer.rows:
        cells = ([row.get(name) for name in told] for row in answer.rows)
        print_table([name.upper() for name in told], cells, color=console.is_terminal and not console.no_color)
    scope = f"{counted(len(answer.rows), 'entry', 'entries')} in {counted(int(str(answer.summary['files'])), 'file')}"
    if damage:
        print_verdict(console, "DAMAGED", "red", f"{count_places(len(damage))}; {scope}")
    else:
        print_verdict(console, "OK", "green", scope)
