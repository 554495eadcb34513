"""kreplica snapshot: the state of clusters written to a dump directory, for audit, for later, for a colleague."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption, SourceOptions, takes_sources
from commands.shared.printing.terminal import print_err, print_out

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer
    from kreplica.monitoring.snapshots.taking import SnapshotRow, TakenSnapshot, TakenSnapshots
    from kreplica.sources import Facet


class Extra(StrEnum):
    """Optional parts of a snapshot."""

    groups = "groups"


OutOption = Annotated[
    str,
    typer.Option(
        "--out", metavar="DIR", help="Dump directory to add to, a path or s3://BUCKET/PREFIX; made if absent."
    ),
]
JobsOption = Annotated[int, typer.Option("--jobs", min=1, max=64, metavar="N", help="Clusters read at once.")]
WithOption = Annotated[
    list[Extra] | None, typer.Option("--with", help="Also read consumer groups and their committed offsets.")
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "snapshot",
        short_help="Write the state of one or many clusters to a directory.",
        epilog=examples(
            "kreplica snapshot --dump sample --out dumps",
            "kreplica snapshot --context 'prod-*' --out dumps --jobs 8",
        ),
    )(snapshot)


@takes_sources
def snapshot(
    sources: SourceOptions,
    out: OutOption,
    jobs: JobsOption = 4,
    extras: WithOption = None,
    output: OutputOption = None,
) -> None:
    """Write the state of one cluster or many to a directory, each snapshot whole or not at all.

    Read it with --dump DIR, or many with kreplica audit DIR. Exits 5 when a snapshot is partial or some of several
    clusters failed, 3 when no cluster could be reached.
    """
    from commands.shared.locations import place_for_files
    from commands.shared.printing.output import emit
    from commands.snapshot.answer import answer
    from commands.snapshot.progress import progress
    from kreplica.monitoring.snapshots.taking import take_snapshots

    place = place_for_files(out, "--out")
    handles = sources.handles()
    done: list[TakenSnapshot] = []
    try:
        with progress(len(handles), done) as seen:
            found = take_snapshots(handles, place, jobs=jobs, wanted=_wanted(extras or ()), seen=seen)
    except KeyboardInterrupt:
        from kreplica.model.wording.words import counted

        written = sum(one.manifest is not None for one in done)
        print_err(f"{written} of {counted(len(handles), 'snapshot')} written to {out}, each whole")
        raise
    made = answer(found)
    emit(made, output, lambda console: _show(found, made, out, console))
    raise typer.Exit(found.exit_code)


def _wanted(extras: Sequence[Extra]) -> Facet:
    from kreplica.monitoring.snapshots.taking import WITHOUT_GROUPS
    from kreplica.sources import Facet

    return Facet.ALL if Extra.groups in extras else WITHOUT_GROUPS


def _show(found: TakenSnapshots, answer: Answer[SnapshotRow], out: str, console: Console) -> None:
    from commands.shared.printing.screen import print_lines, print_rows, utc
    from commands.shared.values import size_words
    from kreplica.model.wording.words import counted
    from kreplica.monitoring.snapshots.taking import SnapshotRow

    written, partial, failed = found.counts.values()
    written += partial
    tail = "".join([f", {partial} partial" if partial else "", f", {failed} failed" if failed else ""])
    verdict = "INCOMPLETE" if tail else "OK"
    print_out(f"{verdict} {written} of {counted(len(found.taken), 'snapshot')} written to {out}{tail}")
    cells = {"taken_at": lambda text: utc(datetime.fromisoformat(text)), "bytes": size_words}
    print_rows(console, SnapshotRow, answer.rows, cells=cells)
    print_lines(console, "next", [f"kreplica audit {shlex.quote(out)}"] * bool(written), whole=True)
