"""Leaders that Kafka's controllers in ZooKeeper mode elect, release by release, and those of the rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.controller.elections import (
    zookeeper_elect_controlled_shutdown,
    zookeeper_elect_preferred,
    zookeeper_first_in_isr,
    zookeeper_leader_for_offline,
)
from kreplica.engine.rules.controller.reassignment import zookeeper_elect_reassigned
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, members, without
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

Brokers = tuple[int, ...]
RELEASES = answers("zookeeper-elections.txt")


class State:
    """A partition as a line of the file tells of it; sets are of replicas by their index."""

    def __init__(self, words: list[str]) -> None:
        self.replicas, self.isr_order, target, live, stopping = map(brokers, words[:5])
        self.all, self.isr, self.target, self.live, self.stopping = (
            self.places(some) for some in (self.replicas, self.isr_order, target, live, stopping)
        )
        self.unclean = words[5] == "true"

    def places(self, some: Brokers) -> int:
        return sum(1 << place for place, broker in enumerate(self.replicas) if broker in some)

    def told(self, leader: int, isr: int) -> str:
        ids = ",".join(str(self.replicas[place]) for place in members(isr))
        return "-" if leader == NO_LEADER else f"{self.replicas[leader]} {ids or '-'}"

    def as_listed(self, answer: str) -> str:
        """Kafka's answer with the ISR in the order of the assignment."""
        leader, _, isr = answer.partition(" ")
        return self.told(self.replicas.index(int(leader)), self.places(brokers(isr))) if isr else answer


def brokers(word: str) -> Brokers:
    return () if word == "-" else tuple(map(int, word.split(",")))


def offline(state: State, version: Version) -> tuple[int, int]:
    unclean = state.unclean or version.offline_by_isr_order  # up to 0.8.1 there is no such setting
    leader, isr = zookeeper_leader_for_offline(state.all, state.isr, without(state.live, state.stopping), unclean)
    if version.offline_by_isr_order and contains(state.isr, leader):
        leader = zookeeper_first_in_isr([state.replicas.index(broker) for broker in state.isr_order], isr)
    return leader, isr


def reassigned(state: State, version: Version) -> tuple[int, int]:
    live = without(state.live, state.stopping)
    return zookeeper_elect_reassigned(state.target, state.isr, live, NO_LEADER), state.isr


def preferred(state: State, version: Version) -> tuple[int, int]:
    return zookeeper_elect_preferred(state.isr, without(state.live, state.stopping)), state.isr


def controlled_shutdown(state: State, version: Version) -> tuple[int, int]:
    remaining = without(state.isr, state.stopping)
    if version.shutdown_by_isr_order:  # alive or not
        order = [state.replicas.index(broker) for broker in state.isr_order]
        return zookeeper_first_in_isr(order, remaining), remaining
    return zookeeper_elect_controlled_shutdown(state.all, state.isr, state.live, state.stopping), remaining


ELECTIONS: dict[str, Callable[[State, Version], tuple[int, int]]] = {
    "Offline": offline,
    "Reassign": reassigned,
    "PreferredReplica": preferred,
    "ControlledShutdown": controlled_shutdown,
}


@pytest.mark.parametrize("reason", ELECTIONS)
@pytest.mark.parametrize(("release", "lines"), RELEASES)
def test_leader_and_isr_are_those_of_kafka(release: str, lines: list[str], reason: str) -> None:
    """Selectors of leaders up to 0.11, PartitionStateMachine up to 2.3, Election: leader and ISR, or nobody."""
    version, seen = version_named(release), set()
    for line in lines:
        (kind, *words), expected = line.partition(" | ")[0].split(), line.partition(" | ")[2]
        if kind == reason:
            state = State(words)
            assert state.told(*ELECTIONS[reason](state, version)) == state.as_listed(expected), line
            seen.add(expected == "-")
    assert seen == {True, False}
