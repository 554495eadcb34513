"""An audit of dumps and of a history against DuckDB, which reads both by their documented layouts alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from clusters.generated import partition, snapshot_of

from kreplica.history.ingest import ingest, stored_snapshots
from kreplica.history.selection import choose
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot
from kreplica.system.stores.storage import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.audit import Audit

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("compiled")]

COUNTED = ("under_replicated", "under_min_isr", "under_min_isr_broker", "at_min_isr", "offline", "non_preferred")
RULES = frozenset({"offline", "under-min-isr", "under-replicated", "at-min-isr"})
SEVERITIES = {1: "info", 2: "warning", 3: "critical"}
BEGIN = datetime(2026, 3, 31, 18, tzinfo=UTC)
"""April begins six hours later."""


def fleet(random: Random) -> Iterator[ClusterSnapshot]:
    """Two clusters, hour by hour with a pause: replicas fall out and come back, topics vanish and are made anew."""
    for cluster in ("one", "two"):
        states = {(f"topic-{number % 5}", number // 5): [1, 2, 3] for number in range(20)}
        ids = {f"topic-{number}": 0 for number in range(5)}
        hour = 0
        for place in range(16):
            hour += 9 if place == 9 else 1
            for key, isr in states.items():
                if random.random() < 0.3:
                    states[key] = random.choice(([1, 2, 3], [3, 1], [2, 3], [2], [3]))
                if random.random() < 0.02:
                    ids[key[0]] += 1
                assert isr
            gone = f"topic-{place}" if 3 <= place <= 4 else None
            rows = [
                partition(
                    *key,
                    isr=isr,
                    leader=-1 if len(isr) == 1 and place % 3 else isr[0],
                    topic_id=f"{key[0]} {ids[key[0]]}",
                    min_isr=1 + key[1],
                )
                for key, isr in states.items()
                if key[0] != gone
            ]
            brokers = [{"broker": broker, "alive": True} for broker in (1, 2, 3)]
            yield snapshot_of(
                rows,
                brokers,
                cluster_id=cluster,
                name=cluster,
                source="kafka",
                taken_at=BEGIN + timedelta(hours=hour),
            )


OF_DUMPS = """
CREATE TEMP TABLE manifests AS
  SELECT snapshot.cluster_id AS cluster, CAST(snapshot.taken_at AS TIMESTAMPTZ) AS taken_at, unnest(files) AS file
  FROM read_json('dumps/manifests/*.json', columns = {
    'snapshot': 'STRUCT(cluster_id VARCHAR, taken_at VARCHAR)', 'files': 'STRUCT("table" VARCHAR, path VARCHAR)[]'});
SET VARIABLE files = (SELECT list('dumps/' || file.path) FROM manifests WHERE file."table" = 'partitions');
CREATE TEMP TABLE moments AS
  SELECT cluster, taken_at, row_number() OVER (PARTITION BY cluster ORDER BY taken_at) AS place
  FROM manifests WHERE file."table" = 'partitions';
CREATE TEMP TABLE told AS
  SELECT moments.*, rows.* EXCLUDE (cluster) FROM read_parquet(getvariable('files'), filename = true) AS rows
  JOIN manifests ON rows.filename = 'dumps/' || manifests.file.path
  JOIN moments ON moments.cluster = manifests.cluster AND moments.taken_at = manifests.taken_at
"""
OF_HISTORY = """
CREATE TEMP TABLE observed AS
  SELECT cluster, month, observation, taken_at, max(observation) OVER (PARTITION BY cluster, month) AS newest,
    row_number() OVER (PARTITION BY cluster ORDER BY month, observation) AS place
  FROM read_parquet(getvariable('observed'), hive_partitioning = true) WHERE partitions IS NOT NULL;
CREATE TEMP TABLE moments AS SELECT cluster, taken_at, place FROM observed;
CREATE TEMP TABLE told AS
  SELECT observed.cluster, observed.taken_at, observed.place, rows.* EXCLUDE (cluster, month)
  FROM read_parquet(getvariable('files'), hive_partitioning = true) AS rows JOIN observed
  ON rows.cluster = observed.cluster AND rows.month = observed.month
    AND observation BETWEEN first_observation AND coalesce(last_observation, newest)
"""
JUDGED = """
CREATE TEMP TABLE judged AS
  SELECT cluster, taken_at, place, topic, partition, topic_id, leader = -1 AS offline,
    len(isr) < len(replicas) AS under_replicated, leader = -1 OR len(isr) < min_isr AS under_min_isr,
    leader <> -1 AND len(isr) < least(min_isr, len(replicas)) AS under_min_isr_broker,
    len(isr) = min_isr AS at_min_isr, leader <> replicas[1] AS non_preferred
  FROM told;
CREATE TEMP TABLE stretches AS
  SELECT cluster, taken_at, place, count(*) FILTER (waited > 3 * usual) OVER one AS stretch FROM (
    SELECT *, median(waited) OVER (PARTITION BY cluster) AS usual FROM (
      SELECT *, epoch(taken_at - lag(taken_at) OVER (PARTITION BY cluster ORDER BY place)) AS waited FROM moments
    )) WINDOW one AS (PARTITION BY cluster ORDER BY place);
CREATE TEMP TABLE broken AS
  SELECT cluster, place, topic, partition, topic_id, found.rule AS rule, found.rank AS rank FROM (
    SELECT *, unnest([
      CASE WHEN offline THEN {'rule': 'offline', 'rank': 3} END,
      CASE WHEN under_min_isr THEN {'rule': 'under-min-isr', 'rank': if(under_min_isr_broker OR offline, 3, 2)} END,
      CASE WHEN under_replicated THEN {'rule': 'under-replicated', 'rank': 2} END,
      CASE WHEN at_min_isr THEN {'rule': 'at-min-isr', 'rank': if(under_replicated, 2, 1)} END]) AS found
    FROM judged) WHERE found IS NOT NULL
"""
SPANS = """
WITH runs AS (
  SELECT cluster, topic, partition, topic_id, rule, rank, min(place) AS first, max(place) AS last, count(*) AS seen
  FROM (
    SELECT *, place - row_number() OVER (
      PARTITION BY cluster, topic, partition, topic_id, rule, rank, stretch ORDER BY place) AS run
    FROM broken JOIN stretches USING (cluster, place))
  GROUP BY cluster, topic, partition, topic_id, rule, rank, stretch, run
)
SELECT runs.cluster, runs.rule, runs.rank, runs.topic, runs.partition, begun.taken_at, seen_last.taken_at,
  CASE WHEN still.cluster IS NULL THEN after.taken_at END, seen,
  last = (SELECT max(place) FROM moments WHERE moments.cluster = runs.cluster)
FROM runs
JOIN moments AS begun ON begun.cluster = runs.cluster AND begun.place = runs.first
JOIN moments AS seen_last ON seen_last.cluster = runs.cluster AND seen_last.place = runs.last
LEFT JOIN moments AS after ON after.cluster = runs.cluster AND after.place = runs.last + 1
LEFT JOIN broken AS still ON still.cluster = runs.cluster AND still.place = runs.last + 1 AND still.topic = runs.topic
  AND still.partition = runs.partition AND still.topic_id = runs.topic_id AND still.rule = runs.rule
  AND still.rank = runs.rank
"""


def by_duckdb(*scripts: str) -> tuple[list[Any], list[Any]]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for statement in ";\n".join((*scripts, JUDGED)).split(";\n"):
        connection.execute(statement)
    sums = ", ".join(f"count(*) FILTER ({name})" for name in COUNTED)
    counts = f"SELECT cluster, taken_at, count(*), {sums} FROM judged GROUP BY cluster, taken_at ORDER BY 1, 2"
    return connection.execute(counts).fetchall(), sorted(connection.execute(SPANS).fetchall(), key=repr)


def by_spark(audit: Audit) -> tuple[list[Any], list[Any]]:
    counted = audit.counts()
    counts = [(one.cluster, one.taken_at, *(one.counts[name] for name in ("partitions", *COUNTED))) for one in counted]
    names = ("rule", "severity", "topic", "partition", "valid_from", "last_seen", "valid_to", "snapshots", "in_newest")
    ranks = {word: rank for rank, word in SEVERITIES.items()}
    spans = []
    for row in audit.findings():
        values = {name: getattr(row, name) for name in names}
        values["severity"] = ranks[values["severity"].value]
        for name in ("valid_from", "last_seen", "valid_to"):
            values[name] = values[name] and datetime.fromisoformat(values[name])
        spans.append((row.cluster, *values.values()))
    return counts, sorted(spans, key=repr)


def documented(root: Path) -> str:
    """The statements of docs/fleet.md that name the files of a history."""
    blocks = re.findall(r"```sql\n(.*?)```", (root / "docs/fleet.md").read_text(encoding="utf-8"), re.DOTALL)
    return ";\n".join(one for one in blocks[0].split(";\n") if not one.lstrip().startswith("SELECT"))


def test_counts_and_spans_are_those_of_duckdb_on_the_documented_layouts(
    spark: SparkSession, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from analyzers.audit import Audit
    from analyzers.reading.frames import read_fleet
    from analyzers.reading.histories import read_history
    from analyzers.reading.sources import Sources

    monkeypatch.chdir(tmp_path)
    for snapshot in fleet(Random(20)):
        write_snapshot(snapshot, tmp_path / "dumps")
    storage = LocalStorage(tmp_path / "history")
    ingest(stored_snapshots([tmp_path / "dumps"])[0], storage)
    expected = by_duckdb(OF_DUMPS)
    assert by_duckdb(documented(root), OF_HISTORY) == expected
    counts, spans = expected
    assert len(counts) == 32
    assert {rank for _, _, rank, *_ in spans} == {1, 2, 3}
    assert any(seen > 3 for *_, seen, _ in spans)
    dumps = Audit(read_fleet(spark, select_snapshots([tmp_path / "dumps"], Wanted()).snapshots), RULES)
    history = Audit(read_history(spark, storage, Sources(choose(storage, logs=True))), RULES)
    assert by_spark(dumps) == expected
    assert by_spark(history) == expected
