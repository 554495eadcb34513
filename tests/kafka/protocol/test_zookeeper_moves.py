"""Replicas moved by a real ZooKeeper controller and by the simulator: leader, ISR, and in how many writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kazoo.client import KazooClient
from real_clusters.moves import connection_to, start_move
from real_clusters.znodes import writer
from waiting import until

from kreplica.engine import SECOND, At, Step, TopicSetup, Trace, cluster, simulate, version_named
from kreplica.engine.fault_plan import Reassign
from kreplica.engine.trace import Kind, fields_of
from kreplica.sandbox import Sandbox

pytestmark = pytest.mark.kafka

MOVES = {
    "swap": ((1, 2), (3, 2)),
    "fewer": ((1, 2, 3), (2,)),
    "more": ((1, 2), (1, 2, 3)),
    "order": ((1, 2), (2, 1)),
    "other": ((1,), (3, 2)),
}
"""Replicas before and after, of partition 0 of each topic."""

Ended = tuple[int, int, frozenset[int], int]
"""Leader, leader epoch, ISR and how often they have been written: the version of the state's znode."""


def simulated() -> dict[str, Ended]:
    setup = cluster(3, *(TopicSetup(name, (before,)) for name, (before, _) in MOVES.items()), duration=20 * SECOND)
    plan = tuple(Step(At(10 * SECOND), Reassign(f"{name}-0", after)) for name, (_, after) in MOVES.items())
    trace = Trace()
    simulate(setup, plan, version_named("3.9"), 0, trace)
    changed = [fields_of(event) for event in trace.events if event.kind == Kind.PARTITION_CHANGED]
    return {
        str(one["partition"])[:-2]: (
            one["leader"], one["leader_epoch"], frozenset(one["isr"]), one["partition_epoch"]
        )
        for one in changed
    }  # fmt: skip


def ended(client: KazooClient, topic: str) -> Ended:
    data, stat = client.get(f"/brokers/topics/{topic}/partitions/0/state")
    state = json.loads(data)
    return state["leader"], state["leader_epoch"], frozenset(state["isr"]), stat.version


def is_over(client: KazooClient, topic: str) -> bool:
    """The assignment is written last."""
    said: dict[str, Any] = json.loads(client.get(f"/brokers/topics/{topic}")[0])
    moving = said.get("adding_replicas") or said.get("removing_replicas")
    return not moving and said["partitions"]["0"] == [*MOVES[topic][1]]


def test_a_real_controller_and_the_simulators_move_alike(zookeeper_cluster: Sandbox) -> None:
    for topic, (before, _) in MOVES.items():
        zookeeper_cluster.create_topic(topic, assignment=[[*before]])
    with writer(zookeeper_cluster.zookeeper_connect) as client:
        controller = json.loads(client.get("/controller")[0])["brokerid"]
        for topic, (_, after) in MOVES.items():
            start_move(connection_to(zookeeper_cluster, controller), topic, 0, [*after])
        for topic in MOVES:
            until(lambda topic=topic: is_over(client, topic), f"the move of {topic} to be over")  # type: ignore[misc]
        assert {topic: ended(client, topic) for topic in MOVES} == simulated()
