"""A cluster at each observation at which it changed, with its causes, and its findings from when to when.

Between two changes all is the same, so that few observations have to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.health.causes.explain import Explanation
from kreplica.health.findings import Finding, find
from kreplica.history.coding import Coded
from kreplica.model.evaluate import Evaluator
from kreplica.model.schema import BROKERS, CONFIGS, LOG_DIRS, PARTITIONS, TableSchema
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.table import Table

TABLES_READ = (PARTITIONS, BROKERS, LOG_DIRS, CONFIGS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

PartitionId = tuple[str, int]


@dataclass(eq=False)
class Scene:
    """The cluster as one observation told it; what that one does not know is as it was told before.

    Args:
        number: Of the observation.
        before: Number of the last observation before it that tells partitions, -1 if there is none.
        snapshot: The cluster.
    """

    number: int
    before: int
    snapshot: ClusterSnapshot

    @cached_property
    def why(self) -> Explanation:
        """The causes of missing replicas."""
        return Explanation(Evaluator(self.snapshot))

    @cached_property
    def findings(self) -> list[Finding]:
        """Broken rules."""
        return find(self.snapshot)

    @cached_property
    def down(self) -> frozenset[int]:
        """Brokers that are fenced or gone."""
        facts = self.why.facts
        return frozenset(facts.broker_ids[facts.fenced | facts.gone].tolist())

    @cached_property
    def out_of_all(self) -> frozenset[int]:
        """Brokers that are up, but neither lead nor are in sync in any partition that others are in sync in.

        So does a broker that shuts down in order until it is fenced (ReplicationControlManager, controlled shutdown).
        """
        holds: set[int] = set()
        taking_part: set[int] = set()
        for row in self.partitions.values():
            replicas, isr = set(_ids(row, "replicas")), set(_ids(row, "isr"))
            for broker in replicas:
                if isr - {broker}:
                    holds.add(broker)
                    if broker in isr or broker == row["leader"]:
                        taking_part.add(broker)
        return frozenset(holds - taking_part - self.down)

    @cached_property
    def partitions(self) -> dict[PartitionId, dict[str, object]]:
        """Rows of the partitions."""
        return {(str(row["topic"]), int(str(row["partition"]))): row for row in self.snapshot.partitions.rows()}

    @cached_property
    def rows(self) -> dict[PartitionId, int]:
        """Numbers of the rows of partitions in the snapshot."""
        return {key: number for number, key in enumerate(self.partitions)}

    def suspects(self, topic: str, partition: int) -> frozenset[int]:
        """Brokers of a partition that may be to blame: out of sync, offline, or down."""
        row = self.partitions.get((topic, partition), {})
        replicas = {*_ids(row, "replicas")}
        return frozenset((replicas - {*_ids(row, "isr")}) | {*_ids(row, "offline_replicas")} | (replicas & self.down))


def _ids(row: dict[str, object], name: str) -> list[int]:
    value = row.get(name)
    return [int(one) for one in value] if isinstance(value, list | tuple) else []


def scenes_of(history: ClusterHistory) -> list[Scene]:
    """The cluster at its first observation, and at each at which something changed."""
    tellers = history.partitions.tellers
    changes = {int(tellers[0])} if len(tellers) else set()
    for schema in TABLES_READ:
        runs = history.table(schema).runs
        changes |= {*runs.first.tolist(), *runs.ended[runs.ended >= 0].tolist()}
    found: list[Scene] = []
    for number in sorted(changes):
        place = int(np.searchsorted(tellers, number))
        if place < len(tellers):
            here = int(tellers[place])  # what another source told in between is judged with the partitions after it
            if not found or found[-1].number != here:
                before = int(tellers[place - 1]) if place else -1
                found.append(Scene(here, before, snapshot_at(history, here)))
    return found


def snapshot_at(history: ClusterHistory, number: int) -> ClusterSnapshot:
    """The cluster at an observation; what is measured is null."""
    seen = history.line.seen[number].row
    return ClusterSnapshot(
        cluster_id=None if seen["cluster_id"] is None else str(seen["cluster_id"]),
        name=history.name,
        taken_at=_EPOCH + timedelta(milliseconds=int(history.times[number])),
        source=str(seen["source"]),
        partitions=_table_at(history, PARTITIONS, number),
        brokers=_table_at(history, BROKERS, number),
        log_dirs=_table_at(history, LOG_DIRS, number),
        configs=_table_at(history, CONFIGS, number),
        features=history.features[number],
        dumped=True,
        measured=False,
    )


def _table_at(history: ClusterHistory, schema: TableSchema, number: int) -> Table:
    table = history.table(schema)
    runs = table.runs
    there = (runs.first <= number) & ((runs.ended < 0) | (runs.ended > number))
    return table.coder.table_of(Coded(runs.coded.keys[there], runs.coded.values[there]))


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding over time, with the place of the scene that first shows it."""

    finding: FleetFinding
    scene: int
    span: Span


def findings_over_time(history: ClusterHistory, scenes: Sequence[Scene]) -> list[Seen]:
    """Findings of the rules of check, from when to when; of several severities the worst counts."""
    tellers = history.partitions.tellers
    running: dict[tuple[object, ...], tuple[int, Finding]] = {}
    found: list[Seen] = []
    for place, scene in enumerate(scenes):
        now = {(one.rule, one.topic, one.partition, one.broker): one for one in scene.findings}
        for key in [key for key in running if key not in now]:
            begin, worst = running.pop(key)
            found.append(_seen(history, scenes, (begin, place), worst))
        for key, one in now.items():
            begin, worst = running.get(key, (place, one))
            running[key] = (begin, max(worst, one, key=lambda finding: finding.severity.rank))
    newest = int(tellers[-1]) if len(tellers) else 0
    found += [_seen(history, scenes, (begin, None), one, newest) for begin, one in running.values()]
    return found


def _seen(
    history: ClusterHistory, scenes: Sequence[Scene], places: tuple[int, int | None], one: Finding, newest: int = 0
) -> Seen:
    begin, end = places
    last, ended = (newest, -1) if end is None else (scenes[end].before, scenes[end].number)
    span = Span(scenes[begin].before, scenes[begin].number, last, ended)
    finding = history.finding(
        span,
        history.partitions.tellers,
        rule=one.rule,
        severity=one.severity,
        certainty=Certainty.PROVED,
        message=one.message,
        topic=one.topic,
        partition=one.partition,
        broker=one.broker,
        evidence=one.evidence,
    )
    return Seen(finding, begin, span)


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
            end = place if place < len(scenes) else None
            last, ended = (newest, -1) if end is None else (scenes[end].before, scenes[end].number)
            yield begin, end, Span(scenes[begin].before, scenes[begin].number, last, ended)
            begin = None
