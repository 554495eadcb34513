"""A real cluster whose replicas are moved: asked for and held up by kreplica's own requests, and put in order again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from waiting import until

from kreplica.config.handle import ClusterHandle
from kreplica.control.reassign import PartitionKey, ReassignmentResult, Target, alter_reassignments
from kreplica.control.throttle import extend_lists, set_rates, shrink_lists
from kreplica.model.throttles import FOLLOWER_LIST, FOLLOWER_RATE, LEADER_LIST, LEADER_RATE, parse_throttle_list
from kreplica.sandbox import ProcessState, Sandbox
from kreplica.sources.kafka.reassignments import Move, read_ongoing
from kreplica.sources.kafka.throttles import read_throttles
from real_clusters.views import put_in_order

SETTINGS = {
    "replica.lag.time.max.ms": "6000",
    "replica.fetch.max.bytes": "10000",  # a throttle holds between answers: a large one would bring all at once
    "auto.leader.rebalance.enable": "false",
}
HELD_UP = 100
"""Bytes a second: the first answer of 10,000 bytes goes through, the next one comes a minute later."""


def handle_of(sandbox: Sandbox) -> ClusterHandle:
    """The cluster, by all of its brokers."""
    return ClusterHandle("test", sandbox.bootstrap_servers, timeout=30)


def fill(sandbox: Sandbox, topic: str, records: int = 300, partition: int = 0) -> None:
    """Writes so many records of 1000 bytes in small batches, with acks=all."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": sandbox.live_bootstrap_servers(), "acks": "all", "batch.size": 5_000})
    for _ in range(records):
        producer.produce(topic, b"x" * 1000, partition=partition)
    assert producer.flush(60) == 0


def ask(sandbox: Sandbox, topic: str, target: Target, *, factor: bool = False) -> ReassignmentResult:
    """Asks for new replicas of the topic's first partition."""
    key = topic, 0
    (result,) = alter_reassignments(handle_of(sandbox), {key: target}, change_replication_factor=factor)
    return result


def hold_up(sandbox: Sandbox, topic: str, leader: int, added: Iterable[int]) -> None:
    """Throttles what the added replicas of the topic's first partition copy; the brokers know when this returns."""
    handle, copies = handle_of(sandbox), [(0, broker) for broker in added]
    rates = {(broker, name): HELD_UP for broker in sandbox.broker_ids for name in (LEADER_RATE, FOLLOWER_RATE)}
    assert all(one.made for one in set_rates(handle, rates).values())
    wanted = {(topic, LEADER_LIST): [(0, leader)], (topic, FOLLOWER_LIST): copies}
    lists = extend_lists(handle, {key: entries for key, entries in wanted.items() if entries})
    assert not any(one.error for one in lists.values())

    def known() -> bool:
        found = read_throttles(handle, sandbox.broker_ids, [topic])
        return bool(found.lists) and all(found.own_rate(*key) for key in rates)

    until(known, "the throttle to be known")


def let_go(sandbox: Sandbox, topics: Iterable[str]) -> None:
    """Takes every throttle away."""
    handle, names = handle_of(sandbox), list(topics)
    found = read_throttles(handle, sandbox.broker_ids, names)
    listed = {key: parse_throttle_list(value) for key, value in found.lists.items()}
    shrink_lists(handle, {key: one.replicas for key, one in listed.items() if not one.every})
    set_rates(handle, {key: None for key in found.rates if found.own_rate(*key) is not None})


def ongoing(sandbox: Sandbox) -> dict[PartitionKey, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """The moves that go on: replicas, adding and removing."""
    return {key: told(move) for key, move in read_ongoing(handle_of(sandbox)).items()}


def told(move: Move) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Replicas, adding and removing, in Kafka's order."""
    return tuple(move.replicas), tuple(move.adding), tuple(move.removing)


def wait_until_moved(sandbox: Sandbox, topic: str, replicas: Sequence[int]) -> None:
    """Waits until no move of the topic goes on and every live broker tells these replicas, in this order."""

    def done() -> bool:
        running = [sandbox.metadata(broker) for broker in sandbox.running_brokers()]
        return not any(name == topic for name, _ in ongoing(sandbox)) and all(
            view is not None and view.topics[topic].partitions[0].replicas == [*replicas] for view in running
        )

    until(done, lambda: f"{topic} to have the replicas {replicas}: {ongoing(sandbox)}")


def described(sandbox: Sandbox, topic: str) -> dict[str, str]:
    """What kafka-topics tells of the topic's first partition, by its titles; ids in order."""
    output = sandbox.tool("topics", "--describe", "--topic", topic)
    (line,) = re.findall(r"^\tTopic: \S+\tPartition: 0\t(.*)$", output, re.MULTILINE)
    words = (field.partition(":") for field in line.split("\t"))
    return {title.strip(): ",".join(sorted(value.strip().split(","))) for title, _, value in words}


def put_moves_in_order(sandbox: Sandbox) -> None:
    """Ends every move, takes every throttle away, removes the topics; every broker is alive again."""
    for broker in sandbox.broker_ids:
        if sandbox.process_state(broker) is ProcessState.ENDED:
            sandbox.start_broker(broker, wait=False)
    sandbox.wait_for_brokers(sandbox.broker_ids)
    alter_reassignments(handle_of(sandbox), dict.fromkeys(ongoing(sandbox)))
    until(lambda: not ongoing(sandbox), "no move to go on")
    metadata = sandbox.metadata()
    assert metadata is not None
    let_go(sandbox, [topic for topic in metadata.topics if not topic.startswith("__")])
    put_in_order(sandbox)
