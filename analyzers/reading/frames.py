"""Reads the snapshots of a fleet as two DataFrames: the observations, and all their partitions.

Facts that all partitions of a snapshot share come from its brokers: which are alive, and which racks there are.

The schemas of a snapshot's tables are declared, never inferred, so that no odd file changes the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa
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

from analyzers.columns import CLUSTER_COLUMNS
from analyzers.reading.broker_facts import Facts
from analyzers.reading.timeline import Timeline, observation_of
from analyzers.sessions.local_rows import local_rows
from kreplica.history.tables import OBSERVATION
from kreplica.model.tables.schema import BROKERS, PARTITIONS, Kind, TableSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kreplica.store.selection import SnapshotFiles


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
SNAPSHOTS_AT_ONCE = 10_000
"""Number of snapshots whose brokers the client has in memory before it makes facts of them."""

_FILE = "_file"

CLUSTER, FIRST, LAST = "cluster", "first", "last"
"""Number of a row's cluster, and those of the first and the last observation that the row is of."""
BEGIN, END = "begin", "end"
"""Numbers of the first and of the last observation of a piece."""
LOG = "log"
"""Number of the time that a metadata log tells, of its observations; null of snapshots."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Partitions of many clusters over time, and the observations that tell them.

    Args:
        timeline: The observations.
        observations: A row for each: ``observation`` (its number), ``label`` of the cluster and number in ``cluster``,
            ``taken_at``, ``stretch``, ``log``, ``next_whole``, ``newest``.
        brokers: How many brokers each observation knows.
        rows: Partitions with CLUSTER, FIRST, LAST and what compiled expressions read; each row is what all the
            observations from FIRST to LAST say of the partition.
        of_clusters: The rows of some clusters, by number.
        pieces: Of rows that may be of several observations, as ``piece_rows`` has them; None where each is of one.
    """

    timeline: Timeline
    observations: DataFrame
    brokers: Sequence[int]
    rows: DataFrame
    of_clusters: Callable[[Collection[int]], DataFrame]
    pieces: DataFrame | None = None

    @property
    def lasting(self) -> bool:
        """True if rows may be of several observations."""
        return self.pieces is not None


def read_fleet(spark: SparkSession, files: Sequence[SnapshotFiles]) -> Fleet:
    """Reads the partitions and brokers of the named snapshots, with the declared schema and all files at once.

    Args:
        spark: The session.
        files: The snapshots.
    """
    observed = [observation_of(item) for item in files]
    timeline = Timeline(observed)
    place = {one: number for number, one in enumerate(timeline.observed)}
    ordered = sorted(zip(observed, files, strict=True), key=lambda pair: place[pair[0]])
    by_number = [item for _, item in ordered]
    small = sum(item.broker_rows for item in files) <= BROADCAST_BROKERS
    facts = _facts(spark, [item.brokers for item in by_number])

    def partitions(clusters: Collection[int] | None = None) -> DataFrame:
        paths = {
            place.number: by_number[place.number].partitions
            for place in timeline.places
            if clusters is None or place.cluster in clusters
        }
        return _read(spark, PARTITIONS, paths)

    return assemble(spark, timeline, facts, partitions, small=small)


def _facts(spark: SparkSession, paths: Sequence[str | None]) -> list[Facts]:
    """The facts of the brokers of each snapshot; those that are the same are one object."""
    found = [Facts()] * len(paths)
    same: dict[Facts, Facts] = {}
    for begin in range(0, len(paths), SNAPSHOTS_AT_ONCE):
        some = {number: paths[number] for number in range(begin, min(begin + SNAPSHOTS_AT_ONCE, len(paths)))}
        table = _read(spark, BROKERS, some).select(OBSERVATION, "broker", "alive", "rack").toArrow()
        rows: dict[int, list[tuple[int, bool | None, str | None]]] = defaultdict(list)
        for number, *row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            rows[number].append(tuple(row))
        for number, brokers in rows.items():
            facts = Facts.of(sorted(brokers, key=lambda row: row[0]))
            found[number] = same.setdefault(facts, facts)
    return found


def assemble(
    spark: SparkSession,
    timeline: Timeline,
    facts: Sequence[Facts],
    partitions: Callable[[Collection[int] | None], DataFrame],
    *,
    small: bool,
) -> Fleet:
    """Joins the facts of its observation to each partition.

    Args:
        spark: The session.
        timeline: The observations.
        facts: Facts of the brokers of each observation.
        partitions: Gives the partitions table of some clusters or of all, with the ``observation``.
        small: Whether the facts of all clusters fit into each task.
    """
    rows_of_facts = [(place.number, place.cluster, *facts[place.number].columns) for place in timeline.places]
    known = local_rows(spark, {OBSERVATION: pa.int32(), CLUSTER: pa.int32(), **facts_types()}, rows_of_facts)

    def rows(clusters: Collection[int] | None = None) -> DataFrame:
        joined = partitions(clusters).join(F.broadcast(known) if small else known, OBSERVATION)
        return joined.withColumns({FIRST: F.col(OBSERVATION), LAST: F.col(OBSERVATION)}).drop(OBSERVATION)

    observations, brokers = observation_rows(spark, timeline), [one.brokers for one in facts]
    return Fleet(timeline, observations, brokers, rows(), of_clusters=rows)


def facts_types() -> dict[str, pa.DataType]:
    """The types of CLUSTER_COLUMNS, by name."""
    number = pa.int32()
    return dict(
        zip(CLUSTER_COLUMNS, (pa.list_(number), pa.list_(number), pa.map_(number, number), number), strict=True)
    )


def _read(spark: SparkSession, table: TableSchema, paths: Mapping[int, str | None]) -> DataFrame:
    """One table of some observations, with the number of the observation."""
    numbers = {path: number for number, path in paths.items() if path is not None}
    return read_files(spark, spark_schema(table), numbers, OBSERVATION)


def read_files(spark: SparkSession, schema: StructType, numbers: Mapping[str, int], name: str) -> DataFrame:
    """Parquet files with all their rows, and with the number of each file.

    Args:
        spark: The session.
        schema: Declared, never inferred.
        numbers: Number by absolute path.
        name: Column of the number.
    """
    if not numbers:
        return spark.createDataFrame([], schema.add(name, "int"))
    rows = spark.read.schema(schema).parquet(*map(_no_pattern, numbers))
    spelled = [(spelling, numbers[_plain(uri)]) for uri in rows.inputFiles() for spelling in _spellings(uri)]
    index = local_rows(spark, {_FILE: pa.string(), name: pa.int32()}, spelled)
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


def observation_rows(spark: SparkSession, timeline: Timeline) -> DataFrame:
    """A row for each observation, as a Fleet has them."""
    rows = [
        (
            *(place.number, place.cluster, place.observed.cluster, place.observed.taken_at),
            *(place.stretch, place.observed.log, place.next_whole, place.newest),
        )
        for place in timeline.places
    ]
    types = {OBSERVATION: pa.int32(), CLUSTER: pa.int32(), "label": pa.string(), "taken_at": pa.timestamp("us", "UTC")}
    return local_rows(spark, types | dict.fromkeys(("stretch", LOG, "next_whole", "newest"), pa.int32()), rows)


def piece_rows(spark: SparkSession, timeline: Timeline) -> DataFrame:
    """A row for each piece of the timeline: its cluster, and the numbers of its first and its last observation.

    Made here: as a query of the observations it would be planned, compiled and run for a handful of rows.
    """
    rows: list[tuple[int, int, int]] = []
    for _, group in groupby(timeline.places, key=lambda place: place.piece):
        some = list(group)
        rows.append((some[0].cluster, some[0].number, some[-1].number))
    return local_rows(spark, dict.fromkeys((CLUSTER, BEGIN, END), pa.int32()), rows)
