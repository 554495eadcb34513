"""The answer of imbalance: the brokers of each cluster, and what the controller makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from commands.shared.printing.output import Answer, cluster_object
from kreplica.health.imbalance import BrokerBalance, Imbalance, Measure, Spread, diagnosis
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.monitoring.balance import BalancedCluster, BalancedClusters


@dataclass(frozen=True, slots=True)
class BalancedView:
    """One cluster and its balance, for the screen.

    Args:
        cluster: The cluster.
        options: The options for connection and selection, for the next commands.
    """

    cluster: BalancedCluster
    options: str

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The selected partitions."""
        return self.cluster.snapshot

    @property
    def imbalance(self) -> Imbalance:
        """Their balance."""
        return self.cluster.imbalance

    @property
    def spreads(self) -> Mapping[Measure, Spread]:
        """Distribution of leaders, replicas and bytes over the brokers."""
        return self.cluster.spreads


def answer(found: BalancedClusters) -> Answer[BrokerBalance]:
    """The answer: a row for each broker of each cluster."""
    return Answer(
        command="imbalance",
        rows_name="brokers",
        columns=BrokerBalance,
        rows=found.rows,
        clusters=[cluster_object(one.snapshot) for one in found.clusters],
        summary=_summary(found.clusters, several=found.reading.several),
        warnings=found.warnings,
        row_clusters=found.reading.row_clusters((one.snapshot, one.imbalance.brokers) for one in found.clusters),
    )


def _summary(clusters: Sequence[BalancedCluster], *, several: bool) -> dict[str, object]:
    parts = [_summary_of(one) for one in clusters]
    if not several:
        return parts[0]
    return {"clusters": [{"cluster": one.snapshot.label} | part for one, part in zip(clusters, parts, strict=True)]}


def _summary_of(one: BalancedCluster) -> dict[str, object]:
    found = one.imbalance
    return {
        "partitions": len(one.snapshot.partitions),
        "imbalance_count": len(found.partitions),
        "preferred_replica_imbalance_count": found.metric,
        "electable": found.electable,
        "unknown": found.unknown,
        "mode": None if found.mode is None else found.mode.value,
        "balancing": asdict(found.balancing),
        "skew": [spread.as_row() for spread in one.spreads.values()],
        "diagnosis": diagnosis(one.spreads, len(found.partitions)),
        "non_preferred": [asdict(item) for item in found.partitions],
    }
