"""Several clusters read at once; one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kreplica.errors import KreplicaError, UsageError, worst_of
from kreplica.model.snapshot import utc_now
from kreplica.model.wording.durations import spell_duration
from kreplica.sources import Facet, read_snapshot
from kreplica.system.guard import attempt

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.health.gates import Freshness
    from kreplica.model.snapshot import ClusterSnapshot

MOST_AT_ONCE = 8
CLOCK_TOLERANCE = 5.0
"""Seconds by which the clocks of two machines may differ without a warning."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading the named clusters.

    Args:
        snapshots: Snapshots of the clusters that could be read.
        failures: Handle and error of each other cluster; empty when only one was named, whose error is raised.
        handles: All clusters that were named.
    """

    snapshots: Sequence[ClusterSnapshot]
    failures: Sequence[tuple[ClusterHandle, KreplicaError]]
    handles: Sequence[ClusterHandle]

    @property
    def incomplete(self) -> bool:
        """True if anything that the answer should be based on is missing."""
        return bool(self.failures) or any(snapshot.gaps for snapshot in self.snapshots)

    @property
    def several(self) -> bool:
        """True if more than one cluster was named, so that each row must name its cluster."""
        return len(self.snapshots) + len(self.failures) > 1

    def row_clusters(self, found: Iterable[tuple[ClusterSnapshot, Collection[object]]]) -> list[str] | None:
        """The cluster of each row of an answer; None where one cluster was named.

        Args:
            found: Each cluster with its rows.
        """
        return [snapshot.label for snapshot, rows in found for _ in rows] if self.several else None

    def warnings(self) -> list[str]:
        """Remarks on settings, gaps, notes and failures, each with its cluster's name where there are several."""
        found = [(handle.name, remark) for handle in self.handles for remark in handle.warnings]
        found += [(snapshot.name, gap.message) for snapshot in self.snapshots for gap in snapshot.gaps]
        found += [(snapshot.name, note) for snapshot in self.snapshots for note in snapshot.notes]
        found += [(snapshot.name, remark) for snapshot in self.snapshots for remark in _of_the_future(snapshot)]
        found += [(handle.name, str(error)) for handle, error in self.failures]
        return [f"{name}: {message}" if self.several else message for name, message in found]


def _of_the_future(snapshot: ClusterSnapshot) -> Iterator[str]:
    age = snapshot.age_seconds(utc_now())
    if age is not None and age < -CLOCK_TOLERANCE:
        yield f"the dump is of {spell_duration(-age)} in the future: one of the clocks is wrong"


def read_offsets_of(handle: ClusterHandle, partitions: Collection[tuple[str, int]]) -> Reading:
    """Reads one cluster with the offsets of these partitions and of no others.

    Raises:
        KreplicaError: As ``read_clusters``.
    """
    return _noted(lambda: Reading([read_snapshot(handle, Facet.OFFSETS, partitions)], [], [handle]), [handle])


def read_clusters(handles: Sequence[ClusterHandle], wanted: Facet, freshness: Freshness | None = None) -> Reading:
    """Reads all handles.

    Args:
        handles: Which clusters.
        wanted: The facts that are needed of each.
        freshness: For a gate: the greatest age of a dump; facts that the gate misses are then among the gaps.

    Raises:
        KreplicaError: No cluster could be read; the worst of the errors. Remarks on settings are its notes
            (``__notes__``), since a setting may be what is wrong.
    """
    reading = _noted(lambda: _read_all(handles, wanted), handles)
    if freshness is None:
        return reading
    from kreplica.health.gates import for_gate

    return replace(reading, snapshots=[for_gate(snapshot, freshness) for snapshot in reading.snapshots])


def _noted(read: Callable[[], Reading], handles: Sequence[ClusterHandle]) -> Reading:
    try:
        return read()
    except KreplicaError as error:
        for handle in handles:
            for remark in handle.warnings:
                error.add_note(remark)
        raise


def _read_all(handles: Sequence[ClusterHandle], wanted: Facet) -> Reading:
    if len(handles) == 1:  # in this thread, where Ctrl-C ends it at once
        return Reading([read_snapshot(handles[0], wanted)], [], handles)
    from kreplica.system.pool import all_results

    outcomes = all_results([partial(_read, handle, wanted) for handle in handles], MOST_AT_ONCE)
    errors = [
        (handle, found) for handle, found in zip(handles, outcomes, strict=True) if isinstance(found, KreplicaError)
    ]
    if len(errors) == len(handles):
        raise worst_of([error for _, error in errors])
    return Reading([found for found in outcomes if not isinstance(found, KreplicaError)], errors, handles)


def _read(handle: ClusterHandle, wanted: Facet) -> ClusterSnapshot | KreplicaError:
    return attempt(lambda: read_snapshot(handle, wanted))


def select_each(
    snapshots: Sequence[ClusterSnapshot],
    *,
    topics: str | None = None,
    exclude_internal: bool = False,
    brokers: Sequence[int] = (),
) -> tuple[list[ClusterSnapshot], list[str]]:
    """The partitions asked for in each cluster, and a remark on each cluster that has none of them.

    Args:
        snapshots: The clusters.
        topics: Patterns of topics, as ``--topic`` takes them; all topics if None.
        exclude_internal: Leave out internal topics.
        brokers: Only partitions with a replica on one of these; all if empty.

    Raises:
        UsageError: No cluster has any; the first cluster's error.
    """
    from kreplica.model.selection import select

    selected, errors = [], []
    for snapshot in snapshots:
        try:
            selected.append(select(snapshot, topics=topics, exclude_internal=exclude_internal, brokers=brokers))
        except UsageError as error:
            selected.append(snapshot.without_partitions())
            errors.append((snapshot, error))
    if len(errors) == len(snapshots):
        raise worst_of([error for _, error in errors])
    return selected, [f"{snapshot.name}: {error.what}; {error.why}" for snapshot, error in errors]


def judged_each(reading: Reading, selected: Sequence[ClusterSnapshot], freshness: Freshness) -> list[ClusterSnapshot]:
    """The partitions that a gate judges in each cluster, with gaps for the facts it misses.

    One of several clusters may have none of the named topics, which a remark reports.
    """
    from kreplica.health.gates import for_gate

    return [for_gate(one, freshness) if len(one.partitions) or not reading.several else one for one in selected]


def gaps_beside(reading: Reading, judged: Sequence[ClusterSnapshot]) -> list[str]:
    """Gaps of the judged partitions that are not among those of the reading, each with its cluster's name where there
    are several.
    """
    pairs = zip(reading.snapshots, judged, strict=True)
    found = [(some.name, gap.message) for whole, some in pairs for gap in some.gaps if gap not in whole.gaps]
    return [f"{name}: {message}" if reading.several else message for name, message in found]
