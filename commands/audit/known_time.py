"""Known time of clusters: what answers over a history say of each cluster besides their rows."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.fleet.availability.resilience import ExposedCluster
from kreplica.fleet.availability.slo import ServedCluster


def known_clusters(clusters: Sequence[ExposedCluster | ServedCluster]) -> list[dict[str, object]]:
    """Each cluster as an object of the answer, with whole seconds."""
    return [
        {
            "cluster": one.cluster,
            "name": one.name,
            "snapshots": one.snapshots,
            "known_seconds": one.known_ms // 1000,
            "paused_seconds": one.paused_ms // 1000,
        }
        for one in clusters
    ]


def known_time(clusters: Sequence[ExposedCluster | ServedCluster]) -> dict[str, int]:
    """Whole seconds of all clusters together, for the summary."""
    return {
        "known_seconds": sum(one.known_ms for one in clusters) // 1000,
        "paused_seconds": sum(one.paused_ms for one in clusters) // 1000,
    }
