"""Minutes without writes or reads that did happen, with their bounds and causes, against an objective."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec

from kreplica.errors import ExitCode, UsageError
from kreplica.fleet.availability.outage_causes import NOT_KNOWN, Begun, OutageCauses
from kreplica.fleet.availability.outages import READS, WRITES, Outage, Outages
from kreplica.fleet.availability.timeline import Timeline, timelines_of, unknown_states, warnings_of
from kreplica.fleet.pieces import Span
from kreplica.history.ingest import time_text
from kreplica.history.selection import Chosen, HistoryMonth, storage_of
from kreplica.model.tables.rows import Meaning
from kreplica.store.selection import Wanted
from kreplica.system.processes import side_by_side
from kreplica.system.stores.locations import Place
from kreplica.system.stores.storage import Storage

_EVERYTHING = Wanted()


class OutagesBy(StrEnum):
    """Things that outages are gathered by."""

    TOPIC = "topic"
    CLUSTER = "cluster"
    CAUSE = "cause"


class Standing(StrEnum):
    """Answers to whether an objective was met."""

    MISSED = "missed"
    UNSURE = "unsure"
    MET = "met"


class Downtime(msgspec.Struct, frozen=True):
    """Time in which partitions of a topic, of a cluster or of one cause could not be used: any one of them counts."""

    cluster: Annotated[str, Meaning("label of the cluster: its id where known", screen=False)]
    name: Annotated[str, Meaning("name of the cluster in the newest snapshot", label="CLUSTER")]
    topic: Annotated[str | None, Meaning("the topic; null where topics are gathered")]
    standing: Annotated[
        Standing,
        Meaning(
            "missed: more time without writes than the objective leaves; met: less, at most; unsure: the bounds lie on"
            " both sides",
            label="OBJECTIVE",
        ),
    ]
    writes_least_minutes: Annotated[
        float, Meaning("minutes in which some partition took no acks=all writes, at least", label="WRITES >=")
    ]
    writes_most_minutes: Annotated[float, Meaning("the same at most", label="WRITES <=")]
    reads_least_minutes: Annotated[
        float,
        Meaning("minutes of it in which some partition could not be read either, at least", label="READS >=", drop=6),
    ]
    reads_most_minutes: Annotated[float, Meaning("the same at most", label="READS <=", drop=7)]
    left_least_minutes: Annotated[
        float,
        Meaning("minutes without writes that are left of the budget, at least; below 0: none", label="LEFT >=", drop=8),
    ]
    left_most_minutes: Annotated[float, Meaning("the same at most", screen=False)]
    budget_minutes: Annotated[float, Meaning("minutes without writes that the objective allows", screen=False)]
    known_minutes: Annotated[float, Meaning("minutes that snapshots and metadata logs tell of", screen=False)]
    partitions: Annotated[int, Meaning("partitions concerned", drop=4)]
    outages: Annotated[int, Meaning("unbroken times in which some partition was concerned", drop=3)]
    first_at: Annotated[str, Meaning("first moment that shows one", label="FIRST", drop=2)]
    last_at: Annotated[str, Meaning("last moment that shows one", label="LAST", drop=1)]
    lasts: Annotated[bool, Meaning("whether the newest state shows one", drop=5)]
    causes: Annotated[list[str], Meaning("causes as they began, those of most partitions first", fold=True)]

    def rank(self) -> tuple[object, ...]:
        """Sorts the worst first."""
        standings = list(Standing)
        times = (-self.writes_least_minutes, -self.writes_most_minutes)
        return (standings.index(self.standing), *times, self.cluster, self.topic or "", self.causes)


@dataclass(frozen=True, slots=True)
class ServedCluster:
    """Outages of one cluster.

    Args:
        cluster: The cluster's label.
        name: Its name in the newest snapshot.
        rows: What was gathered.
        snapshots: Number of snapshots.
        known_ms: Time that is known.
        paused_ms: Time between the first and the last moment that is not.
        warnings: Facts that are not known and could make it worse.
    """

    cluster: str
    name: str
    rows: Sequence[Downtime]
    snapshots: int
    known_ms: int
    paused_ms: int
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Service:
    """Outages of the clusters of a history.

    Args:
        objective: Percent of the time in which all partitions are to take writes.
        clusters: The clusters that were looked at.
        chosen: The months that were read, and the problems of the others.
    """

    objective: float
    clusters: Sequence[ServedCluster]
    chosen: Chosen

    @property
    def rows(self) -> list[Downtime]:
        """The rows of all clusters, the worst first."""
        return sorted((row for cluster in self.clusters for row in cluster.rows), key=Downtime.rank)

    @property
    def warnings(self) -> list[str]:
        """Lines on what could not be read or is not known."""
        return warnings_of(self.chosen, self.clusters)

    @property
    def exit_code(self) -> ExitCode:
        """1 where the objective was missed; 5 where it is not known whether it was."""
        standings = {row.standing for row in self.rows}
        if Standing.MISSED in standings:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if Standing.UNSURE in standings or self.warnings else ExitCode.OK


def outages_in(
    history: Place | str | Storage,
    objective: float = 99.95,
    by: OutagesBy = OutagesBy.TOPIC,
    wanted: Wanted = _EVERYTHING,
    processes: int = 1,
) -> Service:
    """Time without writes or reads that did happen, in every cluster of a history, against an objective.

    Args:
        history: Its folder, ``s3://BUCKET/PREFIX``, or a storage.
        objective: Percent of the time in which all partitions are to take writes.
        by: Whether it is told by topic, by cluster or by cause.
        wanted: Which clusters, from when to when.
        processes: Number of processes that share the clusters.

    Raises:
        InputError: There is no history, or what is needed of it is damaged.
        UsageError: The objective is no percentage, or nothing in the history is wanted.
    """
    if not 0 < objective < 100:
        raise UsageError(f"an objective of {objective:g} percent cannot be judged", fix="name one between 0 and 100")
    storage = storage_of(history)
    chosen = timelines_of(storage, wanted)
    clusters = list(chosen.by_cluster().values())
    work = _Work(storage, objective, by, wanted.since is not None)
    return Service(objective, side_by_side(work, clusters, processes), chosen)


@dataclass(frozen=True, slots=True)
class _Work:
    storage: Storage
    objective: float
    by: OutagesBy
    since: bool

    def __call__(self, months: Sequence[HistoryMonth]) -> ServedCluster:
        timeline = Timeline(months)
        found = Outages(timeline)
        writes, reads = found.of(WRITES), found.of(READS)
        causes = OutageCauses(self.storage, timeline, since=self.since).of(writes)
        known = sum(end - begin for begin, end in timeline.known)
        groups: dict[tuple[str | None, str | None], tuple[list[Outage], list[Outage]]] = {}
        for at, some in enumerate((writes, reads)):
            for one in some:
                groups.setdefault(self._group(one, causes), ([], []))[at].append(one)
        rows = [
            self._row(timeline, topic, known, *outages, causes) for (topic, _), outages in groups.items() if outages[0]
        ]
        return ServedCluster(
            timeline.cluster,
            timeline.name,
            rows,
            len(timeline.line.times),
            known,
            timeline.end - timeline.begin - known,
            unknown_states(timeline),
        )

    def _group(self, one: Outage, causes: Mapping[Begun, str]) -> tuple[str | None, str | None]:
        if self.by is OutagesBy.TOPIC:
            return one.topic, None
        return None, _cause_of(one, causes) if self.by is OutagesBy.CAUSE else None

    def _row(
        self,
        timeline: Timeline,
        topic: str | None,
        known: int,
        writes: Sequence[Outage],
        reads: Sequence[Outage],
        causes: Mapping[Begun, str],
    ) -> Downtime:
        most = _joined((one.most for one in writes), {one.least[1] for one in writes})
        times = [_length(_joined(one.least for one in writes)), _length(most)]
        times += [_length(_joined(getattr(one, name) for one in reads)) for name in ("least", "most")]
        budget = known * (100 - self.objective) / 100
        open_to_doubt = times[1] > budget or known <= 1  # one moment is no time to judge by
        standing = Standing.MISSED if times[0] > budget else Standing.UNSURE if open_to_doubt else Standing.MET
        named = [_cause_of(one, causes) for one in writes]
        return Downtime(
            cluster=timeline.cluster,
            name=timeline.name,
            topic=topic,
            standing=standing,
            writes_least_minutes=_minutes(times[0]),
            writes_most_minutes=_minutes(times[1]),
            reads_least_minutes=_minutes(times[2]),
            reads_most_minutes=_minutes(times[3]),
            left_least_minutes=_minutes(budget - times[1]),
            left_most_minutes=_minutes(budget - times[0]),
            budget_minutes=_minutes(budget),
            known_minutes=_minutes(known),
            partitions=len({(one.topic, one.partition) for one in writes}),
            outages=len(most),
            first_at=time_text(min(one.least[0] for one in writes)),
            last_at=time_text(max(one.least[1] for one in writes)),
            lasts=any(one.lasts for one in writes),
            causes=sorted(set(named), key=lambda cause: (-named.count(cause), cause)),
        )


def _cause_of(one: Outage, causes: Mapping[Begun, str]) -> str:
    return causes.get((one.topic, one.partition, one.least[0]), NOT_KNOWN)


def _joined(spans: Iterable[Span], bad_at: Collection[int] = ()) -> list[Span]:
    """Stretches of time in order, those that overlap as one, and those that meet at a moment of ``bad_at``."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and (begin < found[-1][1] or (begin == found[-1][1] and begin in bad_at)):
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def _length(spans: Iterable[Span]) -> int:
    return sum(end - begin for begin, end in spans)


def _minutes(milliseconds: float) -> float:
    return round(milliseconds / 60_000, 3)
