"""Clusters and clients that are set well, but for what a case says: subjects of the rules of advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters.generated import partition, snapshot_of
from kreplica.advice.facts import ClusterFacts
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table

ELR = {"metadata.version": 30, "eligible.leader.replicas.version": 1}
KRAFT = {"metadata.version": 30}
NEVER = "9223372036854775807"
GOOD_BROKER = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "auto.create.topics.enable": "false",
    "broker.rack": None,
    "log.flush.interval.messages": NEVER,
    "log.flush.interval.ms": None,
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.min.isr": "2",
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    "transaction.max.timeout.ms": "900000",
}
GOOD_TOPIC = {"flush.messages": NEVER, "flush.ms": NEVER}


@dataclass(frozen=True)
class Cluster:
    """Three live brokers in three racks, set well, with one good topic; what is given takes their place."""

    partitions: list[dict[str, Any]] = field(default_factory=lambda: [partition()])
    settings: Mapping[str, str | None] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    of_broker: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    topic: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=lambda: KRAFT)
    racks: tuple[str | None, ...] = ("a", "b", "c")
    dead: tuple[int, ...] = ()

    def facts(self) -> ClusterFacts:
        brokers = [
            {"broker": number, "rack": rack, "alive": number not in self.dead}
            for number, rack in enumerate(self.racks, start=1)
        ]
        configs = [*self._of_brokers(brokers), *self._of_topics()]
        snapshot = snapshot_of(
            self.partitions, brokers, configs=Table.from_rows(CONFIGS, configs), features=self.features
        )
        return ClusterFacts(snapshot, connection_options="--bootstrap-server b:1")

    def _of_brokers(self, brokers: list[dict[str, Any]]) -> list[dict[str, Any]]:
        rows = []
        for one in brokers:
            values = GOOD_BROKER | dict(self.settings) | dict(self.of_broker.get(one["broker"], {}))
            for name, value in values.items():
                named = {"entity_type": "broker", "entity": str(one["broker"]), "name": name, "value": value}
                rows.append(named | {"origin": self.origins.get(name, "default")})
        return rows

    def _of_topics(self) -> list[dict[str, Any]]:
        rows = []
        for topic in {row["topic"] for row in self.partitions}:
            for name, value in (GOOD_TOPIC | dict(self.topic)).items():
                origin = "topic" if name in self.topic else "default"
                named = {"entity_type": "topic", "entity": topic, "name": name, "value": value, "origin": origin}
                rows.append(named)
        return rows


@dataclass(frozen=True)
class Client:
    """The properties of a client, and its cluster if it is known."""

    properties: Mapping[str, str]
    cluster: Cluster | None = None


Subject = Cluster | Client


@dataclass(frozen=True)
class Cases:
    """What a rule says.

    Args:
        violating: Breaks it.
        says: Current value, recommended value, severity and command then; a command that begins so.
        clean: Does not break it.
        edge: Only just does, or only just does not.
        at_edge: Recommended value at the edge, None for none.
    """

    violating: Subject
    says: tuple[str | None, str, str, str]
    clean: Subject
    edge: Subject
    at_edge: str | None


ALTER = "kafka-configs --bootstrap-server b:1 --alter --entity-type"
TOPIC = f"{ALTER} topics --entity-name orders"
EVERY_BROKER = f"{ALTER} brokers --entity-default --add-config"
REASSIGN = """echo '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":"""


def rf(count: int, **fields: Any) -> list[dict[str, Any]]:
    replicas = list(range(1, count + 1))
    return [partition(replicas=replicas, isr=replicas, **fields)]


def own_topic(name: str, partitions: int = 1) -> list[dict[str, Any]]:
    return [partition(), *(partition(name, number, internal=True) for number in range(partitions))]
