"""Facts that the rules of advice judge: a cluster, its topics, groups of brokers with equal settings, clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from kreplica.errors import ConfigurationError
from kreplica.health.findings import Finding, find
from kreplica.health.rules import MIN_ISR_ABOVE_RF, MIN_ISR_EQUALS_RF, MIXED_RF, RACK_VIOLATION, RF_ONE, UNCLEAN_ENABLED
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import REPLICATION_FACTOR
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import StringColumn

CHECK_RULES = (RF_ONE, MIN_ISR_EQUALS_RF, MIN_ISR_ABOVE_RF, UNCLEAN_ENABLED, MIXED_RF, RACK_VIOLATION)
"""Rules of check that advice has a setting for; the condition is theirs."""
METADATA_VERSION_3_7 = 15
"""metadata.version of 3.7-IV0 (MetadataVersion): brokers since then treat min ISR above RF as all replicas."""
RACK, PROTOCOL = "broker.rack", "inter.broker.protocol.version"
_EVERY_BROKER_KNOWS = "default.replication.factor"
_NOTHING: Mapping[str, Setting] = MappingProxyType({})


class NotKnownError(Exception):
    """A fact that a rule needs is not known; the message says which, in a few words."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An effective setting: its value, None for Kafka's null, and its origin as in the configs table."""

    value: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic.

    Args:
        name: Its name.
        internal: One of Kafka's own.
        assignment: Replicas by partition.
        least: Smallest replication factor of its partitions.
        most: Largest replication factor.
        min_isr: min.insync.replicas; None where not known.
        unclean: unclean.leader.election.enable; None where not known.
        settings: By name; empty where not known.
        findings: Rules of check that it breaks, by name.
    """

    name: str
    internal: bool
    assignment: Mapping[int, Sequence[int]]
    least: int
    most: int
    min_isr: int | None
    unclean: bool | None
    settings: Mapping[str, Setting] = field(default_factory=lambda: _NOTHING)
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=lambda: MappingProxyType({}))

    def breaks(self, rule: str) -> bool:
        """True if check has a finding of that rule for it."""
        return rule in self.findings


@dataclass(frozen=True, slots=True)
class BrokerGroup:
    """Brokers with equal values of the settings that a rule reads.

    Args:
        ids: Their ids.
        everyone: Whether these are all brokers whose settings are known.
        settings: The settings that the rule reads.
    """

    ids: tuple[int, ...]
    everyone: bool
    settings: Mapping[str, Setting]

    def integer(self, name: str) -> int:
        """A setting that is a number."""
        value = self.settings[name].value
        assert value is not None, f"{name} has a value in every version"
        return int(value)

    def true(self, name: str) -> bool:
        """True if a boolean setting is true."""
        return (self.settings[name].value or "").lower() == "true"


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """The properties of one client; they hold secrets and are left out of repr."""

    file: str
    properties: Mapping[str, str] = field(repr=False)

    def text(self, name: str) -> str | None:
        """A property without the blanks around it, None if it is not set."""
        return self.properties[name].strip() if name in self.properties else None

    def word(self, name: str) -> str | None:
        """A property in lower case, as booleans and enumerations are compared."""
        text = self.text(name)
        return None if text is None else text.lower()

    def integer(self, name: str) -> int | None:
        """A property that is a number.

        Raises:
            ConfigurationError: It is none.
        """
        text = self.text(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            raise ConfigurationError(f"{self.file}: {name} is not a number") from None


class ClusterFacts:
    """A cluster as the rules see it.

    Args:
        snapshot: The cluster with the topics that are asked about.
        whole: The same with all its topics, for what must not depend on the selection; the same if left out.
        connection_options: Options that reach the cluster, for commands.
    """

    def __init__(
        self, snapshot: ClusterSnapshot, whole: ClusterSnapshot | None = None, connection_options: str = ""
    ) -> None:
        self.snapshot = snapshot
        self.whole = whole or snapshot
        self.connection_options = connection_options or "--bootstrap-server HOST:PORT"
        rows = list(self.whole.brokers.rows())
        self.brokers: tuple[int, ...] = tuple(int(str(row["broker"])) for row in rows)
        self.live: tuple[int, ...] = tuple(int(str(row["broker"])) for row in rows if row["alive"] is True)
        self.racks = self.whole.racks
        self.settings = _settings(self.whole)

    @property
    def elr(self) -> bool:
        """True if eligible leader replicas are enabled (KIP-966)."""
        return self.whole.features.get("eligible.leader.replicas.version", 0) >= 1

    @property
    def min_isr_above_rf_means_all(self) -> bool | None:
        """True if all brokers are 3.7 or newer; None where metadata.version and protocol version leave that open."""
        level = self.whole.features.get("metadata.version")
        if level is not None and level >= METADATA_VERSION_3_7:
            return True
        told = [found[PROTOCOL].value or "" for found in self.settings["broker"].values() if PROTOCOL in found]
        return True if told and all(_protocol(text) >= (3, 7) for text in told) else None

    @property
    def racks_known(self) -> bool:
        """True if a broker without a rack is known to have none."""
        return bool(self.racks) or any(RACK in found for found in self.settings["broker"].values())

    @cached_property
    def partition_counts(self) -> Mapping[str, int]:
        """Number of partitions of every topic."""
        topics = self.whole.strings("topic")
        counts = np.bincount(topics.codes, minlength=len(topics.dictionary)).tolist()
        return {topic: count for topic, count in zip(topics.dictionary, counts, strict=True) if count}

    @cached_property
    def load(self) -> Mapping[int, int]:
        """Number of replicas on every broker."""
        ids, counts = np.unique(self.whole.lists("replicas").values, return_counts=True)
        return dict(zip(ids.tolist(), counts.tolist(), strict=True))

    @cached_property
    def topics(self) -> tuple[TopicFacts, ...]:
        """The topics asked about, by name."""
        return tuple(_topics(self.snapshot, self.settings.get("topic", {})))

    @cached_property
    def all_topics(self) -> tuple[TopicFacts, ...]:
        """All topics, by name."""
        return self.topics if self.whole is self.snapshot else tuple(_topics(self.whole, self.settings["topic"]))

    def broker_groups(self, names: Sequence[str]) -> Iterator[BrokerGroup]:
        """Groups brokers by their values of these settings; a setting that no broker has is of another version.

        Raises:
            NotKnownError: Brokers' settings are not known.
        """
        known = {int(broker): found for broker, found in self.settings.get("broker", {}).items()}
        if not any(_EVERY_BROKER_KNOWS in found for found in known.values()):
            raise NotKnownError("brokers' settings")
        groups: dict[tuple[Setting, ...], list[int]] = {}
        told = [broker for broker in sorted(known) if all(name in known[broker] for name in names)]
        for broker in told:
            groups.setdefault(tuple(known[broker][name] for name in names), []).append(broker)
        for values, ids in groups.items():
            yield BrokerGroup(tuple(ids), len(groups) == 1, dict(zip(names, values, strict=True)))


def _protocol(text: str) -> tuple[int, int]:
    """Major and minor of ``3.9-IV0`` or ``0.10.0-IV1``."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _settings(snapshot: ClusterSnapshot) -> dict[str, dict[str, dict[str, Setting]]]:
    """Settings by entity type, entity and name."""
    found: dict[str, dict[str, dict[str, Setting]]] = {"topic": {}, "broker": {}}
    columns = [snapshot.configs[name] for name in ("entity_type", "entity", "name", "value", "origin")]
    for kind, entity, name, value, origin in zip(*(column.to_list() for column in columns), strict=True):
        found.setdefault(str(kind), {}).setdefault(str(entity), {})[str(name)] = Setting(value, str(origin))
    return found


def _topics(snapshot: ClusterSnapshot, settings: Mapping[str, Mapping[str, Setting]]) -> Iterator[TopicFacts]:
    findings: dict[str, dict[str, list[Finding]]] = {}
    for finding in find(snapshot, {rule.name for rule in CHECK_RULES}):
        findings.setdefault(finding.topic or "", {}).setdefault(finding.rule, []).append(finding)
    names = snapshot.strings("topic")
    factors = Evaluator(snapshot).integer(REPLICATION_FACTOR).values
    numbers, min_isrs = snapshot.integers("partition").values, snapshot.integers("min_isr").to_list()
    replicas, internal = snapshot.lists("replicas").to_list(), snapshot.partitions["internal"].to_list()
    uncleans = snapshot.partitions["unclean_leader_election"].to_list()
    for topic, rows in sorted(_rows_by_topic(names).items()):
        yield TopicFacts(
            topic,
            bool(internal[rows[0]]),
            {int(numbers[row]): replicas[row] or [] for row in rows},
            int(factors[rows].min()),
            int(factors[rows].max()),
            min_isrs[rows[0]],
            uncleans[rows[0]],
            settings.get(topic, {}),
            findings.get(topic, {}),
        )


def _rows_by_topic(names: StringColumn) -> dict[str, np.ndarray]:
    order = np.argsort(names.codes, kind="stable")
    codes, starts = np.unique(names.codes[order], return_index=True)
    parts = np.split(order, starts[1:]) if len(codes) else []
    return {names.dictionary[int(code)]: rows for code, rows in zip(codes, parts, strict=True)}
