"""kreplica imbalance: partitions not led by their preferred leader, and what brings these leaders back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from commands.imbalance.view import BalancedView
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

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.model.schema import Kind
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.monitoring.clusters import Reading

COLUMNS = (
    "broker",
    "rack",
    "alive",
    "preferred_partitions",
    "non_preferred",
    "ratio",
    "electable",
    "leaders",
    "replicas",
    "bytes",
    "controller_would_act",
    "reason",
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
    from commands.imbalance.screen import show, word_of
    from commands.shared.printing.output import emit
    from commands.shared.printing.verdicts import code_of
    from kreplica.monitoring.clusters import read_clusters, select_each
    from kreplica.sources import Facet

    reading = read_clusters(sources.handles(), Facet.LOG_DIRS | Facet.BALANCE)
    snapshots, remarks = select_each(reading.snapshots, topics=topic, exclude_internal=exclude_internal)
    narrow = narrowed(topic, exclude_internal)
    views = [_view(snapshot, f"{sources.again(snapshot.name)}{narrow}") for snapshot in snapshots]
    emit(_answer(reading, views, remarks), output, lambda console: show(views, console))
    words = [word_of(view) for view in views]
    raise typer.Exit(code_of(*words, *["INCOMPLETE"] * reading.incomplete, exit_zero=exit_zero))


def _view(snapshot: ClusterSnapshot, options: str) -> BalancedView:
    from kreplica.health.imbalance import imbalance_of, spreads_of

    found = imbalance_of(snapshot)
    return BalancedView(snapshot, found, spreads_of(found.brokers), options)


def _answer(reading: Reading, views: Sequence[BalancedView], remarks: Sequence[str]) -> Answer:
    from commands.shared.printing.output import Answer, cluster_object

    lead = ("cluster",) if reading.several else ()
    rows = []
    for view in views:
        of = {"cluster": view.snapshot.label} if reading.several else {}
        rows += [of | _rounded(asdict(broker)) for broker in view.imbalance.brokers]
    return Answer(
        command="imbalance",
        rows_name="brokers",
        columns=(*lead, *COLUMNS),
        rows=rows,
        clusters=[cluster_object(view.snapshot) for view in views],
        summary=_summary(views, several=reading.several),
        warnings=[*reading.warnings(), *remarks],
        kinds=_kinds(),
    )


def _rounded(row: dict[str, object]) -> dict[str, object]:
    ratio = row["ratio"]
    return row | {"ratio": round(ratio, 4) if isinstance(ratio, float) else None}


def _summary(views: Sequence[BalancedView], *, several: bool) -> dict[str, object]:
    parts = [_summary_of(view) for view in views]
    if not several:
        return parts[0]
    return {"clusters": [{"cluster": view.snapshot.label} | part for view, part in zip(views, parts, strict=True)]}


def _summary_of(view: BalancedView) -> dict[str, object]:
    from kreplica.health.imbalance import diagnosis

    found = view.imbalance
    return {
        "partitions": len(view.snapshot.partitions),
        "imbalance_count": len(found.partitions),
        "preferred_replica_imbalance_count": found.metric,
        "electable": found.electable,
        "unknown": found.unknown,
        "mode": None if found.mode is None else found.mode.value,
        "balancing": asdict(found.balancing),
        "skew": [spread.as_row() for spread in view.spreads.values()],
        "diagnosis": diagnosis(view.spreads, len(found.partitions)),
        "non_preferred": [asdict(item) for item in found.partitions],
    }


def _kinds() -> dict[str, Kind]:
    from kreplica.model.schema import Kind

    kinds = dict.fromkeys(("cluster", "rack", "reason"), Kind.STRING)
    kinds |= dict.fromkeys(("alive", "controller_would_act"), Kind.BOOL)
    counts = ("preferred_partitions", "non_preferred", "electable", "leaders", "replicas", "bytes")
    return kinds | {"broker": Kind.INT32} | dict.fromkeys(counts, Kind.INT64)
