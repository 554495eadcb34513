"""Replicas of a new topic of a cluster, placed as its controller would place them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.errors import ExitCode
from kreplica.health.gates import gate_code
from kreplica.model.wording.words import named
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.planner.topic_placement import PlacedPartition, PlacementAlgorithm, TopicPlacement, place_topic
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


@dataclass(frozen=True, slots=True)
class AssignedTopic:
    """A placement, and the cluster as it was read for it.

    Args:
        reading: The cluster as read.
        placement: The replicas.
    """

    reading: Reading
    placement: TopicPlacement

    @property
    def rows(self) -> tuple[PlacedPartition, ...]:
        """The partitions."""
        return self.placement.partitions

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that the placement should rest on and that are not known."""
        unknown = self.placement.unknown
        alive = (f"whether {named('broker', unknown, 5)} can take replicas is not known",) if unknown else ()
        return (*alive, *(gap.message for gap in self.reading.snapshots[0].gaps))

    @property
    def exit_code(self) -> ExitCode:
        """0, or 5 where not all is known."""
        return gate_code(False, self.missing)


def assign(
    handle: ClusterHandle,
    topic: str,
    partitions: int,
    replication_factor: int,
    *,
    algorithm: PlacementAlgorithm | None = None,
    seed: int | None = None,
) -> AssignedTopic:
    """Reads a cluster and places the replicas of a new topic; nothing is changed.

    Args:
        handle: The cluster.
        topic: A name that no topic of the cluster has.
        partitions: Number of partitions.
        replication_factor: Replicas of each partition.
        algorithm: None for what the cluster's controller would use.
        seed: Seed of the random numbers; None for one made from the topic's name.

    Raises:
        KreplicaError: The cluster could not be read, or the replicas cannot be placed (``place_topic``).
    """
    reading = read_clusters((handle,), Facet.PARTITIONS)
    snapshot = reading.snapshots[0]
    placement = place_topic(snapshot, topic, partitions, replication_factor, algorithm=algorithm, seed=seed)
    return AssignedTopic(reading, placement)
