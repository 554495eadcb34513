"""kreplica compare: differences of two views of one cluster, and which of them is newer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from commands.compare.view import Compared
from commands.shared.help import examples
from commands.shared.options import ConfigOption, OutputOption, TimeoutOption
from commands.shared.values import parse_duration

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.comparison import Comparison, Difference
    from kreplica.model.snapshot import ClusterSnapshot

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
    command_config: Annotated[
        str | None,
        typer.Option("--command-config", metavar="FILE", help="Java client properties of bootstrap: and zookeeper:."),
    ] = None,
    config: ConfigOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = None,
) -> None:
    """Compare two views of one cluster: ZooKeeper with the brokers, one broker with another, a dump with today.

    Both sides are read at the same time. Where they differ they are read again, and only what differs both times is
    reported: a change that was still on its way is no difference. What one side cannot know is counted, not compared.

    Exits 1 when the sides differ, 0 when they agree, 5 when they agree and something could not be read.
    """
    from commands.compare.answer import SharedOptions, parse_source
    from commands.compare.screen import show
    from commands.shared.printing.output import emit

    pause = parse_duration(settle, "--settle")
    shared = SharedOptions(command_config, config, timeout)
    handles = parse_source(left, shared), parse_source(right, shared)
    compared = _compared(*handles, pause)
    answer = _answer(compared, handles)
    emit(answer, output, lambda console: show(compared, (left, right), pause, console))
    raise typer.Exit(compared.exit_code)


def _compared(left: ClusterHandle, right: ClusterHandle, settle: float) -> Compared:
    from commands.compare.answer import read_again, read_both
    from kreplica.model import comparison

    sides = read_both(left, right)
    first = comparison.compare(*sides)
    if not first.differences or not settle or (left.dump is not None and right.dump is not None):
        return Compared(sides, first, 0)
    time.sleep(settle)
    sides = read_again(left, right, sides)
    return _twice(sides, first, comparison.compare(*sides))


def _twice(sides: tuple[ClusterSnapshot, ClusterSnapshot], first: Comparison, second: Comparison) -> Compared:
    """Keeps what differs in both readings."""
    from msgspec import structs

    before = {one.key: one for one in first.differences}
    kept = tuple(
        structs.replace(one, lasting=_values(one) == _values(before[one.key]))
        for one in second.differences
        if one.key in before
    )
    passing = len({*before, *(one.key for one in second.differences)}) - len(kept)
    return Compared(sides, replace(second, differences=kept), passing)


def _values(difference: Difference) -> tuple[str | None, str | None]:
    return difference.left, difference.right


def _answer(compared: Compared, handles: Sequence[ClusterHandle]) -> Answer:
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
