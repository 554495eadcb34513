"""Reads the snapshots of a fleet as two DataFrames: its snapshots, and all their partitions.

Facts that all partitions of a snapshot share come from its brokers: which are alive, and which racks there are.

The schemas of a snapshot's tables are declared, never inferred, so that no odd file changes the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from analyzers.columns import CLUSTER_COLUMNS, LIVE_BROKERS, RACK_COUNT, RACKS, UNSURE_BROKERS
from kreplica.model.schema import BROKERS, PARTITIONS, Kind, TableSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kreplica.store.selection import SnapshotFiles


def cluster_facts(brokers: DataFrame) -> DataFrame:
    """One row for each snapshot that knows brokers.

    Args:
        brokers: The brokers table of many snapshots, with the snapshot's number in ``snapshot``.

    Returns:
        ``snapshot``, ``brokers`` (how many there are) and the columns that the compiled expressions read.
    """
    broker, alive, rack = F.col("broker"), F.col("alive"), F.col("rack")
    # A rack's number is its lowest broker id: numbers are quicker to look up and compare than names.
    number = F.min("broker").over(Window.partitionBy("snapshot", "rack"))
    racks = F.collect_list(F.when(rack.isNotNull(), F.struct(broker, F.col("number"))))
    return (
        brokers.withColumn("number", number)
        .groupBy("snapshot")
        .agg(
            F.count(F.lit(1)).alias("brokers"),
            F.collect_list(F.when(alive, broker)).alias(LIVE_BROKERS),
            F.collect_list(F.when(alive.isNull(), broker)).alias(UNSURE_BROKERS),
            F.map_from_entries(racks).alias(RACKS),
            F.when(F.count(rack) == F.count(F.lit(1)), F.array_size(F.collect_set(rack))).alias(RACK_COUNT),
        )
    )


_TYPES: dict[Kind, DataType] = {
    Kind.INT32: IntegerType(),
    Kind.INT64: LongType(),
    Kind.BOOL: BooleanType(),
    Kind.STRING: StringType(),
    Kind.INT_LIST: ArrayType(IntegerType(), containsNull=False),
}


def spark_schema(table: TableSchema) -> StructType:
    """The Spark schema of a table.

    Every field may be null here: what a file lacks is read as null, as the snapshot's own readers do.
    """
    return StructType([StructField(field.name, _TYPES[field.kind], nullable=True) for field in table.fields])


BROADCAST_BROKERS = 2_000_000
"""Up to this many broker rows in all, the facts of every snapshot are broadcast, and partitions need no shuffle."""

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
    """Joins the number of brokers to each snapshot, and the facts of its cluster to each partition.

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
    """The path with characters escaped that Hadoop would take for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)


def _plain(uri: str) -> str:
    """The path in a URI such as ``file:///data/a%20b.parquet``."""
    return unquote(urlsplit(uri).path)


def _spellings(uri: str) -> tuple[str, str]:
    """Spellings of a file in Spark's rows: with the escapes of this URI, and with ``file:/`` or ``file:///``."""
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
