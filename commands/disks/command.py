"""kreplica disks: log directories, their free space, and what uses it up."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import (
    BROKERS,
    LARGEST_INT32,
    ExitZeroOption,
    OutputOption,
    SourceOptions,
    exit_of,
    takes_sources,
)
from kreplica.errors import UsageError


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "disks",
        short_help="Show log directories: free space, largest partitions, days until full.",
        epilog=examples(
            "kreplica disks --dump sample --top 5",
            "kreplica disks --bootstrap-server kafka1:9092 --since dumps --min-days 14",
        ),
    )(disks)


@takes_sources
def disks(
    sources: SourceOptions,
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Only log directories of these brokers.")
    ] = None,
    top: Annotated[
        int,
        typer.Option("--top", min=0, max=LARGEST_INT32, metavar="N", help="Number of the largest partitions shown."),
    ] = 10,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DUMP",
            help="An earlier snapshot, for growth: a manifest, a dump directory (the oldest of this cluster in it), or"
            " with --dump DIR a moment such as 7d.",
        ),
    ] = None,
    min_usable: Annotated[
        float | None,
        typer.Option(
            "--min-usable",
            min=0,
            max=100,
            metavar="PERCENT",
            help="Exit 1 if less space is usable, instead of 10 percent.",
        ),
    ] = None,
    min_days: Annotated[
        float | None,
        typer.Option(
            "--min-days",
            min=0,
            metavar="DAYS",
            help="Exit 1 if a volume will be full sooner, instead of 7 days; needs --since.",
        ),
    ] = None,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Show every log directory: free space of its volume, what Kafka stores there, the largest partitions, their
    retention.

    Strays are replicas that the cluster does not assign to their broker; future replicas are copies under way within a
    broker. With an earlier snapshot: growth, and days until a volume is full.

    Exits 1 when a directory is offline, nearly full or full soon, by --min-usable and --min-days if given. Exits 5 when
    the log directories of a broker are not known and nothing worse was found.
    """
    from commands.disks.answer import answer
    from commands.disks.screen import show
    from commands.shared.printing.output import emit
    from commands.shared.values import parse_ids
    from kreplica.monitoring.disk_space import DiskLimits

    if min_days is not None and since is None:
        raise UsageError("--min-days needs --since", "growth takes two snapshots", "name an earlier one: --since DUMP")
    limits = DiskLimits(min_usable, min_days)
    found = answer(sources, parse_ids(broker or ()), top, since, limits)
    emit(found.answer, output, lambda console: show(found, sources, console))
    code = found.found.exit_code
    raise exit_of(code, exit_zero=exit_zero)
