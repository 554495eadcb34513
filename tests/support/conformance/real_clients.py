"""Clients of real brokers, set as those of the engine's side: what they are told, in the same words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from conformance import script
from conformance.engine_side import PRODUCER, acknowledged, committed, failed
from conformance.reading import FENCED
from kreplica.sandbox import Sandbox
from kreplica.sandbox.admin import quiet_logger

_NAMES = {"_MSG_TIMED_OUT": "REQUEST_TIMED_OUT", "_TIMED_OUT": "REQUEST_TIMED_OUT", "_TRANSPORT": "NETWORK_EXCEPTION"}
"""librdkafka's own errors, and Kafka's that mean the same."""
READ_SECONDS = 60.0


def produce(servers: str, topic: str, action: script.Produce) -> tuple[str, ...]:
    """Sends each record by itself and waits for its answer."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": servers,
            "acks": str(action.acks),
            "linger.ms": 0,
            "retries": PRODUCER["retries"],
            "request.timeout.ms": PRODUCER["request.timeout.ms"],
            "message.timeout.ms": PRODUCER["delivery.timeout.ms"],
            "logger": quiet_logger(),
            "error_cb": _ignore,
        }
    )
    told: list[str] = []

    def answered(error: Any, message: Any) -> None:
        value = message.value().decode()
        offset = message.offset() if message.offset() is not None else -1
        told.append(failed(value, _name(error)) if error else acknowledged(value, offset if action.acks else -1))

    for value in action.values:
        producer.produce(topic, value.encode(), partition=0, on_delivery=answered)
        producer.flush(30)
    return tuple(told)


def _name(error: Any) -> str:
    name: str = error.name()
    return _NAMES.get(name, name)


def _ignore(_error: object) -> None:
    """Takes a client's note that a broker is not there: the row knows."""


def consume(servers: str, topic: str, action: script.Consume) -> tuple[str, ...]:
    """Reads from offset 0 up to the end that the leader gives."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "none",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if action.committed else "read_uncommitted",
            "auto.offset.reset": "earliest",
            "logger": quiet_logger(),
            "error_cb": _ignore,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return tuple(f"{message.value().decode()} at {message.offset()}" for message in _to_the_end(consumer))
    finally:
        consumer.close()


def join(servers: str, topic: str, group: str, action: script.Join) -> tuple[str, ...]:
    """Joins a group, reads to the end, commits what was read, and leaves."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "logger": quiet_logger(),
            "error_cb": _ignore,
        }
    )
    consumer.subscribe([topic])
    read: list[str] = []
    try:
        for message in _to_the_end(consumer):
            read.append(f"{message.value().decode()} at {message.offset()}")
        if read and action.commits:
            (done,) = consumer.commit(asynchronous=False)
            read.append(committed(done.offset) if done.error is None else done.error.name())
    finally:
        consumer.close()
    return tuple(read)


def _to_the_end(consumer: Any) -> Iterator[Any]:
    """Records up to the end that the leader gives."""
    from confluent_kafka import KafkaError

    deadline = time.monotonic() + READ_SECONDS
    while time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error() is None:
            yield message
        elif message.error().code() == KafkaError._PARTITION_EOF:
            return


class Transactions:
    """Transactional producers of a row by name; they are never asked again once the row is over."""

    def __init__(self, sandbox: Sandbox, topic: str) -> None:
        self._sandbox = sandbox
        self._topic = topic
        self._producers: dict[str, Any] = {}

    def begin(self, action: script.Begin) -> tuple[str, ...]:
        """Begins a transaction and sends records, waiting for each."""
        producer = self._producer(action)
        producer.begin_transaction()
        told: list[str] = []

        def answered(error: Any, message: Any) -> None:
            value = message.value().decode()
            told.append(failed(value, _name(error)) if error else acknowledged(value, message.offset()))

        for value in action.values:
            producer.produce(self._topic, value.encode(), partition=0, on_delivery=answered)
            producer.flush(60)
        return tuple(told)

    def _producer(self, action: script.Begin) -> Any:
        from confluent_kafka import Producer

        if action.producer not in self._producers:
            settings = {
                "bootstrap.servers": self._sandbox.live_bootstrap_servers(),
                "transactional.id": f"{self._topic}-{action.id}",
                "transaction.timeout.ms": action.timeout * 1000,
                "message.timeout.ms": action.timeout * 1000,
                "linger.ms": 0,
                "logger": quiet_logger(),
                "error_cb": _ignore,
            }
            producer = self._producers[action.producer] = Producer(settings)
            producer.init_transactions(60)
        return self._producers[action.producer]

    def end(self, action: script.End) -> tuple[str, ...]:
        """Commits or aborts."""
        from confluent_kafka import KafkaException

        producer = self._producers[action.producer]
        try:
            if action.commit:
                producer.commit_transaction(60)
                return ("committed",)
            producer.abort_transaction(60)
        except KafkaException as error:
            return (FENCED if error.args[0].fatal() else error.args[0].name(),)
        return ("aborted",)
