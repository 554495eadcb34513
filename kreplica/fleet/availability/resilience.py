"""Losses that would have hurt: for every moment of a history, what each broker and each rack would have taken along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from kreplica.errors import ExitCode
from kreplica.fleet.availability.losses import Loss, LossRules, LostKind
from kreplica.fleet.availability.timeline import Timeline, timelines_of, unknown_states, warnings_of
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, Impact
from kreplica.history.ingest import time_text
from kreplica.history.selection import Chosen, HistoryMonth, storage_of
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.rows import Meaning
from kreplica.store.selection import Wanted
from kreplica.system.processes import side_by_side
from kreplica.system.stores.locations import Place
from kreplica.system.stores.storage import Storage

_EVERYTHING = Wanted()
WRITES = (Impact.UNAVAILABLE, Impact.ISR_FROZEN, Impact.UNDER_MIN_ISR)
"""Impacts that stop acks=all writes."""
MEASURES: tuple[tuple[Impact, ...], ...] = ((Impact.UNCLEAN_LEADER,), (Impact.UNAVAILABLE,), WRITES)
"""Impacts that a loss of records, a stop of reads and a stop of writes are counted by."""


class Exposure(msgspec.Struct, frozen=True):
    """Harm that the loss of one broker or rack would have done to a cluster, over all of the time that is known."""

    cluster: Annotated[str, Meaning("label of the cluster: its id where known", screen=False)]
    name: Annotated[str, Meaning("name of the cluster in the newest snapshot", label="CLUSTER")]
    kind: Annotated[LostKind, Meaning("what is lost: broker, or rack with all of its brokers")]
    lost: Annotated[str, Meaning("the broker's id, or the rack")]
    loses_percent: Annotated[
        float,
        Meaning("share of the time known in which the loss could have cost acknowledged records", label="LOSES %"),
    ]
    reads_percent: Annotated[
        float, Meaning("share of the time known in which it would have stopped reads and writes", label="READS %")
    ]
    writes_percent: Annotated[
        float, Meaning("share of the time known in which it would have stopped acks=all writes", label="WRITES %")
    ]
    loses_most: Annotated[int, Meaning("most partitions at once that could have lost records", label="LOSES")]
    reads_most: Annotated[int, Meaning("most partitions at once without reads and writes", label="READS")]
    writes_most: Annotated[int, Meaning("most partitions at once without acks=all writes", label="WRITES")]
    worst_at: Annotated[
        str | None,
        Meaning("since when it was worst: most partitions that lose records, then reads, then writes", drop=1),
    ]
    since: Annotated[
        str | None,
        Meaning(
            "since when the loss does harm without a break, up to the newest state; null if it does none now", drop=2
        ),
    ]
    writes_now: Annotated[int, Meaning("partitions in the newest state whose acks=all writes it stops", screen=False)]
    known_seconds: Annotated[
        int, Meaning("time that snapshots and metadata logs tell of, without pauses", screen=False)
    ]

    @property
    def harms(self) -> bool:
        """True if the loss would have done any harm at any time."""
        return bool(self.loses_most or self.reads_most or self.writes_most)

    def rank(self) -> tuple[object, ...]:
        """Sorts the worst first: lost records, then reads, then writes, each by time and partitions."""
        shares = (-self.loses_percent, -self.reads_percent, -self.writes_percent)
        return (*shares, -self.loses_most, -self.reads_most, -self.writes_most, self.cluster, self.kind, self.lost)


@dataclass(frozen=True, slots=True)
class ExposedCluster:
    """Losses of one cluster.

    Args:
        cluster: The cluster's label.
        name: Its name in the newest snapshot.
        rows: One for each broker and each rack.
        snapshots: Number of snapshots.
        known_ms: Time that is known.
        paused_ms: Time between the first and the last moment that is not.
        warnings: Facts that are not known and could make it worse.
    """

    cluster: str
    name: str
    rows: Sequence[Exposure]
    snapshots: int
    known_ms: int
    paused_ms: int
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Resilience:
    """Losses of the clusters of a history.

    Args:
        clusters: Those that were looked at.
        chosen: The months that were read, and the problems of the others.
    """

    clusters: Sequence[ExposedCluster]
    chosen: Chosen

    @property
    def rows(self) -> list[Exposure]:
        """The rows of all clusters, the worst first."""
        return sorted((row for cluster in self.clusters for row in cluster.rows), key=Exposure.rank)

    @property
    def warnings(self) -> list[str]:
        """Lines on what could not be read or is not known."""
        return warnings_of(self.chosen, self.clusters)

    @property
    def exit_code(self) -> ExitCode:
        """1 where a loss would have done harm; 5 where none would as far as is known, but not all is."""
        if any(row.harms for row in self.rows):
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.warnings else ExitCode.OK


def resilience_in(history: Place | str | Storage, wanted: Wanted = _EVERYTHING, processes: int = 1) -> Resilience:
    """Harm that the loss of each broker and each rack would have done, at every moment of every cluster of a history.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or a storage.
        wanted: Which clusters, from when to when.
        processes: Number of processes that share the clusters.

    Raises:
        InputError: There is no history, or what is needed of it is damaged.
        UsageError: Nothing in it is wanted.
    """
    chosen = timelines_of(storage_of(history), wanted)
    clusters = list(chosen.by_cluster().values())
    return Resilience(side_by_side(exposed, clusters, processes), chosen)


def exposed(months: Sequence[HistoryMonth]) -> ExposedCluster:
    """Harm that the loss of each broker and each rack would have done to one cluster.

    Args:
        months: The months of the cluster, in order.

    Raises:
        InputError: A file is damaged, or not there.
    """
    timeline = Timeline(months)
    counts = LossCounts(timeline)
    known = counts.clock.known_between(timeline.begin, timeline.end)
    rows = [_row(timeline, counts, number, known) for number in range(len(counts.losses))]
    paused = timeline.end - timeline.begin - known
    snapshots = len(timeline.line.times)
    warnings = unknown_states(timeline)
    if not any(loss.kind is LostKind.BROKER for loss in counts.losses):
        warnings.append("no broker is known")
    return ExposedCluster(timeline.cluster, timeline.name, rows, snapshots, known, paused, warnings)


class Clock:
    """Time of a timeline that is known.

    Args:
        timeline: The timeline.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._begins = np.array([begin for begin, _ in timeline.known], np.int64)
        self._ends = np.array([end for _, end in timeline.known], np.int64)
        self._before = np.concatenate([[0], np.cumsum(self._ends - self._begins)])

    def known_until(self, times: Integers) -> Integers:
        """Milliseconds that are known before each moment."""
        at = np.searchsorted(self._begins, times, side="right")
        last = np.maximum(at - 1, 0)
        inside = np.minimum(times, self._ends[last]) - self._begins[last] if len(self._begins) else np.zeros_like(times)
        found: Integers = np.where(at > 0, self._before[last] + inside, 0)
        return found

    def known_between(self, begin: int, end: int) -> int:
        """Milliseconds that are known in a stretch of time."""
        first, last = self.known_until(np.array([begin, end])).tolist()
        return int(last - first)


@dataclass(frozen=True, slots=True, eq=False)
class LossSteps:
    """Harm that one loss would have done, step by step.

    Args:
        begins: The first millisecond of each step; the last one begins where the timeline ends.
        counts: For each step and impact of FAILURE_IMPACTS the number of partitions.
    """

    begins: Integers
    counts: npt.NDArray[np.int64]

    def at(self, moment: int) -> dict[Impact, int]:
        """Number of partitions by impact at one moment; impacts without any are left out."""
        place = int(np.searchsorted(self.begins, moment, side="right")) - 1
        if place < 0:
            return {}
        numbers = self.counts[place].tolist()
        return {impact: number for impact, number in zip(FAILURE_IMPACTS, numbers, strict=True) if number}

    def measured(self, impacts: Sequence[Impact]) -> Integers:
        """Number of partitions with any of these impacts, at each step."""
        found: Integers = self.counts[:, [FAILURE_IMPACTS.index(impact) for impact in impacts]].sum(axis=1)
        return found


class LossCounts:
    """Partitions that each loss harms, at every moment of a timeline.

    Args:
        timeline: The timeline.

    Raises:
        InputError: A file is damaged, or not there.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.clock = Clock(timeline)
        self._timeline = timeline
        self._states, self._state = timeline.states.table, timeline.states.numbers
        self.losses = self._every_loss()
        self._events = self._gathered()

    def steps(self, number: int) -> LossSteps:
        """Harm that one loss would have done, step by step."""
        losses, impacts, times, changes = self._events
        first, last = np.searchsorted(losses, [number, number + 1])
        begins, places = np.unique(times[first:last], return_inverse=True)
        width = len(FAILURE_IMPACTS)
        cells = places * width + impacts[first:last]
        sums = np.bincount(cells, weights=changes[first:last], minlength=len(begins) * width)
        counts = np.cumsum(sums.reshape(-1, width).round().astype(np.int64), axis=0)
        return LossSteps(begins, counts)

    def _every_loss(self) -> list[Loss]:
        brokers = set(np.unique(self._states.lists("replicas").values).tolist())
        racks: set[str] = set()
        for one in self._timeline.circumstances:
            brokers.update(int(broker) for broker in one.snapshot.brokers.integers("broker").values.tolist())
            racks.update(one.snapshot.racks.values())
        found = [Loss(LostKind.BROKER, broker=broker) for broker in sorted(brokers)]
        return [*found, *(Loss(LostKind.RACK, rack=rack) for rack in sorted(racks))]

    def _gathered(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Changes of counts: by loss, the impact, when, and by how many partitions."""
        rules, known = LossRules(), {}
        found: list[tuple[Integers, Integers, Integers, Integers]] = [(np.zeros(0, np.int64),) * 4]
        pieces = self._timeline.partitions
        for one in self._timeline.circumstances:
            if one.number not in known:
                known[one.number] = rules.harms(one.snapshot, one.elr, self._states, self.losses)
            harms = known[one.number]
            harmed = np.bincount(harms.states, minlength=len(self._states))
            some = np.flatnonzero((pieces.begin < one.end) & (pieces.end > one.begin) & (harmed[self._state] > 0))
            count = harmed[self._state[some]]
            firsts = np.concatenate([[0], np.cumsum(harmed)])[self._state[some]]
            places = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + np.repeat(firsts, count)
            rows = np.repeat(some, count)
            begin, end = np.maximum(pieces.begin[rows], one.begin), np.minimum(pieces.end[rows], one.end)
            for times, change in ((begin, 1), (end, -1)):
                changes = np.full(len(rows), change, np.int64)
                found.append((harms.losses[places], harms.impacts[places], times, changes))
        losses, impacts, times, changes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(losses, kind="stable")
        return losses[order], impacts[order], times[order], changes[order]


def _row(timeline: Timeline, counts: LossCounts, number: int, known: int) -> Exposure:
    loss, steps = counts.losses[number], counts.steps(number)
    until = counts.clock.known_until(steps.begins)
    lengths = np.append(np.diff(until), 0)
    loses, reads, writes = (np.where(lengths > 0, steps.measured(some), 0) for some in MEASURES)
    shares = [float(lengths[some > 0].sum() / known * 100) if known else 0.0 for some in (loses, reads, writes)]
    order = np.lexsort((writes, reads, loses))
    harmful = (loses + reads + writes) > 0
    worst = _first_like(order[-1], loses, reads, writes) if harmful.any() else -1
    return Exposure(
        cluster=timeline.cluster,
        name=timeline.name,
        kind=loss.kind,
        lost=loss.lost,
        loses_percent=round(shares[0], 3),
        reads_percent=round(shares[1], 3),
        writes_percent=round(shares[2], 3),
        loses_most=int(loses.max(initial=0)),
        reads_most=int(reads.max(initial=0)),
        writes_most=int(writes.max(initial=0)),
        worst_at=None if worst < 0 else time_text(int(steps.begins[worst])),
        since=_since(timeline, steps, harmful),
        writes_now=sum(steps.at(timeline.end - 1).get(impact, 0) for impact in WRITES),
        known_seconds=known // 1000,
    )


def _first_like(place: int, *columns: Integers) -> int:
    """The first place at which all columns are as at this one."""
    equal = np.logical_and.reduce([column == column[place] for column in columns])
    return int(np.flatnonzero(equal)[0])


def _since(timeline: Timeline, steps: LossSteps, harmful: npt.NDArray[np.bool_]) -> str | None:
    """Begin of the harm that lasts up to the end; a pause breaks it."""
    last = int(np.searchsorted(steps.begins, timeline.end - 1, side="right")) - 1
    if last < 0 or not harmful[last]:
        return None
    whole = steps.measured([impact for impact in FAILURE_IMPACTS if impact.harmful]) > 0
    harmless = np.flatnonzero(~whole[: last + 1])
    begin = int(steps.begins[harmless[-1] + 1 if len(harmless) else 0])
    return time_text(max([begin, *(until for _, until in timeline.pauses)]))
