"""Balance of leaders in clusters, several at once: who leads what, and what the controller makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from kreplica.errors import ExitCode
from kreplica.health.gates import gate_code
from kreplica.health.imbalance import BrokerBalance, Imbalance, Measure, Spread, imbalance_of, spreads_of
from kreplica.monitoring.clusters import Reading, read_clusters, select_each
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class BalancedCluster:
    """One cluster and its balance.

    Args:
        snapshot: The selected partitions.
        imbalance: Their balance.
        spreads: Distribution of leaders, replicas and bytes over the brokers.
    """

    snapshot: ClusterSnapshot
    imbalance: Imbalance
    spreads: Mapping[Measure, Spread]

    @property
    def rows(self) -> list[BrokerBalance]:
        """The brokers, ratios to four decimals."""
        return [_rounded(broker) for broker in self.imbalance.brokers]


@dataclass(frozen=True, slots=True)
class BalancedClusters:
    """Clusters whose balance was judged.

    Args:
        reading: The clusters as read.
        clusters: Those that could be read.
        remarks: Clusters without the topics that were asked for, one clause each.
    """

    reading: Reading
    clusters: Sequence[BalancedCluster]
    remarks: Sequence[str]

    @property
    def rows(self) -> list[BrokerBalance]:
        """The brokers of all clusters."""
        return [row for cluster in self.clusters for row in cluster.rows]

    @property
    def exit_code(self) -> ExitCode:
        """1 where partitions are led by another than their preferred leader, 5 where not all is known."""
        unknown = [one for one in self.clusters if one.imbalance.unknown or one.snapshot.gaps]
        return gate_code(any(one.imbalance.partitions for one in self.clusters), [*self.reading.failures, *unknown])

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading."""
        return [*self.reading.warnings(), *self.remarks]


def imbalance(
    handles: Sequence[ClusterHandle], *, topics: str | None = None, exclude_internal: bool = False
) -> BalancedClusters:
    """Reads clusters and judges the spread of their leaders.

    Args:
        handles: The clusters.
        topics: Only topics whose whole name matches this regular expression; all if None.
        exclude_internal: Leave out internal topics.

    Raises:
        KreplicaError: No cluster could be read, or none has such a topic.
    """
    reading = read_clusters(handles, Facet.LOG_DIRS | Facet.BALANCE)
    snapshots, remarks = select_each(reading.snapshots, topics=topics, exclude_internal=exclude_internal)
    found = [(snapshot, imbalance_of(snapshot)) for snapshot in snapshots]
    clusters = [BalancedCluster(snapshot, one, spreads_of(one.brokers)) for snapshot, one in found]
    return BalancedClusters(reading, clusters, remarks)


def _rounded(broker: BrokerBalance) -> BrokerBalance:
    return broker if broker.ratio is None else structs.replace(broker, ratio=round(broker.ratio, 4))
