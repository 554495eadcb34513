"""Reads the snapshots of a fleet as two DataFrames: its snapshots, and all their partitions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyspark.sql import functions as F  # noqa: N812

from analyzers.cluster_facts import cluster_facts
from analyzers.spark_columns import CLUSTER_COLUMNS
from analyzers.spark_schema import spark_schema
from kreplica.model.schema import BROKERS, PARTITIONS, TableSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from analyzers.selection import SnapshotFiles

BROADCAST_BROKERS = 2_000_000
"""Up to so many broker rows in all, the facts of every snapshot go to each task: partitions need no shuffle then."""

_FILE = "_file"


@dataclass(frozen=True, slots=True)
class Fleet:
    """Many snapshots of many clusters.

    Args:
        snapshots: One row a snapshot: ``snapshot`` (its number), ``cluster``, ``taken_at``, ``position`` among the
            snapshots of its cluster by time, ``newest`` (the cluster's last position), ``brokers`` (their number).
        partitions: The partitions table of all snapshots, with ``snapshot`` and what compiled expressions read.
    """

    snapshots: DataFrame
    partitions: DataFrame


def read_fleet(spark: SparkSession, files: Sequence[SnapshotFiles]) -> Fleet:
    """Reads the partitions and brokers of the named snapshots, with the declared schema and all files at once.

    Args:
        spark: The session.
        files: The snapshots, sorted by cluster and time; a snapshot's number is its place here.
    """
    brokers = _read(spark, BROKERS, [item.brokers for item in files])
    partitions = _read(spark, PARTITIONS, [item.partitions for item in files])
    small = sum(item.broker_rows for item in files) <= BROADCAST_BROKERS
    return assemble(_snapshot_rows(spark, files), brokers, partitions, small=small)


def assemble(snapshots: DataFrame, brokers: DataFrame, partitions: DataFrame, *, small: bool) -> Fleet:
    """Joins the three: to each snapshot how many brokers it has, to each partition what is known of its cluster.

    Args:
        snapshots: As in Fleet, without ``brokers``.
        brokers: The brokers table of all snapshots, with ``snapshot``.
        partitions: The partitions table of all snapshots, with ``snapshot``.
        small: Whether the facts of all clusters fit into each task.
    """
    known = snapshots.join(cluster_facts(brokers), "snapshot", "left").fillna(0, ["brokers"]).persist()
    facts = known.select("snapshot", *CLUSTER_COLUMNS)
    joined = partitions.join(F.broadcast(facts) if small else facts, "snapshot")
    return Fleet(known.drop(*CLUSTER_COLUMNS), joined)


def _read(spark: SparkSession, table: TableSchema, paths: Sequence[str | None]) -> DataFrame:
    """One table of all snapshots, with the number of the snapshot: the place of its file in ``paths``."""
    schema = spark_schema(table)
    numbers = {path: number for number, path in enumerate(paths) if path is not None}
    if not numbers:
        return spark.createDataFrame([], schema.add("snapshot", "int"))
    rows = spark.read.schema(schema).parquet(*map(_no_pattern, numbers))
    spelled = [(spelling, numbers[_plain(uri)]) for uri in rows.inputFiles() for spelling in _spellings(uri)]
    index = spark.createDataFrame(spelled, f"{_FILE} string, snapshot int")
    return rows.withColumn(_FILE, F.col("_metadata.file_path")).join(F.broadcast(index), _FILE).drop(_FILE)


def _no_pattern(path: str) -> str:
    """The path with escapes before what Hadoop would take for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)


def _plain(uri: str) -> str:
    """The path in a URI such as ``file:///data/a%20b.parquet``."""
    return unquote(urlsplit(uri).path)


def _spellings(uri: str) -> tuple[str, str]:
    """How Spark may spell a file in a row: with the escapes of this URI, but ``file:/`` and ``file:///`` both occur."""
    path = urlsplit(uri).path
    return f"file:{path}", f"file://{path}"


def _snapshot_rows(spark: SparkSession, files: Sequence[SnapshotFiles]) -> DataFrame:
    last = Counter(item.cluster for item in files)
    seen: Counter[str] = Counter()
    rows = []
    for number, item in enumerate(files):
        rows.append((number, item.cluster, item.taken_at, seen[item.cluster], last[item.cluster] - 1))
        seen[item.cluster] += 1
    return spark.createDataFrame(rows, "snapshot int, cluster string, taken_at timestamp, position int, newest int")
