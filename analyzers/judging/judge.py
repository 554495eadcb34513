"""A fleet judged by rules: its rows classified once, then counted, and what is broken folded to spans."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property, reduce
from itertools import groupby
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from analyzers.judging.findings import (
    COUNT_COLUMNS,
    EPOCHS,
    FACTS,
    KEPT,
    NUMBER,
    STATE,
    THING,
    TOPIC_ID,
    Gather,
    Judged,
    classified,
    conditions_of,
    epoch_sums,
    folded,
    gathered,
    group_records,
    judges_extremes,
    partition_records,
)
from analyzers.judging.flag_counts import FlagCounts, flag_counts
from analyzers.judging.flags import FLAGS
from analyzers.judging.gathering import gather_lasting, gather_single, merged
from analyzers.judging.spans import ENDED, IN_NEWEST, spans
from analyzers.reading.frames import CLUSTER, FIRST, LAST, LOG
from analyzers.reading.timeline import Place, went_back
from analyzers.sessions.local_rows import local_rows
from analyzers.sessions.session import kept
from kreplica.history.tables import OBSERVATION
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from analyzers.reading.frames import Fleet
    from kreplica.health.rules import GroupRule

LABEL, EXACT = "label", "exact"
SPAN_TIMES = {FIRST: "valid_from", LAST: "last_seen", ENDED: "valid_to"}
"""The times of a span, by the columns with the numbers of their observations."""


class Judging:
    """Rules over a fleet: what is broken, and what is counted.

    Args:
        fleet: The observations, and what they tell.
        judged: The rules.
    """

    def __init__(self, fleet: Fleet, judged: Judged) -> None:
        self._fleet, self._judged = fleet, judged
        self._gather: Gather = gather_lasting if fleet.lasting else gather_single
        self._rows = kept(self._classified())

    def _classified(self) -> DataFrame:
        """The fleet's rows with their flags, folded by topic and broker where each is of one observation."""
        lasting = self._fleet.lasting
        found = classified(self._fleet.rows, self._judged, keep=lasting)
        return found.withColumn(NUMBER, F.lit(1).cast("bigint")) if lasting else folded(found, self._judged)

    @cached_property
    def _by_topic(self) -> DataFrame:
        return self._rows.where(F.col("topic").isNotNull())

    @cached_property
    def _of_topics(self) -> DataFrame:
        """Rows of topics with what rules gather of them alone: what else changes in a partition begins no new row."""
        judged = self._judged
        if not self._fleet.lasting:
            return self._by_topic
        asked = [condition for rule in judged.by_topic for condition in conditions_of(rule)]
        rows = self._by_topic.withColumn(FLAGS, judged.flags.only(asked))
        return kept(merged(rows, ["topic", TOPIC_ID, FLAGS, *judged.values.values()], NUMBER))

    @cached_property
    def _groups(self) -> Sequence[DataFrame]:
        """Records of the rules that judge topics, and of those that judge brokers."""
        judged, found = self._judged, []
        if judged.by_topic:
            topics = gathered(self._of_topics, judged.by_topic, judged, ["topic", TOPIC_ID], self._gather)
            found.append(group_records(kept(topics), judged.by_topic, judged))
        for key, rules in judged.by_broker.items():
            brokers = gathered(self._rows.where(F.col(key).isNotNull()), rules, judged, [key], self._gather)
            found.append(group_records(kept(brokers), rules, judged, key))
        return found

    @cached_property
    def _of_partitions(self) -> Sequence[DataFrame]:
        """Records of the partition rules that are broken, if there are such rules."""
        some = self._judged.by_partition
        return [partition_records(self._by_topic.where(F.col(FACTS).isNotNull()), self._judged)] if some else []

    @cached_property
    def broken(self) -> DataFrame:
        """Records of all that is broken."""
        return _union([*self._of_partitions, *(some.where(F.col(STATE) > KEPT) for some in self._groups)])

    @cached_property
    def _flag_counts(self) -> FlagCounts:
        cluster = np.array([place.cluster for place in self._fleet.timeline.places], np.int64)
        # Where no rule has topics gathered anyway, single partitions tell when topics are there.
        single = self._fleet.lasting and not self._judged.by_topic
        topics = None if single else self._of_topics
        return flag_counts(self._by_topic, topics, self._judged, self._gather, cluster)

    def _doubtful(self) -> set[int]:
        """Clusters in which something is broken by a rule that some observation does not tell of everything."""
        partial = {place.cluster for place in self._fleet.timeline.places if not place.observed.whole}
        found = self._flag_counts.doubtful(partial)
        judged = self._judged
        several = [rules for rules in (judged.by_topic, *judged.by_broker.values()) if rules]
        for some, rules in zip(self._groups, several, strict=True):
            if partial or self._may_be_unknown(rules):
                told = some.groupBy(CLUSTER, "rule").agg(F.max(F.col(STATE) > KEPT), F.max(F.col(STATE).isNull()))
                found |= {row[0] for row in told.collect() if row[2] and (row[3] or row[0] in partial)}
        return found

    def _may_be_unknown(self, rules: Sequence[GroupRule]) -> bool:
        conditions = [condition for rule in rules for condition in conditions_of(rule)]
        return any(map(judges_extremes, rules)) or bool(self._flag_counts.unknown_of(conditions))

    def _unbroken(self, clusters: Collection[int]) -> DataFrame:
        """Records of some clusters of what is kept or not known, as far as it was ever broken."""
        here = F.col(CLUSTER).isin(*clusters)
        parts = [some.where(here & F.coalesce(F.col(STATE) == KEPT, F.lit(True))) for some in self._groups]
        for broken in self._of_partitions:
            if self._fleet.lasting:
                rows = self._rows.where(here)
            else:  # what breaks no rule was counted only, so that it is read once more
                rows = classified(self._fleet.of_clusters(clusters), self._judged, keep=True)
            some = broken.where(here).select(CLUSTER, "topic", "partition").distinct()
            rows = rows.join(some, [CLUSTER, "topic", "partition"], "left_semi")
            parts.append(partition_records(rows, self._judged, broken=False))
        things = self.broken.where(here).select(CLUSTER, *THING).distinct()
        same = [F.col(f"one.{name}").eqNullSafe(F.col(f"thing.{name}")) for name in (CLUSTER, *THING)]
        return _union(parts).alias("one").join(things.alias("thing"), reduce(and_, same), "left_semi")

    def spans(self) -> DataFrame:
        """Spans of what is broken, as ``spans`` has it."""
        doubtful = self._doubtful()
        records = _union([self.broken, self._unbroken(doubtful)]) if doubtful else self.broken
        return spans(records, self._fleet.observations, self._fleet.pieces, doubtful=bool(doubtful))

    def placed(self, found: DataFrame) -> DataFrame:
        """The spans with the label of the cluster, SPAN_TIMES, EXACT and the longest interval inside.

        Args:
            found: As ``spans`` gives them; all of their columns stay.
        """
        for column, time in SPAN_TIMES.items():
            place = (
                F.col(OBSERVATION).alias(column),
                F.col("taken_at").alias(time),
                F.col(LOG).alias(f"_log_{column}"),
            )
            found = found.join(self._fleet.observations.select(*place), column, "left")
        found = _exact(found)
        inside = F.slice("waits", F.col(FIRST) - F.col("base") + 2, F.col(LAST) - F.col(FIRST))
        longest = F.coalesce(F.array_max(inside), F.lit(0).cast("bigint"))
        return found.join(self._clusters, CLUSTER).withColumn("longest_interval_ms", longest).drop("base", "waits")

    def snapshots(self) -> DataFrame:
        """Records of what is broken, one for each observation, with ``taken_at``, IN_NEWEST and the cluster's label."""
        each = self.broken.withColumn(OBSERVATION, F.explode(F.sequence(FIRST, LAST)))
        newest = (F.col(OBSERVATION) == F.col("newest")).alias(IN_NEWEST)
        places = self._fleet.observations.select(OBSERVATION, LABEL, "taken_at", newest)
        return each.drop(FIRST, LAST).join(places, OBSERVATION)

    @cached_property
    def _clusters(self) -> DataFrame:
        """Label of each cluster, number of its first observation, and how long each came after the one before."""
        timeline = self._fleet.timeline
        rows = []
        for cluster, places in groupby(timeline.places, key=lambda place: place.cluster):
            some = list(places)
            waits = [None if one.waited is None else one.waited // timedelta(milliseconds=1) for one in some]
            rows.append((cluster, timeline.clusters[cluster], some[0].number, waits))
        types = {CLUSTER: pa.int32(), LABEL: pa.string(), "base": pa.int32(), "waits": pa.list_(pa.int64())}
        return local_rows(self._rows.sparkSession, types, rows)

    def counts(self) -> pa.Table:
        """A row for each observation, of a log where a count changes, with its label and time: COUNT_COLUMNS."""
        timeline = self._fleet.timeline
        found = {"brokers": np.array(self._fleet.brokers, np.int64), **self._flag_counts.counts()}
        known = {
            OBSERVATION: pa.array(range(len(timeline)), pa.int32()),
            LABEL: pa.array([one.cluster for one in timeline.observed], pa.string()),
            "taken_at": pa.array([one.taken_at for one in timeline.observed], pa.timestamp("us", "UTC")),
        }
        every = pa.table(known | {name: pa.array(found[name], pa.int64()) for name in COUNT_COLUMNS})
        return every.filter(_where_counts_change(timeline.places, found)) if timeline.has_logs else every

    def warnings(self) -> Iterator[str]:
        """Lines on clusters whose leader epochs go back: their observations do not stand in the order of their life."""
        clusters = self._flag_counts.going_back()
        if not clusters:
            return
        sums = epoch_sums(self._by_topic.where(F.col(CLUSTER).isin(*clusters)), self._gather)
        life = Window.partitionBy(CLUSTER, "topic", TOPIC_ID).orderBy(FIRST)
        told = sums.withColumn("_before", F.lag(F.struct(EPOCHS, "partitions")).over(life))
        back = told.where(F.col(EPOCHS) < F.col(f"_before.{EPOCHS}"))
        same = back.where(F.col("partitions") >= F.col("_before.partitions"))
        found = same.groupBy(CLUSTER).agg(F.max(FIRST), F.count_distinct("topic")).orderBy(CLUSTER)
        for _, number, topics in found.collect():
            one = self._fleet.timeline.observed[number]
            yield went_back(one.cluster, one.taken_at, f"leader epochs of {counted(topics, 'topic')} go back")


def _exact(found: DataFrame) -> DataFrame:
    """The spans with EXACT: a metadata log tells all of it. What a log tells held until it ended."""
    first, last, ended = (F.col(f"_log_{column}") for column in SPAN_TIMES)
    over = F.coalesce(last == ended, F.lit(False))
    told = (first == last) & (F.col(ENDED).isNull() | over)
    seen = F.when(over, F.col(SPAN_TIMES[ENDED])).otherwise(F.col(SPAN_TIMES[LAST]))
    exact = {EXACT: F.coalesce(told, F.lit(False)), SPAN_TIMES[LAST]: seen}
    return found.withColumns(exact).drop(*(f"_log_{column}" for column in SPAN_TIMES))


def _where_counts_change(places: Sequence[Place], counts: Mapping[str, NDArray[np.int64]]) -> NDArray[np.bool_]:
    """All snapshots, and those moments of a metadata log at which it begins or ends to tell, or a count changes."""
    logs = np.array([-1 if one.observed.log is None else one.observed.log for one in places])
    clusters = np.array([one.cluster for one in places])
    on = (logs[1:] == logs[:-1]) & (clusters[1:] == clusters[:-1])
    same = on & np.logical_and.reduce([some[1:] == some[:-1] for some in counts.values()])
    inside = np.append(False, same) & np.append(on, False)
    told: NDArray[np.bool_] = (logs < 0) | ~inside
    return told


def _union(parts: Sequence[DataFrame]) -> DataFrame:
    assert parts, "an audit judges by one rule at least"
    return reduce(lambda left, right: left.unionByName(right), parts)
