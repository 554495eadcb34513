"""The answer of imbalance: the brokers of each cluster, and what the controller makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from msgspec import structs

from commands.shared.printing.output import Answer, cluster_object
from kreplica.health.imbalance import BrokerBalance, Imbalance, Measure, Spread, diagnosis, imbalance_of, spreads_of
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.monitoring.clusters import Reading


@dataclass(frozen=True, slots=True)
class BalancedView:
    """One cluster and its balance.

    Args:
        snapshot: The selected partitions.
        imbalance: Their balance.
        spreads: Distribution of leaders, replicas and bytes over the brokers.
        options: The options for connection and selection, for the next commands.
    """

    snapshot: ClusterSnapshot
    imbalance: Imbalance
    spreads: dict[Measure, Spread]
    options: str


def balanced(snapshot: ClusterSnapshot, options: str) -> BalancedView:
    """Judges the balance of one cluster."""
    found = imbalance_of(snapshot)
    return BalancedView(snapshot, found, spreads_of(found.brokers), options)


def answer(reading: Reading, views: Sequence[BalancedView], remarks: Sequence[str]) -> Answer:
    """The answer: a row for each broker of each cluster."""
    return Answer(
        command="imbalance",
        rows_name="brokers",
        columns=BrokerBalance,
        rows=[_rounded(broker) for view in views for broker in view.imbalance.brokers],
        clusters=[cluster_object(view.snapshot) for view in views],
        summary=_summary(views, several=reading.several),
        warnings=[*reading.warnings(), *remarks],
        row_clusters=reading.row_clusters((view.snapshot, view.imbalance.brokers) for view in views),
    )


def _rounded(broker: BrokerBalance) -> BrokerBalance:
    return broker if broker.ratio is None else structs.replace(broker, ratio=round(broker.ratio, 4))


def _summary(views: Sequence[BalancedView], *, several: bool) -> dict[str, object]:
    parts = [_summary_of(view) for view in views]
    if not several:
        return parts[0]
    return {"clusters": [{"cluster": view.snapshot.label} | part for view, part in zip(views, parts, strict=True)]}


def _summary_of(view: BalancedView) -> dict[str, object]:
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
