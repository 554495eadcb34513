"""kreplica audit ingest: snapshots taken into a history, as intervals by cluster and month."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options import OutputOption

DumpsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DUMP...",
        show_default=False,
        help="Dump directories, or directories of these; also single dumps; sample for the packaged fleet.",
    ),
]
IntoOption = Annotated[
    Path, typer.Option("--into", metavar="DIR", file_okay=False, help="The history to add to; made if absent.")
]
ClusterOption = Annotated[
    str | None, typer.Option("--cluster", metavar="NAME", help="Whose the snapshots without a cluster id are.")
]
KeepOption = Annotated[
    str | None,
    typer.Option("--keep", metavar="DURATION", help="Refuse older snapshots, drop older months: 400d."),
]
CompactOption = Annotated[
    bool, typer.Option("--compact", help="Join the pieces of each month: of equal snapshots the files are equal.")
]


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "ingest",
        short_help="Take snapshots into a history.",
        epilog=examples(
            "kreplica audit ingest sample --into history",
            "kreplica audit ingest topics.txt --cluster prod-eu --into history --keep 400d",
        ),
    )(ingest)


def ingest(
    dumps: DumpsArgument,
    into: IntoOption,
    cluster: ClusterOption = None,
    keep: KeepOption = None,
    compact: CompactOption = False,
    output: OutputOption = None,
) -> None:
    """Take snapshots into a history: what each topic, broker and setting was, from when to when, by cluster and month.

    In which order they come, and how often, makes no difference. Each is verified once; afterwards it may be deleted.
    Exits 5 when a snapshot cannot be read, or nothing says whose it is.
    """
    from datetime import timedelta

    from commands.audit.ingest.answer import answer_to
    from commands.audit.ingest.screen import show
    from commands.audit.sample import with_sample
    from commands.shared.printing.output import emit
    from commands.shared.values import MOST_KEPT_SECONDS, parse_duration
    from kreplica.monitoring.ingestion import ingest_dumps

    seconds = None if keep is None else parse_duration(keep, "--keep", most=MOST_KEPT_SECONDS)
    found = ingest_dumps(
        with_sample(dumps),
        into,
        cluster=cluster,
        keep=None if seconds is None else timedelta(seconds=seconds),
        compact=compact,
    )
    emit(answer_to(found), output, lambda console: show(found, str(into), console))
    raise typer.Exit(found.exit_code)
