"""kreplica imbalance: partitions not led by their preferred leader, and what brings these leaders back."""

from __future__ import annotations

import typer

from commands.shared.help import examples
from commands.shared.options import (
    ExcludeInternalOption,
    ExitZeroOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    narrowed,
    takes_sources,
)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "imbalance",
        short_help="Show partitions not led by their preferred replica, and why.",
        epilog=examples(
            "kreplica imbalance --dump sample --exclude-internal",
            "kreplica imbalance --bootstrap-server kafka1:9092 --topic 'orders.*'",
        ),
    )(imbalance)


@takes_sources
def imbalance(
    sources: SourceOptions,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Show the spread of leaders over brokers: the ZooKeeper controller's ratio and KRaft's count, whether and when the
    controller brings leaders back by itself or why it does not, which could be elected now, and what is skewed.

    Exits 1 when partitions are led by another than their preferred leader, 5 when none is but something could not be
    read.
    """
    from commands.imbalance.answer import answer, balanced
    from commands.imbalance.screen import show, word_of
    from commands.shared.printing.output import emit
    from commands.shared.printing.verdicts import code_of
    from kreplica.monitoring.clusters import read_clusters, select_each
    from kreplica.sources import Facet

    reading = read_clusters(sources.handles(), Facet.LOG_DIRS | Facet.BALANCE)
    snapshots, remarks = select_each(reading.snapshots, topics=topic, exclude_internal=exclude_internal)
    narrow = narrowed(topic, exclude_internal)
    views = [balanced(snapshot, f"{sources.again(snapshot.name)}{narrow}") for snapshot in snapshots]
    emit(answer(reading, views, remarks), output, lambda console: show(views, console))
    words = [word_of(view) for view in views]
    raise typer.Exit(code_of(*words, *["INCOMPLETE"] * reading.incomplete, exit_zero=exit_zero))
