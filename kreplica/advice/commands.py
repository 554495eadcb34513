"""Commands that change a setting or the placement of replicas.

Placement adds replicas to a topic, or moves the same ones to more racks.

Replicas stay where they are as far as possible, the preferred leader always; a new one goes to a live broker in a rack
that the partition does not use yet, there to the one with the fewest replicas, then to the smallest id. This keeps the
commands for one topic sensible; it does not balance a cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kreplica.advice.facts import BrokerGroup, ClusterFacts, TopicFacts

BROKER_DYNAMIC = "broker-dynamic"


def set_for_topic(topic: str, setting: str, value: object, facts: ClusterFacts) -> str:
    """Sets it for one topic; topic names need no quoting in a shell."""
    return f"{_alter(facts)} --entity-type topics --entity-name {topic} --add-config {setting}={value}"


def unset_for_topic(topic: str, setting: str, facts: ClusterFacts) -> str:
    """Removes a topic's own value, so that the value for all topics applies."""
    return f"{_alter(facts)} --entity-type topics --entity-name {topic} --delete-config {setting}"


def set_for_brokers(group: BrokerGroup, setting: str, value: object, facts: ClusterFacts) -> str:
    """Sets it at run time: for all brokers at once, unless some have a value of their own, which would override it."""
    if group.everyone and group.settings[setting].origin != BROKER_DYNAMIC:
        return f"{_alter(facts)} --entity-type brokers --entity-default --add-config {setting}={value}"
    return " && ".join(
        f"{_alter(facts)} --entity-type brokers --entity-name {broker} --add-config {setting}={value}"
        for broker in group.ids
    )


def set_in_file(group: BrokerGroup, setting: str, value: object, *, controllers: bool = False) -> str:
    """A setting that brokers read only when they start."""
    whose = "every broker" if group.everyone else f"broker {', '.join(map(str, group.ids))}"
    whose += " and controller" * controllers
    return f"{setting}={value}  # server.properties of {whose}, then restart one after the other"


def _alter(facts: ClusterFacts) -> str:
    return f"kafka-configs {facts.connection_options} --alter"


class Placement:
    """Places replicas one after the other and counts what it has placed."""

    def __init__(self, facts: ClusterFacts) -> None:
        self._live = facts.live
        self._racks = facts.racks
        self._load = dict(facts.load)

    def extended(self, replicas: Sequence[int], factor: int) -> list[int]:
        """The replicas and as many more as make ``factor``; there must be enough live brokers."""
        placed = list(replicas)
        while len(placed) < factor:
            placed.append(self._next(placed))
        return placed

    def spread(self, replicas: Sequence[int]) -> list[int]:
        """The same number of replicas in as many racks as possible: the last of those that share a rack move."""
        placed = list(replicas)
        for position in range(len(placed) - 1, 0, -1):
            others = placed[:position] + placed[position + 1 :]
            if self._rack(placed[position]) not in {self._rack(other) for other in others}:
                continue
            candidate = self._next(placed)
            if self._rack(candidate) not in {self._rack(other) for other in placed}:
                placed[position] = candidate
        return placed

    def can_extend(self, replicas: Sequence[int], factor: int) -> bool:
        """True if there are enough live brokers."""
        return len(set(replicas) | set(self._live)) >= factor

    def _next(self, placed: Sequence[int]) -> int:
        used = {self._rack(broker) for broker in placed}
        free = [broker for broker in self._live if broker not in placed]
        chosen = min(free, key=lambda broker: (self._rack(broker) in used, self._load.get(broker, 0), broker))
        self._load[chosen] = self._load.get(chosen, 0) + 1
        return chosen

    def _rack(self, broker: int) -> str | None:
        return self._racks.get(broker)


def reassign_command(topic: str, assignment: Mapping[int, Sequence[int]], facts: ClusterFacts) -> str:
    """Kafka's own tool with the partitions that change."""
    partitions = [
        {"topic": topic, "partition": number, "replicas": list(replicas)} for number, replicas in assignment.items()
    ]
    document = json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))
    file = f"reassign-{topic}.json"
    tool = f"kafka-reassign-partitions {facts.connection_options} --reassignment-json-file {file} --execute"
    return f"echo '{document}' > {file} && {tool}"


def factor_command(topic: TopicFacts, factor: int, facts: ClusterFacts) -> str | None:
    """Brings every partition to a replication factor; None while too few brokers live, or where it is on its way."""
    placement, changed = Placement(facts), {}
    for number, replicas in topic.assignment.items():
        if len(replicas) >= factor:
            continue
        if not placement.can_extend(replicas, factor):
            return None
        changed[number] = placement.extended(replicas, factor)
    return reassign_command(topic.name, changed, facts) if changed else None


def spread_command(topic: TopicFacts, partitions: Sequence[int], facts: ClusterFacts) -> str | None:
    """Brings the named partitions into more racks; None while the brokers that could take them are not live."""
    placement, changed = Placement(facts), {}
    for number in partitions:
        replicas = topic.assignment[number]
        if not set(facts.live) - set(replicas):
            return None
        moved = placement.spread(replicas)
        if moved == list(replicas):
            return None
        changed[number] = moved
    return reassign_command(topic.name, changed, facts)
