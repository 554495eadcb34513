"""Reads a history as a fleet: its runs, cut where what all partitions of a cluster share changes.

Runs of metadata logs stand for the time of which these tell, runs of snapshots for the rest: see ``sources``.

Which brokers are alive, which racks there are, which columns an observation tells and where nobody looked for long: all
of that is small, is read here and not by Spark, and changes rarely. Between two changes a run is one row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, pairwise
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from analyzers.columns import CLUSTER_COLUMNS
from analyzers.reading.broker_facts import Facts
from analyzers.reading.frames import (
    CLUSTER,
    FIRST,
    LAST,
    Fleet,
    facts_types,
    observation_rows,
    piece_rows,
    read_files,
    spark_schema,
)
from analyzers.reading.laid_settings import LaidSettings
from analyzers.reading.sources import Source, Sources
from analyzers.reading.timeline import Place
from analyzers.sessions.local_rows import local_rows
from kreplica.history import tables
from kreplica.history.coding import Coder
from kreplica.history.folding import Exceptions, Told, told_rows
from kreplica.history.months.layout import CLOSED, OPEN, UNKNOWN_CELLS, WHOLE
from kreplica.history.months.log_steps import exact_name
from kreplica.history.months.observations import newest_telling
from kreplica.history.tables import COLUMN, LOG_TABLES, OBSERVATION, TABLES, HistoryTable
from kreplica.model.tables.schema import BROKERS, PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from kreplica.system.stores.storage import Storage

_SOURCE, _SEGMENT, _UNTOLD = "_source", "_segment", "_untold"
_MOVED, _ENDS, _STARTS = "_moved", "_ends", "_starts"


def _table_of(schema: object, some: Sequence[HistoryTable] = TABLES) -> HistoryTable:
    return next(table for table in some if table.of is schema)


_PARTITIONS, _BROKERS = _table_of(PARTITIONS), _table_of(BROKERS)
_LOGGED_BROKERS = _table_of(BROKERS, LOG_TABLES)
assert _table_of(PARTITIONS, LOG_TABLES).runs == _PARTITIONS.runs, "runs of logs are read by the schema of snapshots"


def facts_of(source: Source) -> Iterator[Facts]:
    """The facts of each observation of a source; what did not change is made once."""
    month, coder = source.month, Coder(_LOGGED_BROKERS if source.logged else _BROKERS)
    runs = month.exact_runs(coder) if source.logged else month.runs(coder)
    exceptions = Exceptions.joined([]) if source.logged else month.exceptions(coder)
    told = _every_column(source) if source.logged else {one.place: one for one in month.told(_BROKERS)}
    changes = {*runs.first.tolist(), *(runs.last + 1).tolist()}
    changes |= {*exceptions.places.tolist(), *(exceptions.places + 1).tolist()}
    order = sorted(changes)
    facts, before, passed = Facts(), None, 0
    stale = True
    for place in source.places.tolist():
        one = told.get(place)
        now = bisect_right(order, place)
        stale |= now != passed
        passed = now
        if one is None:
            yield Facts()
            continue
        if stale or before is None or not np.array_equal(before.columns, one.columns):
            ((_, coded),) = told_rows(runs, exceptions, [one])
            columns = coder.columns(coded)
            names = ("broker", "alive", "rack")
            facts = Facts.of(sorted(zip(*(columns[name].to_list() for name in names), strict=True), key=_by_id))
            before, stale = one, False
        yield facts


def _every_column(source: Source) -> dict[int, Told]:
    """All columns of brokers, for each step of a log."""
    columns = np.ones(len(_LOGGED_BROKERS.value_fields), np.bool_)
    return {place: Told(place, columns, whole=True) for place in source.places.tolist()}


def _by_id(row: tuple[Any, ...]) -> int:
    return int(row[0])


@dataclass(frozen=True, slots=True)
class _Segment:
    """Observations of a source, one after the other, that share all that partitions of a cluster share.

    Args:
        first: Number of the first observation.
        last: Number of the last one.
        shift: What makes of a place among the source's observations a number.
        facts: Facts of the brokers.
        untold: Columns of partitions that they do not tell.
    """

    first: int
    last: int
    shift: int
    facts: Facts
    untold: frozenset[str]


def _segments(source: Source, places: Sequence[Place]) -> Iterator[_Segment]:
    facts, untold, numbers = list(facts_of(source)), _untold_columns(source), source.numbers.tolist()
    begin = 0
    for at in range(1, len(numbers) + 1):
        same = at < len(numbers) and (numbers[at], facts[at], untold[at], places[numbers[at]].stretch) == (
            *(numbers[at - 1] + 1, facts[begin], untold[begin]),
            places[numbers[begin]].stretch,
        )
        if not same:
            yield _Segment(numbers[begin], numbers[at - 1], numbers[begin] - begin, facts[begin], untold[begin])
            begin = at


def _moved(before: _Segment, after: _Segment, places: Sequence[Place]) -> list[int] | None:
    """Brokers of which the later of two segments says something else; None if partitions of all of them differ."""
    follows = after.first == before.last + 1 and after.shift == before.shift
    if not follows or after.untold != before.untold or places[after.first].stretch != places[before.last].stretch:
        return None
    return after.facts.differing(before.facts)


def _untold_columns(source: Source) -> list[frozenset[str]]:
    """Columns of partitions that each observation of a source does not tell; a log tells all."""
    if source.logged:
        return [frozenset()] * len(source.places)
    names = [field.name for field in _PARTITIONS.value_fields]
    told = {one.place: one for one in source.month.told(_PARTITIONS)}
    return [frozenset(np.array(names)[~told[place].columns].tolist()) for place in source.places.tolist()]


class _Reader:
    """A history for Spark.

    Args:
        spark: The session.
        storage: Place of the history.
        sources: What its rows come from.
        every_broker: Whether a partition may be judged by facts of brokers that it does not name.
    """

    def __init__(self, spark: SparkSession, storage: Storage, sources: Sources, *, every_broker: bool) -> None:
        self._spark, self._storage, self._sources = spark, storage, sources.every
        self._every_broker = every_broker
        self.timeline = sources.timeline
        self._segments = [list(_segments(source, self.timeline.places)) for source in self._sources]

    @property
    def brokers(self) -> list[int]:
        """Number of brokers that each observation knows."""
        found = [0] * len(self.timeline)
        for one in (one for some in self._segments for one in some):
            found[one.first : one.last + 1] = [one.facts.brokers] * (one.last - one.first + 1)
        return found

    def rows(self) -> DataFrame:
        """The partitions, each from the first to the last observation that says just that."""
        runs = self._runs()
        odd = self._exceptions()
        if odd is not None:
            key = [_SOURCE, "topic", "partition"]
            keys = odd.select(*key).distinct()
            single = self._one_by_one(runs.join(keys, key, "left_semi"), odd)
            runs = runs.join(keys, key, "left_anti").unionByName(single)
        cut = self._cut(runs)
        if self.timeline.has_logs:
            cut = LaidSettings(self._spark, self._sources, self.timeline).over(cut, runs, _SOURCE)
        return cut.drop(_SOURCE)

    def _runs(self) -> DataFrame:
        """The runs inside what is wanted, with the numbers of the months' snapshots or steps."""
        files = {self._path(file.path): at for at, one in enumerate(self._sources) for file in self._files(one)}
        rows = read_files(self._spark, spark_schema(_PARTITIONS.runs), files, _SOURCE)
        inside = [(at, *one.inside, newest_telling(_PARTITIONS, one.month.seen)) for at, one in self._numbered()]
        names = (_SOURCE, "_least", "_most", "_newest")
        known = local_rows(self._spark, dict.fromkeys(names, pa.int32()), inside)
        first = F.greatest(tables.FIRST, "_least")
        last = F.least(F.coalesce(tables.LAST, "_newest"), "_most")
        wanted = rows.join(F.broadcast(known), _SOURCE).withColumns({FIRST: first, LAST: last})
        left = wanted.where(F.col(FIRST) <= F.col(LAST))
        return left.drop("_least", "_most", "_newest", tables.FIRST, tables.LAST, tables.ENDED)

    def _numbered(self) -> Iterable[tuple[int, Source]]:
        return enumerate(self._sources)

    def _files(self, source: Source) -> Iterable[Any]:
        if source.logged:
            return source.month.files(exact_name(_PARTITIONS), WHOLE)
        return source.month.files(PARTITIONS.name, OPEN, CLOSED)

    def _path(self, path: str) -> str:
        return str(self._storage.on_disk(path).absolute())

    def _exceptions(self) -> DataFrame | None:
        """Cells and rows that observations inside runs did not know; None if they knew all of it."""
        files = {
            self._path(file.path): at
            for at, one in self._numbered()
            for file in (() if one.logged else one.month.files(PARTITIONS.name, UNKNOWN_CELLS))
        }
        return read_files(self._spark, spark_schema(_PARTITIONS.exceptions), files, _SOURCE) if files else None

    def _one_by_one(self, runs: DataFrame, odd: DataFrame) -> DataFrame:
        """Runs with exceptions, a row for each observation that has the partition, less what it did not know."""
        key = [_SOURCE, "topic", "partition", OBSERVATION]
        missing = F.collect_set(COLUMN).alias("_missing")
        told = odd.groupBy(*key).agg(missing, F.max(F.col(COLUMN).isNull()).alias("_absent"))
        each = runs.withColumn(OBSERVATION, F.explode(F.sequence(FIRST, LAST))).join(told, key, "left")
        there = each.where(~F.coalesce("_absent", F.lit(False)))
        unknown = {field.name: _unless("_missing", field.name) for field in _PARTITIONS.value_fields}
        single = there.withColumns({**unknown, FIRST: F.col(OBSERVATION), LAST: F.col(OBSERVATION)})
        return single.drop(OBSERVATION, "_missing", "_absent")

    def _cut(self, runs: DataFrame) -> DataFrame:
        """Runs cut at the borders of segments, with the facts of these, and with the numbers of all observations.

        A run is not cut where a broker changes that it does not name: in large clusters some broker always does.
        """
        known, segments = F.broadcast(self._known_sources()), F.broadcast(self._known_segments())
        at_first, at_last = F.col(FIRST) - F.col("_least"), F.col(LAST) - F.col("_least")
        placed = runs.join(known, _SOURCE).withColumns(
            {
                FIRST: F.coalesce(F.get("_next", at_first), at_first),
                LAST: F.coalesce(F.get("_before", at_last), at_last),
            }
        )
        asked = placed.where(F.col(FIRST) <= F.col(LAST))
        started = asked.withColumns({_STARTS: self._starts(), "_end": F.get("_segments", F.col(LAST))})
        # Each has one at least: before the other posexplode Spark would make all of them once more, to see that.
        several = started.select("*", F.posexplode_outer(_STARTS).alias("_at", _SEGMENT))
        following = F.get(_STARTS, F.col("_at") + 1)
        ends = F.get(_ENDS, F.coalesce(following - 1, F.col("_end")) - F.col("_begin"))
        borders = {
            FIRST: F.greatest(F.col(FIRST) + F.col("_shift"), "_from"),
            LAST: F.least(F.col(LAST) + F.col("_shift"), ends),
        }
        cut = several.join(segments, _SEGMENT).withColumns({**borders, **self._told_now()})
        names = [field.name for field in (*_PARTITIONS.key_fields, *_PARTITIONS.value_fields)]
        return cut.select(_SOURCE, CLUSTER, FIRST, LAST, *names, *CLUSTER_COLUMNS)

    def _starts(self) -> Column:
        """Segments at which a run begins, or in which something changes that it is judged by."""
        first, last = (F.get("_segments", F.col(place)) for place in (FIRST, LAST))

        def changes(segment: Column) -> Column:
            moved = F.get(_MOVED, segment - F.col("_begin"))
            named = (F.arrays_overlap(moved, name) for name in ("replicas", "isr"))
            leads = F.array_contains(moved, F.col("leader"))
            return F.coalesce(reduce(or_, named, leads), F.lit(True))

        later = F.when(first < last, F.filter(F.sequence(first + 1, last), changes))
        return F.when(first < last, F.concat(F.array(first), later)).otherwise(F.array(first))

    def _known_sources(self) -> DataFrame:
        """Of each source the places of observations and the segments that they are in, and what changes with these."""
        rows: list[tuple[object, ...]] = []
        begin = 0
        for at, (source, some) in enumerate(zip(self._sources, self._segments, strict=True)):
            of_each = [begin + place for place, one in enumerate(some) for _ in range(one.last - one.first + 1)]
            moved = [None, *(self._moved(*pair) for pair in pairwise(some))]
            ends = [one.last for one in some]
            rows.append((at, source.inside[0], *_places_of(source), of_each, begin, moved, ends))
            begin += len(some)
        number, numbers = pa.int32(), pa.list_(pa.int32())
        types = {_SOURCE: number, "_least": number, **dict.fromkeys(("_next", "_before", "_segments"), numbers)}
        types |= {"_begin": number, _MOVED: pa.list_(numbers), _ENDS: numbers}
        return local_rows(self._spark, types, rows)

    def _moved(self, before: _Segment, after: _Segment) -> list[int] | None:
        return None if self._every_broker else _moved(before, after, self.timeline.places)

    def _known_segments(self) -> DataFrame:
        """Each segment with the facts of its brokers."""
        rows = [self._segment_row(number, one) for number, one in enumerate(chain.from_iterable(self._segments))]
        columns = dict.fromkeys((_SEGMENT, CLUSTER, "_from", "_shift"), pa.int32())
        return local_rows(self._spark, {**columns, _UNTOLD: pa.list_(pa.string()), **facts_types()}, rows)

    def _segment_row(self, number: int, one: _Segment) -> tuple[object, ...]:
        cluster = self.timeline.places[one.first].cluster
        return number, cluster, one.first, one.shift, sorted(one.untold), *one.facts.columns

    def _told_now(self) -> dict[str, Column]:
        """Columns that some segments tell and others do not."""
        untold = [one.untold for some in self._segments for one in some]
        varying = frozenset[str]().union(*untold) - frozenset.intersection(*untold) if untold else frozenset[str]()
        return {name: _unless(_UNTOLD, name) for name in sorted(varying)}


def _places_of(source: Source) -> tuple[list[int] | None, list[int] | None]:
    """For each number from the first to the last that is wanted: places of the observations not before, and not after.

    None where every number is an observation, which then has just that place.
    """
    every = np.arange(source.inside[0], source.inside[1] + 1)
    if np.array_equal(every, source.places):
        return None, None
    following = np.searchsorted(source.places, every)
    before = np.searchsorted(source.places, every, side="right") - 1
    return following.tolist(), before.tolist()


def _unless(names: str, name: str) -> Column:
    """The column of that name, null where a list names it."""
    return F.when(~F.coalesce(F.array_contains(names, F.lit(name)), F.lit(False)), F.col(name))


def read_history(spark: SparkSession, storage: Storage, sources: Sources, *, every_broker: bool = False) -> Fleet:
    """Reads the rows of partitions and what they need to be judged.

    Args:
        spark: The session.
        storage: Place of the history.
        sources: What the rows come from.
        every_broker: Whether a partition may be judged by facts of brokers that are neither its leader nor among its
            replicas or its ISR: rules of the user may.

    Raises:
        InputError: A file is damaged, or not there.
    """
    reader = _Reader(spark, storage, sources, every_broker=every_broker)
    rows = reader.rows()

    def of_clusters(clusters: Collection[int]) -> DataFrame:
        return rows.where(F.col(CLUSTER).isin(*clusters))

    observations, pieces = observation_rows(spark, reader.timeline), piece_rows(spark, reader.timeline)
    return Fleet(reader.timeline, observations, reader.brokers, rows, of_clusters, pieces)
