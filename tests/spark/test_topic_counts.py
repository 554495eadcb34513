"""Topics of a history, counted by their first partition alone where that tells when they are there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import digest_of_snapshot
from kreplica.history.selection import choose
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.system.stores.storage import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS: dict[str, list[dict[str, str]]] = {
    "kept": [
        {"stays": "1231", "grows": "1111", "comes": "..12", "goes": "1..."},
        {"grows": "..21", "stays": "1111"},
    ],
    "odd": [{"returns": "1.22", "stays": "1231", "late": ".311"}, {"late": "1111"}],
}
"""Of each cluster the partitions 0 and 1 of its topics: hour by hour the leader, a point where it is not there."""


def snapshots() -> list[ClusterSnapshot]:
    return [
        snapshot_of(
            sorted(rows_at(partitions, hour), key=lambda row: (row["topic"], row["partition"])),
            [{"broker": broker, "alive": True} for broker in (1, 2, 3)],
            cluster_id=cluster,
            name=cluster,
            source="kafka",
            taken_at=NOON + timedelta(hours=hour),
        )
        for cluster, partitions in sorted(HOURS.items())
        for hour in range(4)
    ]


def rows_at(partitions: list[dict[str, str]], hour: int) -> list[dict[str, object]]:
    return [
        partition(topic, number, leader=int(hours[hour]))
        for number, some in enumerate(partitions)
        for topic, hours in some.items()
        if hours[hour] != "."
    ]


def test_topics_are_counted_whether_their_first_partition_tells_of_them_or_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    from analyzers.audit import Audit
    from analyzers.judging.findings import NUMBER, Judged, classified
    from analyzers.judging.topic_counts import whole_lives
    from analyzers.reading.frames import CLUSTER, FIRST, LAST
    from analyzers.reading.histories import read_history
    from analyzers.reading.sources import Sources

    storage = LocalStorage(tmp_path)
    ingest([candidate(one) for one in snapshots()], storage)
    fleet = read_history(spark, storage, Sources(choose(storage)))
    rules = frozenset({"under-replicated"})
    counts = [(one.cluster, one.counts["topics"]) for one in Audit(fleet, rules).counts()]
    assert counts == [(one.label, one.topic_count) for one in snapshots()]
    lives = whole_lives(classified(fleet.rows, Judged(rules), keep=True)).select(CLUSTER, FIRST, LAST, NUMBER)
    told = sorted(map(tuple, lives.collect()), key=str)
    # Observations are numbered through, so that those of the second cluster are 4 to 7.
    assert told == sorted(
        [(0, 0, 3, 2), (0, 2, 3, 1), (0, 0, 0, 1), (1, 4, 7, 1), (1, 4, 7, None)],
        key=str,
    )


def candidate(snapshot: ClusterSnapshot) -> Candidate:
    taken_ms = round(snapshot.taken_at.timestamp() * 1000)
    return Candidate(
        snapshot.cluster_id, snapshot.name, Incoming(taken_ms, digest_of_snapshot(snapshot), lambda: snapshot, "one")
    )
