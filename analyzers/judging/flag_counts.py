"""Partitions counted by their flags: one small table, fetched once, that tells all counts and doubts of an audit.

Rows of one observation and the same flags count alike for each condition, and there are few different flags. What is
counted from them is counted in the client, by arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from analyzers.judging.findings import EPOCHS, NUMBER, UNKNOWN, Gather, Judged
from analyzers.judging.flags import FLAGS
from analyzers.judging.topic_counts import topic_counts, whole_lives
from analyzers.reading.frames import CLUSTER, FIRST, LAST
from kreplica.model.predicates.expressions import Expression
from kreplica.model.predicates.partitions import PREDICATES

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

_KNOWN = "known"


@dataclass(frozen=True)
class FlagCounts:
    """Numbers of partitions by flags, and of topics, each from one observation to another.

    Args:
        judged: Tells which flag means what.
        cluster: Number of the cluster of each observation.
        table: FIRST, LAST, FLAGS, NUMBER, EPOCHS and in how many rows these are known; topics have no FLAGS.
    """

    judged: Judged
    cluster: NDArray[np.int64]
    table: pa.Table

    @cached_property
    def _by_flags(self) -> dict[str, NDArray[np.int64]]:
        return self._arrays(self.table.filter(self.table[FLAGS].is_valid()))

    @cached_property
    def _by_topic(self) -> dict[str, NDArray[np.int64]]:
        return self._arrays(self.table.filter(self.table[FLAGS].is_null()))

    def _arrays(self, table: pa.Table) -> dict[str, NDArray[np.int64]]:
        return {name: table[name].fill_null(0).to_numpy().astype(np.int64) for name in table.column_names}

    def _over_time(
        self, rows: dict[str, NDArray[np.int64]], name: str, chosen: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """The sum of a column at each observation, over all rows or the chosen ones."""
        first, last, values = (rows[one] if chosen is None else rows[one][chosen] for one in (FIRST, LAST, name))
        changes = np.zeros(len(self.cluster) + 1, np.int64)
        np.add.at(changes, first, values)
        np.subtract.at(changes, last + 1, values)
        return np.cumsum(changes)[:-1]

    def counts(self) -> dict[str, NDArray[np.int64]]:
        """The counts of each observation, by COUNT_COLUMNS but for brokers."""
        rows, flags = self._by_flags, self.judged.flags
        found = {"topics": self._over_time(self._by_topic, NUMBER), "partitions": self._over_time(rows, NUMBER)}
        for predicate in PREDICATES:
            for name, bits in (
                (predicate.name, flags.true_bits(predicate.expression)),
                (UNKNOWN + predicate.name, flags.unknown_bits(predicate.expression)),
            ):
                found[name] = self._over_time(rows, NUMBER, rows[FLAGS] & bits != 0)
        return found

    def clusters_with(self, bits: int) -> set[int]:
        """Clusters with a row that has one of these bits."""
        rows = self._by_flags
        return set(np.unique(self.cluster[rows[FIRST][rows[FLAGS] & bits != 0]]).tolist())

    def doubtful(self, partial: Collection[int]) -> set[int]:
        """Clusters in which a partition rule is broken that some observation does not tell of everything.

        Args:
            partial: Clusters with observations that do not list all partitions.
        """
        found: set[int] = set()
        flags = self.judged.flags
        for rule in self.judged.by_partition:
            broken = self.clusters_with(flags.true_bits(rule.when))
            found |= broken & (set(partial) | self.clusters_with(flags.unknown_bits(rule.when)))
        return found

    def unknown_of(self, conditions: Iterable[Expression]) -> set[int]:
        """Clusters with a row of which one of the conditions is not known."""
        return self.clusters_with(self.judged.flags.unknown_bits(*conditions))

    def going_back(self) -> list[int]:
        """Clusters in which the sum of all leader epochs that are known is once smaller than before."""
        rows = self._by_flags
        sums, known = self._over_time(rows, EPOCHS), self._over_time(rows, _KNOWN)
        there = np.flatnonzero(self._over_time(rows, NUMBER))
        before, after = there[:-1], there[1:]
        smaller = (self.cluster[before] == self.cluster[after]) & (sums[after] < sums[before])
        smaller &= (known[before] > 0) & (known[after] > 0)
        return [int(one) for one in np.unique(self.cluster[after[smaller]])]


def flag_counts(
    rows: DataFrame, of_topics: DataFrame | None, judged: Judged, gather: Gather, cluster: NDArray[np.int64]
) -> FlagCounts:
    """Counts rows by their flags, and topics, in one query; in another one topics that the first could not tell.

    Args:
        rows: Classified rows of topics with NUMBER.
        of_topics: The same, or fewer that are there for as long. If None, rows are of one partition each, and last.
        judged: The rules.
        gather: How rows are gathered over time.
        cluster: Number of the cluster of each observation.
    """
    zero, epochs = F.lit(0).cast("bigint"), F.col(EPOCHS)
    sums = {
        NUMBER: F.col(NUMBER),
        EPOCHS: F.coalesce(epochs, zero),
        _KNOWN: F.when(epochs.isNotNull(), F.col(NUMBER)).otherwise(zero),
    }
    by_flags = gather(rows, [FLAGS], sums, {}).select(FIRST, LAST, FLAGS, *sums)
    topics = whole_lives(rows) if of_topics is None else topic_counts(of_topics, gather)
    table = by_flags.unionAll(_without_flags(topics)).toArrow()
    untold = np.unique(cluster[table.filter(pc.is_null(table[NUMBER]))[FIRST].to_numpy()])
    if len(untold):
        exact = topic_counts(rows.where(F.col(CLUSTER).isin(untold.tolist())), gather)
        other = pc.or_(pc.is_valid(table[FLAGS]), pa.array(~np.isin(cluster[table[FIRST].to_numpy()], untold)))
        table = pa.concat_tables([table.filter(other), _without_flags(exact).toArrow().cast(table.schema)])
    return FlagCounts(judged, cluster, table)


def _without_flags(topics: DataFrame) -> DataFrame:
    """Numbers of topics as rows of the table."""
    nothing = F.lit(None).cast("bigint")
    names = (FLAGS, NUMBER, EPOCHS, _KNOWN)
    return topics.select(FIRST, LAST, *(F.col(NUMBER) if name == NUMBER else nothing.alias(name) for name in names))
