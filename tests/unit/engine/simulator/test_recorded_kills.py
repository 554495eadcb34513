"""Four real clusters were recorded healthy, after broker 3 was killed, and when it was back: the simulator plays it.

Each partition of each cluster begins as it was recorded healthy. What the brokers answered then in the other two states
is what has to come out: leader, in-sync replicas, eligible leader replicas, and by how much the leader epoch rose.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kreplica.engine.setup import SECOND, PartitionStart, TopicSetup, cluster
from kreplica.engine.simulator.simulation import Simulation
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Trace
from kreplica.engine.versions.supported import version_named
from kreplica.model.settings import MIN_ISR

GOLDEN = Path(__file__).parents[3] / "golden"


class Told(NamedTuple):
    leader: int
    isr: frozenset[int]
    elr: frozenset[int]
    epoch: int


def recorded(name: str, state: str) -> dict[str, tuple[tuple[int, ...], Told]]:
    """Replicas of each partition, and what the brokers told of it."""
    answers = json.loads((GOLDEN / name / state / "api-responses.json").read_text())
    eligible = {
        f"{topic['name']}-{one['partition_index']}": one["eligible_leader_replicas"] or ()
        for topic in answers.get("describe_topic_partitions", {}).get("topics", ())
        for one in topic["partitions"]
    }
    found = {}
    for topic in answers["describe_topics"]:
        for one in topic["partitions"]:
            partition = f"{topic['name']}-{one['partition_index']}"
            isr, elr = frozenset(one["isr_nodes"]), frozenset(eligible.get(partition, ()))
            told = Told(one["leader_id"], isr, elr, one["leader_epoch"])
            found[partition] = (tuple(one["replica_nodes"]), told)
    return found


def topics(there: dict[str, tuple[tuple[int, ...], Told]]) -> list[TopicSetup]:
    """The topics as they were recorded; min ISR is 2, that of audit.log 3."""
    by_topic: dict[str, dict[int, Any]] = {}
    for partition, found in there.items():
        topic, _, number = partition.rpartition("-")
        by_topic.setdefault(topic, {})[int(number)] = found
    return [
        TopicSetup(
            topic,
            tuple(partitions[number][0] if number in partitions else () for number in range(max(partitions) + 1)),
            {MIN_ISR: 3 if topic == "audit.log" else 2},
            {number: PartitionStart(told.leader, tuple(told.isr)) for number, (_, told) in partitions.items()},
        )
        for topic, partitions in by_topic.items()
    ]


def told_by(simulation: Simulation, broker: int) -> dict[str, Told]:
    states = simulation.brokers[broker].image
    return {
        name: Told(one.leader_id, frozenset(one.ids(one.isr)), frozenset(one.ids(one.elr)), one.leader_epoch)
        for name, one in states.items()
    }


@pytest.mark.parametrize(
    ("name", "version", "partitions"),
    [
        ("kafka-4.3.1", "4.3.1", 145),
        ("kafka-3.9.2", "3.9.2", 135),
        ("kafka-3.9.2-ibp-1.1", "3.9.2", 62),
        ("kafka-3.9.2-ibp-0.10.0", "3.9.2", 58),
    ],
)
def test_a_recorded_kill_and_the_return_come_out_as_they_did(name: str, version: str, partitions: int) -> None:
    before, killed, back = (recorded(name, state) for state in ("1-healthy", "2-broker-killed", "3-broker-back"))
    there = {partition: found for partition, found in before.items() if partition in killed and partition in back}
    assert len(there) == partitions
    settings = {"auto.leader.rebalance.enable": False}
    made = cluster(3, *topics(there), settings=settings, controllers=3, duration=50 * SECOND)
    simulation = build(made, version_named(version), 1, Trace(keep=False))
    simulation.scheduler.run(5 * SECOND)
    simulation.brokers[3].kill()
    if version == "4.3.1":  # its nodes are brokers and controllers in one
        simulation.controllers[2].kill()
    simulation.scheduler.run(30 * SECOND)
    compare(told_by(simulation, 1), before, killed, there)
    simulation.brokers[3].start()
    simulation.scheduler.run(45 * SECOND)
    compare(told_by(simulation, 1), before, back, there)


def compare(played: dict[str, Told], before: Any, after: Any, there: Any) -> None:
    """Each partition is as it was recorded; epochs by what they rose since the healthy state."""
    risen = {partition: after[partition][1]._replace(epoch=rise(before, after, partition)) for partition in there}
    unlike = {name: (played[name], found) for name, found in risen.items() if played[name] != found}
    assert not unlike, unlike


def rise(before: Any, after: Any, partition: str) -> int:
    return int(after[partition][1].epoch - before[partition][1].epoch)
