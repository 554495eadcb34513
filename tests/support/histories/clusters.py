"""Clusters that change by the hour and are snapshotted, folded to histories: the ground that fleet rules are tested on.

They begin four hours before April, so that what lasts is cut where the month begins.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from histories.folders import moment
from histories.observations import HOUR, MARCH
from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.judging import judge_cluster, newest_ms
from kreplica.fleet.rule import Circumstances
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import digest_of_snapshot
from kreplica.history.selection import Chosen, choose
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import BROKERS, CONFIGS, GROUPS, LOG_DIRS, PARTITIONS, QUORUM, REPLICAS
from kreplica.model.tables.table import Table
from kreplica.system.stores.storage import LocalStorage, Storage

Row = dict[str, Any]


@dataclass
class PlantedCluster:
    """A cluster of three brokers in three racks with two topics; its rows may be changed between two snapshots."""

    label: str = "c1"
    name: str = "prod"
    source: str = "kafka"
    now: float = 0.0
    features: Mapping[str, int] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    partitions: dict[tuple[str, int], Row] = field(default_factory=dict)
    brokers: dict[int, Row] = field(default_factory=dict)
    configs: dict[tuple[str, str, str], Row] = field(default_factory=dict)
    groups: dict[tuple[str, str, int], Row] = field(default_factory=dict)
    log_dirs: dict[tuple[int, str], Row] = field(default_factory=dict)
    replicas: dict[tuple[str, int, int], Row] = field(default_factory=dict)
    quorum: dict[int, Row] = field(default_factory=dict)
    taken: list[ClusterSnapshot] = field(default_factory=list)

    def __post_init__(self) -> None:
        for broker in (0, 1, 2):
            self.brokers[broker] = {"host": f"host{broker}", "port": 9092, "rack": f"r{broker}", "alive": True}
        for topic, count in (("orders", 3), ("audit", 2)):
            for number in range(count):
                self.add(topic, number)

    def add(self, topic: str, number: int, **facts: Any) -> None:
        """Adds a healthy partition, with these facts in place of its own."""
        replicas = [(number + at) % 3 for at in range(3)]
        healthy = {
            "topic_id": f"id-{topic}",
            "internal": False,
            "leader": replicas[0],
            "leader_epoch": 5,
            "partition_epoch": 9,
            "replicas": replicas,
            "isr": replicas,
            "adding": [],
            "removing": [],
            "min_isr": 2,
            "unclean_leader_election": False,
            "log_start_offset": 0,
            "high_watermark": 100,
        }
        self.partitions[topic, number] = {**healthy, **facts}

    def change(self, topic: str, number: int, **facts: Any) -> None:
        """Changes facts of a partition."""
        self.partitions[topic, number].update(facts)

    def set(self, kind: str, entity: str, name: str, value: str | None, origin: str = "topic") -> None:
        """Sets a setting; None takes it away."""
        self.configs.pop((kind, entity, name), None)
        if value is not None:
            self.configs[kind, entity, name] = {"value": value, "origin": origin}

    def snapshot(self, times: int = 1, every: float = 1.0, **facts: Any) -> None:
        """Takes snapshots, one an hour."""
        for _ in range(times):
            self.taken.append(self._now(**facts))
            self.now += every

    def _now(self, **facts: Any) -> ClusterSnapshot:
        def table(schema: Any, names: Sequence[str], rows: Mapping[Any, Row]) -> Table:
            keyed = ((key if isinstance(key, tuple) else (key,), row) for key, row in rows.items())
            return Table.from_rows(schema, [{**dict(zip(names, key, strict=True)), **row} for key, row in keyed])

        known: dict[str, Any] = {
            "cluster_id": self.label,
            "name": self.name,
            "source": self.source,
            "features": self.features,
            "gaps": self.gaps,
        }
        return ClusterSnapshot(
            **{**known, **facts},
            taken_at=moment(MARCH + round(self.now * HOUR)),
            partitions=table(PARTITIONS, ("topic", "partition"), copy.deepcopy(self.partitions)),
            brokers=table(BROKERS, ("broker",), self.brokers),
            configs=table(CONFIGS, ("entity_type", "entity", "name"), self.configs),
            groups=table(GROUPS, ("group", "topic", "partition"), self.groups),
            log_dirs=table(LOG_DIRS, ("broker", "path"), self.log_dirs),
            replicas=table(REPLICAS, ("topic", "partition", "broker"), self.replicas),
            quorum=table(QUORUM, ("node",), self.quorum),
        )


def ingest_into(storage: Storage, clusters: Iterable[PlantedCluster]) -> None:
    """Takes the snapshots of clusters into a history."""
    candidates = []
    for cluster in clusters:
        for one in cluster.taken:
            taken_ms = round(one.taken_at.timestamp() * 1000)
            read = partial(copy.copy, one)
            candidates.append(
                Candidate(one.cluster_id, one.name, Incoming(taken_ms, digest_of_snapshot(one), read, ""))
            )
    ingest(candidates, storage)


def chosen_of(folder: Path, clusters: Iterable[PlantedCluster]) -> Chosen:
    """The history of clusters."""
    storage = LocalStorage(folder)
    ingest_into(storage, clusters)
    return choose(storage)


def judged(
    cluster: PlantedCluster, *rules: str, every_ms: int | None = None, now: float | None = None
) -> list[FleetFinding]:
    """Findings of some rules in a cluster's history, at the time of its newest snapshot if no other is named."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = chosen_of(Path(folder), [cluster])
        now_ms = newest_ms(chosen) if now is None else MARCH + round(now * HOUR)
        return judge_cluster(ClusterHistory(chosen.months), Circumstances(now_ms, every_ms), rules or None)


def hours(one: FleetFinding) -> tuple[float | None, float, float, float | None]:
    """The times of a finding, in hours: begun after, valid from, last seen, valid to."""
    first, *others = (one.begun_after_ms, one.valid_from_ms, one.last_seen_ms, one.valid_to_ms)
    found = [None if time is None else (time - MARCH) / HOUR for time in (first, *others)]
    return found[0], found[1], found[2], found[3]  # type: ignore[return-value]
