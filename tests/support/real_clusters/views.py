"""Helpers of tests on real clusters. A broker hears of each change in its own time: what is waited for here is what
every broker that runs says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from waiting import until

from kreplica.config.handle import ClusterHandle
from kreplica.sandbox import ProcessState, Sandbox
from kreplica.sources.kafka.reassignments import read_ongoing


def put_in_order(sandbox: Sandbox) -> None:
    """Brings every broker back to life and removes every topic that is not Kafka's own."""
    for broker in sandbox.broker_ids:
        state = sandbox.process_state(broker)
        if state is ProcessState.PAUSED:
            sandbox.resume(broker)
        elif state is ProcessState.ENDED:
            sandbox.start_broker(broker, wait=False)
    sandbox.wait_for_brokers(sandbox.broker_ids)
    # In ZooKeeper mode a topic goes when its moves have ended, and stays where one is begun anew at the wrong moment.
    handle = ClusterHandle("in-order", sandbox.live_bootstrap_servers(), timeout=30)
    until(lambda: not read_ongoing(handle), "every move to end", 120)
    metadata = sandbox.metadata()
    assert metadata is not None
    for topic in metadata.topics:
        if not topic.startswith("__"):
            sandbox.delete_topic(topic)
    sandbox.wait_for_healthy()


@contextmanager
def paused(sandbox: Sandbox, broker: int) -> Iterator[None]:
    """The broker stands still within the block, and goes on behind it."""
    sandbox.pause(broker)
    try:
        yield
    finally:
        sandbox.resume(broker)


def quorum_leader(sandbox: Sandbox) -> int:
    """The active controller of a cluster in KRaft mode, as Kafka's own tool tells it."""
    status = sandbox.tool("metadata-quorum", "describe", "--status")
    (found,) = re.findall(r"^LeaderId:\s+(\d+)", status, re.MULTILINE)
    return int(found)


def controller_other_than(sandbox: Sandbox, broker: int, controller: Callable[[], int | None]) -> int:
    """The controller in ZooKeeper mode, as ``controller`` tells it; the broker loses the role where it has it."""
    if controller() == broker:
        sandbox.kill(broker)
        sandbox.wait_for_brokers(gone=[broker])
        sandbox.start_broker(broker)
        sandbox.wait_for_healthy()
    found = controller()
    assert found in {*sandbox.broker_ids} - {broker}
    return found


def partitions(sandbox: Sandbox, topic: str) -> list[Any]:
    """The partitions in order, as one of the brokers tells them."""
    metadata = sandbox.metadata()
    assert metadata is not None
    found = metadata.topics[topic].partitions
    return [found[number] for number in sorted(found)]


def leaders(sandbox: Sandbox, topic: str) -> list[int]:
    """The leader of each partition, as one of the brokers tells it: for what does not change."""
    return [one.leader for one in partitions(sandbox, topic)]


def wait_for_leaders(sandbox: Sandbox, topic: str, expected: Sequence[int]) -> None:
    """Waits until every broker tells these leaders."""
    wait_for_each(sandbox, topic, "leader", expected)


def wait_for_replicas(sandbox: Sandbox, topic: str, expected: Sequence[Sequence[int]]) -> None:
    """Waits until every broker tells these replicas in this order."""
    wait_for_each(sandbox, topic, "replicas", [list(replicas) for replicas in expected])


def wait_for_each(sandbox: Sandbox, topic: str, field: str, expected: Sequence[object]) -> None:
    """Waits until every broker tells this of the partitions, which are all there are."""
    wanted = dict(enumerate(expected))

    def told() -> bool:
        return all(
            view
            and topic in view.topics
            and {number: getattr(one, field) for number, one in view.topics[topic].partitions.items()} == wanted
            for view in sandbox.each_view()
        )

    until(told, f"every broker to tell the {field} of {topic}: {wanted}")


def wait_until_out_of_isrs(sandbox: Sandbox, broker: int) -> None:
    """Waits until every broker tells the dead one out of each ISR that has another member."""

    def is_out() -> bool:
        return all(
            view and not any(broker in one.isrs and len(one.isrs) > 1 for one in _all_partitions(view))
            for view in sandbox.each_view()
        )

    until(is_out, f"broker {broker} to leave every ISR")


def _all_partitions(view: Any) -> list[Any]:
    return [one for topic in view.topics.values() for one in topic.partitions.values()]


def end_offsets(sandbox: Sandbox, topic: str) -> int:
    """Sum of the high watermarks of the partitions whose leader answers at once."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    from kreplica.sandbox.admin import admin_client

    asked = {TopicPartition(topic, one.id): OffsetSpec.latest() for one in partitions(sandbox, topic)}
    total, client = 0, admin_client(sandbox.live_bootstrap_servers())
    for future in client.list_offsets(asked, request_timeout=5).values():
        try:
            total += future.result(timeout=10).offset
        except KafkaException:
            continue
    return total


def produce(sandbox: Sandbox, topic: str, count: int, acks: str = "all") -> None:
    """Writes so many records of 100 bytes, to one partition after another."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": sandbox.live_bootstrap_servers(), "acks": acks})
    numbers = [one.id for one in partitions(sandbox, topic)]
    for number in range(count):
        producer.produce(topic, value=b"x" * 100, partition=numbers[number % len(numbers)])
    assert producer.flush(30) == 0


def commit(client: Any, topic: str, offsets: Mapping[int, int], metadata: str = "") -> None:
    """Commits; the first commit of a cluster makes the offsets topic and is refused until that is led."""
    from confluent_kafka import KafkaException, TopicPartition

    more = {"metadata": metadata} if metadata else {}
    places = [TopicPartition(topic, number, offset, **more) for number, offset in offsets.items()]

    def committed() -> bool:
        try:
            client.commit(offsets=places, asynchronous=False)
        except KafkaException:
            return False
        return True

    until(committed, f"the offsets {dict(offsets)} of {topic} to be committed")
