"""A cluster at each observation at which it changed, with its causes, and its findings from when to when.

Between two changes all is the same, so that few observations have to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.incidents.over_time import Brokers, broken_over_time
from kreplica.fleet.incidents.shown import Shown, elements_shown
from kreplica.health.causes.facts import fenced_brokers, gone_brokers
from kreplica.health.findings import Finding
from kreplica.history.months.log_steps import METADATA_LOG
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import IntColumn, Integers, IntListColumn
from kreplica.model.tables.schema import BROKERS, CONFIGS, LOG_DIRS, PARTITIONS
from kreplica.model.tables.table import Table

TABLES_READ = (PARTITIONS, BROKERS, LOG_DIRS, CONFIGS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

PartitionId = tuple[str, int]


class Stage:
    """Partitions, brokers, log directories and settings over the scenes of a cluster.

    Args:
        history: The cluster.
        numbers: The observation of each scene, in order.
    """

    def __init__(self, history: ClusterHistory, numbers: Sequence[int]) -> None:
        self.history, self.numbers = history, numbers
        self.partitions = Shown(history.partitions, numbers)
        self.brokers = Shown(history.brokers, numbers)
        self.log_dirs = Shown(history.log_dirs, numbers)
        self.configs = Shown(history.configs, numbers)
        self._down: dict[tuple[int, bytes], frozenset[int]] = {}

    @cached_property
    def _brokers_of_partitions(self) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Ids of brokers that partitions name, and for each scene which of them it shows."""
        shown = [elements_shown(self.partitions.lists(name), self.partitions.places, len(self.numbers)) for name in _IN]
        leaders = self.partitions.columns["leader"]
        assert isinstance(leaders, IntColumn), "leaders are numbers"
        rows = np.flatnonzero((leaders.values >= 0) if leaders.valid is None else leaders.valid & (leaders.values >= 0))
        led = IntListColumn(leaders.values[rows], np.arange(len(rows) + 1))
        shown.append(elements_shown(led, self.partitions.places.take(rows), len(self.numbers)))
        ids = sorted(set[int]().union(*shown))
        none = np.zeros(len(self.numbers), np.bool_)
        columns = [np.logical_or.reduce([one.get(broker, none) for one in shown]) for broker in ids]
        return np.array(ids, np.int64), np.array(columns, np.bool_).reshape(len(ids), len(self.numbers))

    def broker_ids(self, place: int) -> Integers:
        """Brokers that are registered or named by partitions at a scene, in order."""
        ids, shown = self._brokers_of_partitions
        registered = self.brokers.tables[place].integers("broker").values
        return np.unique(np.concatenate([ids[shown[:, place]], registered]))

    def down(self, place: int) -> frozenset[int]:
        """Brokers that are fenced or gone at a scene."""
        brokers = self.brokers.tables[place]
        key = id(brokers), self._brokers_of_partitions[1][:, place].tobytes()
        if key not in self._down:
            ids = self.broker_ids(place)
            self._down[key] = frozenset(ids[fenced_brokers(brokers, ids) | gone_brokers(brokers, ids)].tolist())
        return self._down[key]

    @cached_property
    def around(self) -> list[ClusterSnapshot]:
        """For each scene a cluster of its brokers without partitions; one object where they are the same."""
        known: dict[int, ClusterSnapshot] = {}
        for brokers in self.brokers.tables:
            if id(brokers) not in known:
                known[id(brokers)] = ClusterSnapshot(None, "", _EPOCH, "", Table.empty(PARTITIONS), brokers)
        return [known[id(brokers)] for brokers in self.brokers.tables]

    def snapshot(self, place: int) -> ClusterSnapshot:
        """The whole cluster at a scene; what is measured is null."""
        history, number = self.history, self.numbers[place]
        seen = history.snapshot_up_to(number)
        return ClusterSnapshot(
            cluster_id=history.cluster if seen is None or seen.row["cluster_id"] is not None else None,
            name=history.name,
            taken_at=_EPOCH + timedelta(milliseconds=int(history.times[number])),
            source=METADATA_LOG if seen is None else str(seen.row["source"]),
            partitions=self.partitions.table_at(place),
            brokers=self.brokers.tables[place],
            log_dirs=self.log_dirs.tables[place],
            configs=self.configs.table_at(place),
            features=history.features[number],
            dumped=True,
            measured=False,
        )

    def alike(self) -> list[Brokers]:
        """The scenes by their brokers, as far as rules of partitions ask for these."""
        cells: dict[int, tuple[object, ...]] = {}
        found: dict[tuple[object, ...], tuple[ClusterSnapshot, list[int]]] = {}
        for place, snapshot in enumerate(self.around):
            if id(snapshot) not in cells:
                cells[id(snapshot)] = tuple(tuple(snapshot.brokers[name].to_list()) for name in _ASKED)
            found.setdefault(cells[id(snapshot)], (snapshot, []))[1].append(place)
        return [Brokers(snapshot, *_stretches(np.array(places))) for snapshot, places in found.values()]


_IN = ("replicas", "isr")
_ASKED = ("broker", "rack", "alive")


def _stretches(places: Integers) -> tuple[Integers, Integers]:
    """Begin and end of each unbroken run of numbers."""
    cuts = np.flatnonzero(np.diff(places) > 1) + 1
    return places[np.append(0, cuts)], places[np.append(cuts, len(places)) - 1] + 1


@dataclass(eq=False)
class Scene:
    """The cluster as one observation told it; what that one does not know is as it was told before.

    Args:
        number: Of the observation.
        before: Number of the last observation before it that tells partitions, -1 if there is none.
        place: Its place among the scenes.
        stage: What happens over all scenes.
    """

    number: int
    before: int
    place: int
    stage: Stage
    _suspects: dict[PartitionId, frozenset[int]] = field(default_factory=dict)

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The whole cluster, made anew each time: so many partitions are too large to be kept for each scene."""
        return self.stage.snapshot(self.place)

    @property
    def brokers(self) -> Table:
        """The table of brokers; the same object where it is the same as at another scene."""
        return self.stage.brokers.tables[self.place]

    @property
    def log_dirs(self) -> Table:
        """The table of log directories; the same object where it is the same as at another scene."""
        return self.stage.log_dirs.tables[self.place]

    @cached_property
    def down(self) -> frozenset[int]:
        """Brokers that are fenced or gone."""
        return self.stage.down(self.place)

    @cached_property
    def out_of_all(self) -> frozenset[int]:
        """Brokers that are up, but neither lead nor are in sync in any partition that others, or nobody, is in sync in.

        So does a broker that shuts down in order until it is fenced (ReplicationControlManager, controlled shutdown),
        and one that was killed and registers anew: it is taken out of all ISRs first, also as their last member
        (handleUncleanBrokerShutdown, KIP-966).
        """
        shown = self.stage.partitions
        rows = shown.at(self.place)
        replicas, isr = (shown.lists(name).take(rows) for name in _IN)
        synced = np.unique(isr.row_numbers() << 32 | isr.values)
        in_sync = np.bincount(synced >> 32, minlength=len(rows))
        owners, holders = replicas.row_numbers(), replicas.values
        own = np.isin(owners << 32 | holders, synced)
        with_others = in_sync[owners] - own > 0
        leader = shown.codes("leader")[rows][owners]
        holds = holders[with_others | (in_sync[owners] == 0)]
        taking_part = holders[with_others & (own | (holders == leader))]
        return frozenset(np.setdiff1d(holds, taking_part).tolist()) - self.down

    def row(self, topic: str, partition: int) -> int | None:
        """The row of a partition among those that scenes show; None where this one does not."""
        return self.stage.partitions.row((topic, partition), self.place)

    def leader(self, topic: str, partition: int) -> object:
        """The leader of a partition, None where it is not known."""
        row = self.row(topic, partition)
        return None if row is None else self.stage.partitions.columns["leader"][row]

    def suspects(self, topic: str, partition: int) -> frozenset[int]:
        """Brokers of a partition that may be to blame: out of sync, offline, or down."""
        key = topic, partition
        if key not in self._suspects:
            self._suspects[key] = self._to_blame(self.row(topic, partition))
        return self._suspects[key]

    def _to_blame(self, row: int | None) -> frozenset[int]:
        if row is None:
            return frozenset()
        shown = self.stage.partitions
        replicas, isr, offline = ({*(shown.lists(name)[row] or ())} for name in (*_IN, "offline_replicas"))
        return frozenset((replicas - isr) | offline | (replicas & self.down))


def scenes_of(history: ClusterHistory) -> list[Scene]:
    """The cluster at its first observation, and at each at which something changed."""
    tellers = history.partitions.tellers
    changes = [tellers[:1]]
    for schema in TABLES_READ:
        runs = history.table(schema).runs
        changes += [runs.first, runs.ended[runs.ended >= 0]]
    # What another source told in between is judged with the partitions after it.
    places = np.unique(np.searchsorted(tellers, np.unique(np.concatenate(changes))))
    places = places[places < len(tellers)]
    numbers = tellers[places].tolist()
    before = np.append(tellers, -1)[places - 1].tolist()
    stage = Stage(history, numbers)
    return [Scene(number, last, at, stage) for at, (number, last) in enumerate(zip(numbers, before, strict=True))]


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding over time, with the place of the scene that first shows it."""

    finding: FleetFinding
    scene: int
    span: Span


def findings_over_time(history: ClusterHistory, scenes: Sequence[Scene]) -> list[Seen]:
    """Findings of the rules of check, from when to when; of several severities the worst counts."""
    tellers = history.partitions.tellers
    newest = int(tellers[-1]) if len(tellers) else 0
    if not scenes:
        return []
    stage = scenes[0].stage
    known: dict[tuple[int, int], tuple[Span, Mapping[str, Any]]] = {}  # most findings begin and end with others
    found = []
    for one in broken_over_time(stage.partitions, stage.alike()):
        places = one.begin, one.end
        if places not in known:
            span = _span_of(scenes, places, newest)
            known[places] = span, history.times_of(span, tellers)
        span, times = known[places]
        found.append(Seen(_as_fleet_finding(history.cluster, one.finding, times), one.begin, span))
    return found


def _span_of(scenes: Sequence[Scene], places: tuple[int, int], newest: int) -> Span:
    """Span from one scene up to another; the second is their number where it does not end."""
    begin, end = places
    ended = scenes[end].number if end < len(scenes) else -1
    return Span(scenes[begin].before, scenes[begin].number, last_before(scenes, end, newest), ended)


def last_before(scenes: Sequence[Scene], place: int, newest: int) -> int:
    """Number of the last observation before a scene; the newest one behind the last scene."""
    return scenes[place].before if place < len(scenes) else newest


def _as_fleet_finding(cluster: str, one: Finding, times: Mapping[str, Any]) -> FleetFinding:
    return FleetFinding(
        cluster=cluster,
        rule=one.rule,
        severity=one.severity,
        certainty=Certainty.PROVED,
        message=one.message,
        topic=one.topic,
        partition=one.partition,
        broker=one.broker,
        evidence=one.evidence,
        **times,
    )


def spans_of(scenes: Sequence[Scene], newest: int, holds: Sequence[bool]) -> Iterator[tuple[int, int | None, Span]]:
    """Runs of scenes in which something holds: place of the first, place of the first after it, numbers.

    Args:
        scenes: The scenes.
        newest: Number of the newest observation.
        holds: Whether it holds, for each scene.
    """
    begin: int | None = None
    for place, held in enumerate([*holds, False]):
        if held and begin is None:
            begin = place
        elif not held and begin is not None:
            yield begin, place if place < len(scenes) else None, _span_of(scenes, (begin, place), newest)
            begin = None
