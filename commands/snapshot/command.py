"""kreplica snapshot: the state of clusters written to a dump directory, for audit, for later, for a colleague."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options import OutputOption, SourceOptions, takes_sources
from commands.shared.printing.terminal import print_out
from kreplica.errors import ExitCode, worst_of

if TYPE_CHECKING:
    from rich.console import Console

    from commands.snapshot.answer import Outcome
    from kreplica.sources import Facet

COLUMNS = ("cluster", "name", "status", "taken_at", "partitions", "brokers", "bytes", "manifest", "error")


class Extra(StrEnum):
    """Optional parts of a snapshot."""

    groups = "groups"


OutOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", file_okay=False, help="Dump directory to add to; made if absent.")
]
JobsOption = Annotated[int, typer.Option("--jobs", min=1, max=64, metavar="N", help="Clusters read at once.")]
WithOption = Annotated[
    list[Extra] | None, typer.Option("--with", help="Also read consumer groups and their committed offsets.")
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("snapshot", short_help="Write the state of one or many clusters to a directory.")(snapshot)


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
    from commands.shared.printing.output import Answer, cluster_object, emit
    from commands.snapshot.answer import progress, take_snapshots

    handles = sources.handles()
    with progress(len(handles)) as seen:
        outcomes = take_snapshots(handles, out, jobs, _wanted(extras or ()), seen)
    rows = [_row(outcome) for outcome in outcomes]
    answer = Answer(
        command="snapshot",
        rows_name="snapshots",
        columns=COLUMNS,
        rows=rows,
        clusters=[cluster_object(outcome.snapshot) for outcome in outcomes if outcome.snapshot is not None],
        summary=_summary(outcomes),
        warnings=_warnings(outcomes),
    )
    emit(answer, output, lambda console: _show(outcomes, out, console))
    raise typer.Exit(_exit_code(outcomes))


def _wanted(extras: Sequence[Extra]) -> Facet:
    from kreplica.sources import Facet

    return Facet.ALL if Extra.groups in extras else Facet.ALL & ~Facet.GROUPS


def _row(outcome: Outcome) -> dict[str, object]:
    read = outcome.snapshot
    return {
        "cluster": None if read is None else read.label,
        "name": outcome.handle.name,
        "status": outcome.status,
        "taken_at": None if read is None else read.taken_at.isoformat(),
        "partitions": None if read is None else len(read.partitions),
        "brokers": None if read is None else len(read.brokers),
        "bytes": None if outcome.manifest is None else outcome.bytes,
        "manifest": None if outcome.manifest is None else str(outcome.manifest),
        "error": None if outcome.error is None else str(outcome.error),
    }


def _summary(outcomes: Sequence[Outcome]) -> dict[str, object]:
    counts = Counter(outcome.status for outcome in outcomes)
    size = sum(outcome.bytes for outcome in outcomes)
    return {"written": counts["written"], "partial": counts["partial"], "failed": counts["failed"], "bytes": size}


def _warnings(outcomes: Sequence[Outcome]) -> list[str]:
    lead = "{name}: {message}" if len(outcomes) > 1 else "{message}"
    found = [
        lead.format(name=outcome.handle.name, message=message) for outcome in outcomes for message in outcome.warnings()
    ]
    ids = Counter(outcome.snapshot.cluster_id for outcome in outcomes if outcome.snapshot is not None)
    twice = sorted(cluster for cluster, times in ids.items() if cluster is not None and times > 1)
    return found + [f"cluster {cluster} was named more than once: audit counts each snapshot" for cluster in twice]


def _exit_code(outcomes: Sequence[Outcome]) -> ExitCode:
    """5 as soon as anything was written but not all; that of the worst error when nothing was."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if len(errors) == len(outcomes):
        return worst_of(errors).exit_code
    whole = all(outcome.status == "written" for outcome in outcomes)
    return ExitCode.OK if whole else ExitCode.INCOMPLETE


def _show(outcomes: Sequence[Outcome], out: Path, console: Console) -> None:
    from commands.shared.printing.screen import print_table

    written = [outcome for outcome in outcomes if outcome.manifest is not None]
    failed, partial = len(outcomes) - len(written), sum(outcome.status == "partial" for outcome in outcomes)
    tail = "".join([f", {partial} partial" if partial else "", f", {failed} failed" if failed else ""])
    verdict = "INCOMPLETE" if tail else "OK"
    print_out(f"{verdict} {len(written)} of {len(outcomes)} snapshots written to {out}{tail}")
    columns = ["cluster", "name", "status", "taken_at", "partitions", "brokers", "bytes"]
    cells = [[row[name] for name in columns] for row in map(_row, outcomes)]
    print_table([name.upper() for name in columns], cells, color=console.is_terminal and not console.no_color)
    if written:
        print_out(f"next   kreplica audit {out}")
