"""Settings that no metadata log holds, since they stand in files of brokers: as snapshots told them before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from analyzers.reading.frames import CLUSTER, FIRST, LAST
from kreplica.history.moments.log_as_of import FILE_SETTINGS, held_settings
from kreplica.history.tables import TABLES
from kreplica.model.tables.schema import PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from analyzers.reading.sources import Source
    from analyzers.reading.timeline import Timeline

_PARTITIONS = next(table for table in TABLES if table.of is PARTITIONS)
_KEY = (CLUSTER, "topic", "partition")
_AT, _FROM, _UNTIL, _HELD, _TOLD = "_at", "_from", "_until", "_held", "_told"


class LaidSettings:
    """Settings that snapshots told, to lay over rows of metadata logs that lack them.

    Args:
        spark: The session.
        sources: Snapshots and logs; rows name them by their places here.
        timeline: Their observations.
    """

    def __init__(self, spark: SparkSession, sources: Sequence[Source], timeline: Timeline) -> None:
        self._spark, self._sources = spark, sources
        self._clusters = [timeline.places[int(one.since[1][0])].cluster for one in sources]

    def over(self, rows: DataFrame, runs: DataFrame, source: str) -> DataFrame:
        """The rows, those of logs with the settings that they lack; cut where these change.

        Args:
            rows: Rows with the numbers of observations.
            runs: Runs with the numbers of their months.
            source: Column with the place of the source.
        """
        is_logged = F.col(source).isin(*(at for at, one in enumerate(self._sources) if one.logged))
        logged = rows.where(is_logged).join(F.broadcast(self._held(source)), [source, "topic"], "left")
        pieces = logged.join(self._told(runs, source), [*_KEY], "left")
        borders = {FIRST: F.greatest(FIRST, _FROM), LAST: F.least(LAST, _UNTIL)}  # a null is no border
        inside = pieces.withColumns(borders).where(F.col(FIRST) <= F.col(LAST))
        laid = {}
        for column, name in FILE_SETTINGS.items():
            holds = F.coalesce(F.array_contains(_HELD, F.lit(name)), F.lit(False))
            laid[column] = F.coalesce(column, F.when(~holds, F.col(f"{_TOLD}.{column}")))
        return rows.where(~is_logged).unionByName(inside.withColumns(laid).select(*rows.columns))

    def _told(self, runs: DataFrame, source: str) -> DataFrame:
        """The settings of each partition as snapshots told them: from one observation until another, null at first."""
        life = Window.partitionBy(*_KEY).orderBy(source, _AT)
        running = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        known = F.struct(*(F.last(name, ignorenulls=True).over(running).alias(name) for name in FILE_SETTINGS))
        seen = self._seen(runs, source).withColumn(_TOLD, known)
        latest = seen.groupBy(*_KEY, _FROM).agg(F.max_by(_TOLD, F.struct(source, _AT)).alias(_TOLD))
        moments = Window.partitionBy(*_KEY).orderBy(_FROM)
        before = latest.withColumn("_before", F.lag(_TOLD).over(moments))
        changes = before.where(~F.col("_before").eqNullSafe(F.col(_TOLD))).drop("_before")
        told = changes.withColumn(_UNTIL, F.lead(_FROM).over(moments) - 1)
        unknown = changes.groupBy(*_KEY).agg((F.min(_FROM) - 1).alias(_UNTIL))
        return told.unionByName(unknown, allowMissingColumns=True)

    def _seen(self, runs: DataFrame, source: str) -> DataFrame:
        """Each setting of a run, at the first snapshot of it that tells the setting."""
        names = list(FILE_SETTINGS)
        places = (f"_at_{name} int, _from_{name} int" for name in names)
        schema = f"{source} int, {FIRST} int, {CLUSTER} int, {', '.join(places)}"
        known = F.broadcast(self._spark.createDataFrame(list(self._since()), schema))
        each = []
        for one in names:
            values = (F.when(F.lit(name == one), F.col(name)).alias(name) for name in names)
            each.append(F.struct(F.col(f"_at_{one}").alias(_AT), F.col(f"_from_{one}").alias(_FROM), *values))
        told = F.filter(F.array(*each), lambda one: one[_AT] <= F.col(LAST))
        return runs.join(known, [source, FIRST]).select(source, *_KEY, F.inline(told))

    def _since(self) -> Iterator[tuple[int | None, ...]]:
        """Of each snapshot: its source and its number there, its cluster, and for each setting the next that tells it.

        That by its number in the source, and by the number of the observation from which on it counts.
        """
        logged = {cluster for cluster, one in zip(self._clusters, self._sources, strict=True) if one.logged}
        for at, (cluster, one) in enumerate(zip(self._clusters, self._sources, strict=True)):
            if cluster in logged and not one.logged:
                following = [_next_telling(one, name) for name in FILE_SETTINGS]
                for place, *pairs in zip(one.since[0].tolist(), *following, strict=True):
                    yield at, place, cluster, *(number for pair in pairs for number in pair)

    def _held(self, source: str) -> DataFrame:
        """Settings that the log of a month holds of a topic."""
        held: dict[tuple[int, str], list[str]] = {}
        for at, one in enumerate(self._sources):
            for name in FILE_SETTINGS.values() if one.logged else ():
                for topic in held_settings(one.month, name):
                    held.setdefault((at, topic), []).append(name)
        rows = [(at, topic, names) for (at, topic), names in held.items()]
        return self._spark.createDataFrame(rows, f"{source} int, topic string, {_HELD} array<string>")


def _next_telling(source: Source, name: str) -> list[tuple[int | None, int | None]]:
    """For each snapshot of a source the first that is not before it and tells a column: place, and observation."""
    column = [field.name for field in _PARTITIONS.value_fields].index(name)
    tells = {told.place for told in source.month.told(_PARTITIONS) if told.columns[column]}
    found: list[tuple[int | None, int | None]] = []
    following: tuple[int | None, int | None] = None, None
    for place, number in zip(*(one.tolist()[::-1] for one in source.since), strict=True):
        following = (place, number) if place in tells else following
        found.append(following)
    return found[::-1]
