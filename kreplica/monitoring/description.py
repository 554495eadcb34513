"""Clusters described: partitions by predicates, the causes of missing replicas, and how fast these catch up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kreplica.errors import ExitCode
from kreplica.health.causes import Explanation, explain
from kreplica.health.causes.smallest_set import Verdict, find_culprits
from kreplica.health.gates import Freshness, gate_code
from kreplica.health.listing import TROUBLE, Count, count_all, partition_rows
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import predicate
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.monitoring.clusters import Reading, gaps_beside, judged_each, read_clusters, select_each
from kreplica.monitoring.lag.measuring import Measured, measurable, measure, require_live
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.tables.columns import Indices


@dataclass(frozen=True, slots=True)
class DescribedCluster:
    """One cluster, and the partitions of it that were asked for.

    Args:
        snapshot: The selected partitions of it.
        evaluator: Evaluates predicates over these partitions.
        matched: Rows that a filter matched; all rows without a filter.
        unknown: Number of partitions for which no filter matched and one cannot be known.
        counts: Counts of every predicate over the selected partitions.
        why: The causes in the whole cluster.
        places: Rows of the selected partitions in the whole cluster.
        verdict: The smallest set of causes for the selected partitions.
        measured: Progress of its missing replicas between two readings, None if not measured.
    """

    snapshot: ClusterSnapshot
    evaluator: Evaluator
    matched: Indices
    unknown: int
    counts: tuple[Count, ...]
    why: Explanation
    places: Indices
    verdict: Verdict
    measured: Measured | None = None

    @property
    def live(self) -> bool:
        """True if a live cluster was read, which can be read again and waited for, not a dump."""
        return self.why.can_measure or self.measured is not None

    @property
    def affected(self) -> Indices:
        """Rows of the selected partitions that are under-replicated, openly or masked."""
        return np.flatnonzero(self.why.affected[self.places])

    @property
    def verdict_word(self) -> str:
        """First word of the verdict on these partitions."""
        if any(self.count(name) for name in TROUBLE):
            return "UNHEALTHY"
        if not len(self.snapshot.partitions):
            return "EMPTY"
        return "INCOMPLETE" if self.snapshot.gaps else "HEALTHY"

    def count(self, name: str) -> int:
        """Number of partitions for which the predicate of that name is true."""
        return next(count.true for count in self.counts if count.predicate.name == name)

    @property
    def rows(self) -> list[dict[str, object]]:
        """The partitions that were asked for, with ``measured`` where that was done."""
        found = partition_rows(self.evaluator, self.matched, self.why, self.places[self.matched])
        if self.measured is not None:
            for row in found:
                row["measured"] = self.measured.rows(str(row["topic"]), int(str(row["partition"])))
        return found


@dataclass(frozen=True, slots=True)
class DescribedClusters:
    """Clusters that were described.

    Args:
        reading: The clusters as read.
        clusters: Those that could be read.
        filters: Names of the predicates that were asked for.
        remarks: Clusters without the topics that were asked for, one clause each.
    """

    reading: Reading
    clusters: Sequence[DescribedCluster]
    filters: Sequence[str]
    remarks: Sequence[str]

    @property
    def rows(self) -> list[dict[str, object]]:
        """The partitions that were asked for, of all clusters."""
        return [row for cluster in self.clusters for row in cluster.rows]

    @property
    def counts(self) -> dict[str, int]:
        """Number of partitions for which each predicate is true."""
        names = [count.predicate.name for count in self.clusters[0].counts]
        return {name: sum(cluster.count(name) for cluster in self.clusters) for name in names}

    @property
    def missing(self) -> list[object]:
        """Clusters that could not be read, and facts that are not known."""
        return [*self.reading.failures, *(gap for cluster in self.clusters for gap in cluster.snapshot.gaps)]

    @property
    def exit_code(self) -> ExitCode:
        """1 where a filter matches, without filters where a cluster is not healthy; 5 where not all is known."""
        if self.filters:
            unknown = [cluster for cluster in self.clusters if cluster.unknown]
            return gate_code(any(len(cluster.matched) for cluster in self.clusters), [*self.missing, *unknown])
        words = {cluster.verdict_word for cluster in self.clusters}
        return gate_code("UNHEALTHY" in words, [*self.missing, *(words - {"HEALTHY"})])

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, what a gate misses, and brokers that were not measured."""
        beside = gaps_beside(self.reading, [cluster.snapshot for cluster in self.clusters])
        return [*self.reading.warnings(), *self.remarks, *beside, *_silent(self.clusters)]


@dataclass(frozen=True, slots=True)
class _Asked:
    filters: Sequence[str]
    of_all: bool
    measure: float | None


def describe(
    handles: Sequence[ClusterHandle],
    filters: Sequence[str] = (),
    *,
    topics: str | None = None,
    exclude_internal: bool = False,
    brokers: Sequence[int] = (),
    measure: float | None = None,
    most_age: float | None = None,
    of_all: bool = False,
) -> DescribedClusters:
    """Reads clusters and describes their partitions.

    Args:
        handles: The clusters.
        filters: Names of predicates; a partition is listed when any of them holds, every one if there are none.
        topics: Only topics whose whole name matches this regular expression; all if None.
        exclude_internal: Leave out internal topics.
        brokers: Only partitions with a replica on one of these; all if empty.
        measure: Seconds between two readings of missing replicas' positions; None not to measure.
        most_age: Greatest age of a dump, in seconds; any age if None.
        of_all: Whether causes are sought for every listed partition without filters, too, not only where replicas are
            missing.

    Raises:
        KreplicaError: No cluster could be read, or what is asked for does not exist.
    """
    if measure is not None:
        require_live(handles)
    asked, freshness = _Asked(filters, of_all, measure), Freshness(most_age)
    reading = read_clusters(handles, Facet.GATE | Facet.CAUSES, freshness)
    selected, remarks = select_each(
        reading.snapshots, topics=topics, exclude_internal=exclude_internal, brokers=brokers
    )
    judged = judged_each(reading, selected, freshness)
    each = zip(_handles(reading), reading.snapshots, judged, strict=True)
    clusters = _measured([_view(*one, asked) for one in each], asked, reading)
    return DescribedClusters(reading, clusters, filters, remarks)


def _view(handle: ClusterHandle, whole: ClusterSnapshot, snapshot: ClusterSnapshot, asked: _Asked) -> DescribedCluster:
    evaluator = Evaluator(snapshot)
    matched, unknown = np.ones(len(snapshot.partitions), np.bool_), 0
    if asked.filters:
        columns = [evaluator.boolean(predicate(name).expression) for name in asked.filters]
        matched = np.logical_or.reduce([column.is_true() for column in columns])
        unknown = int((np.logical_or.reduce([column.is_null() for column in columns]) & ~matched).sum())
    rows = np.flatnonzero(matched)
    can_measure = handle.bootstrap_servers is not None and asked.measure is None
    why = explain(evaluator if snapshot is whole else Evaluator(whole), can_measure=can_measure)
    places = _places(whole, snapshot)
    of = places[rows] if asked.filters or asked.of_all else places[why.affected[places]]
    return DescribedCluster(
        snapshot, evaluator, rows, unknown, count_all(evaluator), why, places, find_culprits(why, of)
    )


def _places(whole: ClusterSnapshot, selected: ClusterSnapshot) -> Indices:
    """The row of each selected partition among all; a selection shares the dictionary of topics."""
    if selected is whole or not len(selected.partitions):
        return np.arange(len(selected.partitions))
    every, some = (
        one.strings("topic").codes.astype(np.int64) << 32 | one.integers("partition").values
        for one in (whole, selected)
    )
    order = np.argsort(every, kind="stable")
    return order[np.searchsorted(every[order], some)]


def _measured(views: Sequence[DescribedCluster], asked: _Asked, reading: Reading) -> list[DescribedCluster]:
    if asked.measure is None:
        return list(views)
    handles = _handles(reading)
    copies = [measurable(view.why, view.places[view.matched]) for view in views]
    targets = [(handle, view.snapshot, some) for handle, view, some in zip(handles, views, copies, strict=True)]
    found = measure(targets, asked.measure)
    return [replace(view, measured=measured) for view, measured in zip(views, found, strict=True)]


def _handles(reading: Reading) -> list[ClusterHandle]:
    """Handles of the clusters that could be read, in the order of the snapshots."""
    failed = {id(handle) for handle, _ in reading.failures}
    return [handle for handle in reading.handles if id(handle) not in failed]


def _silent(views: Sequence[DescribedCluster]) -> list[str]:
    """Brokers that could be read before and did not answer while they were measured."""
    return [
        f"not measured on {view.snapshot.name}: no answer from broker {', '.join(map(str, view.measured.silent))}"
        for view in views
        if view.measured is not None and view.measured.silent
    ]
