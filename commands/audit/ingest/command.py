"""kreplica audit ingest: snapshots taken into a history, as intervals by cluster and month."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.spark import FoldingMasterOption, RemoteOption, SettingOption, settings_of

if TYPE_CHECKING:
    from kreplica.system.stores.locations import Place

DumpsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="DUMP...",
        show_default=False,
        help="Dump directories, also s3://BUCKET/PREFIX, or directories of these; single dumps;"
        " sample for the packaged fleet.",
    ),
]
IntoOption = Annotated[
    str,
    typer.Option("--into", metavar="DIR", help="The history to add to, a path or s3://BUCKET/PREFIX; made if absent."),
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
    master: FoldingMasterOption = None,
    remote: RemoteOption = None,
    spark_conf: SettingOption = None,
    output: OutputOption = None,
) -> None:
    """Take snapshots into a history: the state of each topic, broker and setting, from when to when, by cluster and
    month.

    The order of the snapshots makes no difference, nor does taking one in twice. Each is verified once and may be
    deleted afterwards. Many snapshots are folded by one process for each processor, or on the Spark that --master or
    --remote names. Exits 5 when a snapshot cannot be read, or nothing tells its cluster.
    """
    from datetime import timedelta

    from analyzers.backfill import workers_for
    from commands.audit.ingest.answer import answer_to
    from commands.audit.ingest.screen import show
    from commands.audit.sample import with_sample
    from commands.shared.locations import place_for_files
    from commands.shared.printing.output import emit
    from commands.shared.printing.progress import Estimate, Progress
    from commands.shared.values import MOST_KEPT_SECONDS, parse_duration
    from kreplica.monitoring.snapshots.ingestion import ingest_dumps

    seconds = None if keep is None else parse_duration(keep, "--keep", most=MOST_KEPT_SECONDS)
    workers = workers_for(master, remote, settings_of(spark_conf))
    with Progress() as progress:
        found = ingest_dumps(
            [_anywhere(place) for place in with_sample(dumps)] if workers.elsewhere else with_sample(dumps),
            place_for_files(into, "--into"),
            cluster=cluster,
            keep=None if seconds is None else timedelta(seconds=seconds),
            compact=compact,
            seen=Estimate(progress, "snapshots folded").done,
            workers=workers,
        )
    emit(answer_to(found), output, lambda console: show(found, into, console))
    raise typer.Exit(found.exit_code)


def _anywhere(place: Place) -> Place:
    """The place as programs name it that stand in other folders."""
    return place.absolute() if isinstance(place, Path) else place
