"""The observations of an audit, cluster by cluster in the order of time. No Spark in here.

An observation is one snapshot, in a dump directory or in a history, or the state after records of a metadata log. All
are numbered through, so that a number tells both the cluster and the place in its order: by time, then by content where
two snapshots were taken in one instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np

from kreplica.history.months.observations import digest_of
from kreplica.history.pauses import longest_usual
from kreplica.history.tables import TABLES, is_whole
from kreplica.model.snapshot import Gap
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.wording.words import counted
from kreplica.store.selection import SnapshotFiles

_MILLISECOND = timedelta(milliseconds=1)
_PARTITIONS = next(table for table in TABLES if table.of is PARTITIONS)


@dataclass(frozen=True, slots=True)
class Observation:
    """One snapshot of a cluster.

    Args:
        cluster: Cluster id, or name where the id is not known.
        cluster_id: None where not known.
        name: The user's name for the cluster.
        source: The source it was read by.
        taken_at: UTC.
        digest: Of its content; orders observations of one instant.
        whole: Whether a partition that is not in it was not there.
        gaps: Facts that the source should have reported and did not.
        controller_epoch: Of a ZooKeeper controller, None where not known.
        metadata_offset: End offset of the metadata log, None where not known.
        log: Of what a metadata log tells: number of the time of which it lacks no record. None of a snapshot.
    """

    cluster: str
    cluster_id: str | None
    name: str
    source: str
    taken_at: datetime
    digest: str
    whole: bool
    gaps: tuple[Gap, ...] = ()
    controller_epoch: int | None = None
    metadata_offset: int | None = None
    log: int | None = None


def observation_of(files: SnapshotFiles) -> Observation:
    """The observation that a stored snapshot is."""
    facts = files.manifest.snapshot
    return Observation(
        cluster=files.cluster,
        cluster_id=files.cluster_id,
        name=files.name,
        source=files.source,
        taken_at=files.taken_at,
        digest=digest_of(files.manifest),
        whole=is_whole(_PARTITIONS, facts),
        gaps=files.gaps,
        controller_epoch=facts.controller_epoch,
        metadata_offset=files.manifest.metadata_offset,
    )


@dataclass(frozen=True, slots=True)
class Place:
    """An observation among the others.

    Args:
        number: Its number.
        cluster: Number of its cluster.
        observed: The observation.
        stretch: Number of the stretch without a pause that it is in; grows with time, and from cluster to cluster.
        piece: The same, of stretches that are also cut where a metadata log begins or ends to tell.
        waited: Time since the observation of the cluster before it, none where a log tells of it; None for the first.
        next_whole: Number of the next observation of the cluster that lists all partitions; None if there is none.
        newest: Number of the cluster's newest observation.
    """

    number: int
    cluster: int
    observed: Observation
    stretch: int
    piece: int
    waited: timedelta | None
    next_whole: int | None
    newest: int


class Timeline:
    """Observations by cluster and time.

    Args:
        observed: The observations, in any order.
        named: Whether somebody said whose those without a cluster id are.
        usual: Milliseconds up to which there is no pause, by cluster; told by the observations if None.
    """

    def __init__(
        self, observed: Iterable[Observation], *, named: bool = False, usual: Mapping[str, float] | None = None
    ) -> None:
        self._labelled, self._usual = named, usual
        self.observed: Sequence[Observation] = sorted(observed, key=_order)

    def __len__(self) -> int:
        return len(self.observed)

    @cached_property
    def places(self) -> Sequence[Place]:
        """Every observation with its place, by number."""
        return list(self._places())

    @property
    def has_logs(self) -> bool:
        """True if some of them are those of metadata logs."""
        return any(one.log is not None for one in self.observed)

    @cached_property
    def clusters(self) -> Sequence[str]:
        """Labels of the clusters, by number."""
        return list(dict.fromkeys(one.cluster for one in self.observed))

    def _places(self) -> Iterator[Place]:
        first = stretch = piece = 0
        for cluster, (label, group) in enumerate(groupby(self.observed, key=lambda one: one.cluster)):
            some = list(group)
            waits = [None, *map(_unknown_time, some[:-1], some[1:])]
            most = _longest_usual(some) if self._usual is None else self._usual[label]
            next_whole = _next_whole(some)
            for at, (one, waited) in enumerate(zip(some, waits, strict=True)):
                new = waited is None or waited / _MILLISECOND > most
                stretch += new
                piece += new or one.log != some[at - 1].log
                following = next_whole[at]
                after = None if following is None else first + following
                yield Place(first + at, cluster, one, stretch, piece, waited, after, first + len(some) - 1)
            first += len(some)

    def warnings(self) -> Iterator[str]:
        """Lines on what may not be what it looks like: clusters without an id, clocks that went back."""
        for cluster, group in groupby(self.observed, key=lambda one: one.cluster):
            some = list(group)
            nameless = sum(one.cluster_id is None for one in some)
            if nameless > 1 and not self._labelled:
                number = counted(nameless, "snapshot")
                yield f"{cluster}: {number} without a cluster id are taken for one cluster, by their name alone"
            yield from _clock_warnings(cluster, some)


def _order(one: Observation) -> tuple[str, datetime, bool, str]:
    return one.cluster, one.taken_at, one.log is not None, one.digest


def _unknown_time(earlier: Observation, later: Observation) -> timedelta:
    """Time between two observations of which nothing is known."""
    known = later.log is not None and earlier.log == later.log
    return timedelta(0) if known else later.taken_at - earlier.taken_at


def _longest_usual(some: Sequence[Observation]) -> float:
    return longest_usual(np.array([one.taken_at.timestamp() * 1000 for one in some]).round().astype(np.int64))


def _next_whole(some: Sequence[Observation]) -> list[int | None]:
    found: list[int | None] = []
    following: int | None = None
    for at in range(len(some) - 1, -1, -1):
        found.append(following)
        if some[at].whole:
            following = at
    return found[::-1]


def _clock_warnings(cluster: str, some: Sequence[Observation]) -> Iterator[str]:
    """Lines where what only grows goes back: the controller epoch of ZooKeeper, the end of KRaft's metadata log.

    Ends of the metadata log are compared within one source: a log goes by the controller's clock and is read in a
    moment, a live cluster by that of its reader and for seconds.
    """
    signs = [("the controller epoch", [(one.controller_epoch, one.taken_at) for one in some])]
    for source in sorted({one.source for one in some}):
        ends = [(one.metadata_offset, one.taken_at) for one in some if one.source == source]
        signs.append(("the end offset of the metadata log", ends))
    for sign, every in signs:
        told = [(number, taken_at) for number, taken_at in every if number is not None]
        back = [(earlier, later) for earlier, later in pairwise(told) if later[0] < earlier[0]]
        if back:
            (before, _), (after, taken_at) = back[-1]
            yield went_back(cluster, taken_at, f"{sign} goes back from {before} to {after}")


def went_back(cluster: str, taken_at: datetime, sign: str) -> str:
    """The line on an order of observations that cannot be that of the cluster's life."""
    reason = "a clock went back, an old view was read, or two clusters have this name"
    return f"{cluster}: {sign} in the snapshot of {taken_at.isoformat()}: {reason}"
