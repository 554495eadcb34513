"""Settings that ZooKeeper holds: topics' own, and dynamic ones of brokers (KIP-226).

Brokers' files and Kafka's defaults are not among them, so a setting that nobody changed is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.sources.zookeeper import tree as paths
from kreplica.sources.zookeeper.tree import DEFAULT_ENTITY, Tree
from kreplica.sources.zookeeper.znodes import Decoded, EntityConfig
from kreplica.system.redaction import is_secret_name


class Decode(Protocol):
    """Gives the value of a znode."""

    def __call__(self, path: str, form: type[Decoded], /) -> Decoded | None:
        """The value at ``path``, None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one tree.

    Args:
        rows: For the configs table.
        topics: Settings by topic.
        brokers: Dynamic settings by broker.
        defaults: Dynamic settings for all brokers.
    """

    rows: list[dict[str, object]] = field(default_factory=list)
    topics: dict[str, Mapping[str, str]] = field(default_factory=dict)
    brokers: dict[str, Mapping[str, str]] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)

    def health(self, topic: str, leader: int) -> tuple[int | None, bool | None]:
        """min.insync.replicas and unclean.leader.election.enable of a partition, None where nobody set them.

        The leader uses the topic's setting, else its own dynamic one, else the one for all brokers.
        """
        min_isr, unclean = self._effective(topic, leader, MIN_ISR), self._effective(topic, leader, UNCLEAN)
        number = int(min_isr) if min_isr is not None and re.fullmatch("[0-9]{1,9}", min_isr) else None
        return number, unclean.lower() == "true" if unclean is not None else None

    def _effective(self, topic: str, leader: int, name: str) -> str | None:
        for settings in (self.topics.get(topic, {}), self.brokers.get(str(leader), {}), self.defaults):
            if name in settings:
                return settings[name]
        return None


def settings_of(tree: Tree, decode: Decode) -> Settings:
    """The settings of a tree."""
    found = Settings()
    for topic, path in tree.below(paths.TOPIC_CONFIGS):
        entry = decode(path, EntityConfig)
        found.topics[topic] = entry.config if entry is not None else {}
        _add(found, "topic", topic, "topic", found.topics[topic])
    for broker, path in tree.below(paths.BROKER_CONFIGS):
        entry = decode(path, EntityConfig)
        config = entry.config if entry is not None else {}
        if broker == DEFAULT_ENTITY:
            found.defaults.update(config)
            _add(found, "broker-default", "", "cluster-dynamic", config)
        else:
            found.brokers[broker] = config
            _add(found, "broker", broker, "broker-dynamic", config)
    return found


def _add(found: Settings, entity_type: str, entity: str, origin: str, config: Mapping[str, str]) -> None:
    for name, value in config.items():
        found.rows.append(
            {
                "entity_type": entity_type,
                "entity": entity,
                "name": name,
                "value": None if is_secret_name(name) else value,
                "origin": origin,
            }
        )
