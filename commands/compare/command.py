"""kreplica compare: differences of two views of one cluster, and which of them is newer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import ConfigOption, OutputOption, TimeoutOption

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.comparison import Difference
    from kreplica.monitoring.comparison import ComparedClusters

SETTLE = "2s"
_SOURCE_HELP = (
    "bootstrap:HOST:PORT (that broker's own view), bootstrap:HOST:PORT,HOST:PORT (the cluster's),"
    " zookeeper:HOST:PORT/CHROOT, dump:PATH, context:NAME or zookeeper-of:CONTEXT."
)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "compare",
        short_help="Compare two views of one cluster, and tell which is newer.",
        epilog=examples(
            "kreplica compare dump:before.json bootstrap:kafka1:9092",
            "kreplica compare zookeeper:zk1:2181 bootstrap:kafka1:9092 --settle 5s",
        ),
    )(compare)


def compare(
    left: Annotated[str, typer.Argument(metavar="SOURCE", help=_SOURCE_HELP, show_default=False)],
    right: Annotated[str, typer.Argument(metavar="SOURCE", help="The other view of the same cluster.")],
    settle: Annotated[
        str, typer.Option("--settle", metavar="DURATION", help="Time between the two reads; 0 for one read only.")
    ] = SETTLE,
    everything: Annotated[bool, typer.Option("--all", help="List every difference on the screen.")] = False,
    command_config: Annotated[
        str | None,
        typer.Option("--command-config", metavar="FILE", help="Java client properties of bootstrap: and zookeeper:."),
    ] = None,
    config: ConfigOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = None,
) -> None:
    """Compare two views of one cluster: ZooKeeper with the brokers, one broker with another, a dump with today.

    Both sides are read at the same time. If they differ, they are read again, and only differences that remain are
    reported, not changes under way. Facts that one side does not have are counted, not compared. The screen groups many
    differences by field and meaning, unless --all is given.

    Exits 1 when the sides differ, 0 when they agree, 5 when they agree but something could not be read.
    """
    from commands.compare.answer import SharedOptions, parse_source
    from commands.compare.screen import show
    from commands.shared.printing.output import emit
    from commands.shared.values import parse_duration
    from kreplica.monitoring.comparison import compare_clusters

    pause = parse_duration(settle, "--settle")
    shared = SharedOptions(command_config, config, timeout)
    handles = parse_source(left, shared), parse_source(right, shared)
    compared = compare_clusters(*handles, settle=pause)
    answer = _answer(compared, handles)
    emit(answer, output, lambda console: show(compared, (left, right), pause, console, each=everything))
    raise typer.Exit(compared.exit_code)


def _answer(compared: ComparedClusters, handles: Sequence[ClusterHandle]) -> Answer[Difference]:
    from commands.shared.printing.output import Answer, cluster_object
    from kreplica.model.comparison import Difference
    from kreplica.monitoring.clusters import Reading

    comparison = compared.comparison
    return Answer(
        command="compare",
        rows_name="differences",
        columns=Difference,
        rows=comparison.differences,
        clusters=[cluster_object(side) for side in compared.sides],
        summary={
            "differences": len(comparison.differences),
            "passing": compared.passing,
            "partitions": comparison.partitions,
            "brokers": comparison.brokers,
            "not_comparable": dict(comparison.unknown),
        },
        warnings=Reading(compared.sides, (), handles).warnings(),
    )
