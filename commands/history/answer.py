"""The answer of history: stretches of lives, and how old what they say is."""

from __future__ import annotations

from commands.shared.printing.output import Answer
from kreplica.history.ingest import time_text
from kreplica.history.lives.reading import Lives
from kreplica.history.lives.rows import (
    BrokerStretch,
    ClusterPeriod,
    CommittedOffset,
    PartitionStretch,
    Row,
    TopicStretch,
)

ROWS_NAMES: dict[type[Row], str] = {
    PartitionStretch: "stretches",
    TopicStretch: "topic_stretches",
    BrokerStretch: "broker_stretches",
    ClusterPeriod: "periods",
    CommittedOffset: "committed_offsets",
}
"""Keys of the rows in JSON, by their classes."""


def answer_to(found: Lives) -> Answer[Row]:
    """The answer in the form of the contract."""
    several = len(found.clusters) > 1 and found.row is not ClusterPeriod
    newest = max((one.newest_ms for one in found.clusters), default=None)
    return Answer(
        command="history",
        rows_name=ROWS_NAMES[found.row],
        columns=found.row,
        rows=found.rows,
        clusters=[{"cluster": one.cluster, "name": one.name, "snapshots": one.snapshots} for one in found.clusters],
        summary={
            "of": found.what,
            "snapshots": sum(one.snapshots for one in found.clusters),
            "newest_taken_at": None if newest is None else time_text(newest),
            "age_seconds": found.age_seconds(),
            "left_out": found.chosen.left_out,
        },
        warnings=found.warnings,
        row_clusters=[one.cluster for one in found.clusters for _ in one.rows] if several else None,
    )
