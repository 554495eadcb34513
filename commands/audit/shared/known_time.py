"""Known time of clusters: what answers over a history say of their clusters besides the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kreplica.fleet.availability.resilience import ExposedCluster
from kreplica.fleet.availability.slo import ServedCluster
from kreplica.model.cluster_names import told_names
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from msgspec import Struct


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


def known_line(clusters: Sequence[ExposedCluster | ServedCluster], left_out: int) -> str:
    """A line on the time that is known of all clusters together, and on what is not.

    Args:
        clusters: The clusters.
        left_out: Number of months that could not be read.
    """
    seconds = known_time(clusters)
    snapshots = counted(sum(one.snapshots for one in clusters), "snapshot")
    paused, lost = seconds["paused_seconds"], counted(left_out, "month")
    parts = [
        f"{spell_duration(seconds['known_seconds'])} of {counted(len(clusters), 'cluster')}, {snapshots}",
        *([f"{spell_duration(paused)} in pauses, in which nobody looked"] if paused else []),
        *([f"{lost} left out"] if left_out else []),
    ]
    return "; ".join(parts)


def columns_by_cluster(row: type[Struct]) -> list[str]:
    """Columns of the screen: the cluster as ``names_of_clusters`` has it stands where its name would."""
    from kreplica.model.tables.rows import fields_of

    return ["cluster" if one.name == "name" else one.name for one in fields_of(row) if one.meaning.screen]


def names_of_clusters(clusters: Sequence[ExposedCluster | ServedCluster]) -> dict[str, str]:
    """Name of each cluster by its label, as the screen tells them apart."""
    return told_names({one.cluster: one.name for one in clusters})
