"""Which replicas a replication throttle holds back, from the settings in a snapshot (KIP-73)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kreplica.model.columns import Mask, StringColumn
from kreplica.model.table import Table
from kreplica.model.throttles import (
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    ThrottledReplicas,
    parse_throttle_list,
    parse_throttle_rate,
)

_NONE = ThrottledReplicas(False, frozenset())


@dataclass(frozen=True, slots=True)
class Throttles:
    """Throttles of a cluster.

    Args:
        leaders, followers: The replicas that a topic's lists name, by topic; topics without a list are left out.
        leader_rates, follower_rates: Bytes a second by broker; brokers without a limit are left out.
    """

    leaders: Mapping[str, ThrottledReplicas]
    followers: Mapping[str, ThrottledReplicas]
    leader_rates: Mapping[int, int]
    follower_rates: Mapping[int, int]

    @property
    def topics(self) -> frozenset[str]:
        """Topics with a list."""
        return frozenset({*self.leaders, *self.followers})

    def rates(self, topic: str, partition: int, leader: int, follower: int) -> dict[str, int]:
        """The rates that hold back an out-of-sync replica; empty if none does.

        The leader throttles by its own entry in the leader list, whoever fetches; the follower by its own in the
        follower list (TopicConfigHandler.parseThrottledPartitions keeps the entries of the broker itself).
        """
        found = {}
        if leader in self.leader_rates and (partition, leader) in self.leaders.get(topic, _NONE):
            found["leader_rate"] = self.leader_rates[leader]
        if follower in self.follower_rates and (partition, follower) in self.followers.get(topic, _NONE):
            found["follower_rate"] = self.follower_rates[follower]
        return found


def read_throttles(configs: Table) -> Throttles:
    """The throttles among the settings of a snapshot."""
    lists: dict[str, dict[str, ThrottledReplicas]] = {LEADER_LIST: {}, FOLLOWER_LIST: {}}
    for name, found in lists.items():
        for topic, value in _settings(configs, "topic", name):
            replicas = parse_throttle_list(value)
            if replicas:
                found[topic] = replicas
    rates: dict[str, dict[int, int]] = {LEADER_RATE: {}, FOLLOWER_RATE: {}}
    for name, by_broker in rates.items():
        for broker, value in _settings(configs, "broker", name):
            rate = parse_throttle_rate(value)
            if rate is not None and broker.isdecimal():
                by_broker[int(broker)] = rate
    return Throttles(lists[LEADER_LIST], lists[FOLLOWER_LIST], rates[LEADER_RATE], rates[FOLLOWER_RATE])


def _settings(configs: Table, entity_type: str, name: str) -> Iterator[tuple[str, str]]:
    """Entity and value of every setting of that name that has one; a table may hold a million others."""
    kinds, names, values = (configs.strings(column) for column in ("entity_type", "name", "value"))
    wanted = _coded(kinds, entity_type) & _coded(names, name) & (values.codes >= 0)
    entities = configs.strings("entity")
    for row in np.flatnonzero(wanted).tolist():
        entity, value = entities[row], values[row]
        if entity is not None and value:
            yield entity, value


def _coded(column: StringColumn, word: str) -> Mask:
    code = column.dictionary.index(word) if word in column.dictionary else -2
    found: Mask = column.codes == code
    return found
