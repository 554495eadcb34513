"""Reads a load's records back, while they are written and again at the end."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kreplica.sandbox.admin import quiet_logger
from kreplica.sandbox.load.ledger import HEADER, Reading

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

POLL_SECONDS = 0.2
ASK_SECONDS = 5.0
CATCH_UP_SECONDS = 5.0
BATCH = 1000


class Reader:
    """Reads one topic from given offsets and enters the records of one run into a ``Reading``.

    Args:
        client: Settings of librdkafka that reach the cluster.
        topic: Topic.
        starts: First offset by partition; -2 for the beginning of the log.
        run: The run whose records count.
    """

    def __init__(self, client: Mapping[str, Any], topic: str, starts: Mapping[int, int], run: bytes) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self.reading = Reading(positions=dict(starts))
        self._run = run
        self._topic = topic
        self._consumer: Consumer = Consumer(dict(client) | _consumer_settings(), logger=quiet_logger())
        self._consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in starts.items()])

    def read(self) -> int:
        """Read what comes within a moment; return the number of messages, other runs' included."""
        from confluent_kafka import KafkaError

        count = 0
        for message in self._consumer.consume(BATCH, POLL_SECONDS):
            error = message.error()
            if error is None:
                self._enter(message)
                count += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self._reach_end(message)
        return count

    def _reach_end(self, message: Message) -> None:
        # Markers of transactions and compacted records hold offsets that no message brings.
        partition, offset = message.partition(), message.offset()
        if partition is not None and offset is not None:
            self.reading.positions[partition] = offset

    def _enter(self, message: Message) -> None:
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        self.reading.positions[partition] = offset + 1
        if value is None or len(value) < HEADER.size:
            return
        run, number, sent_ns = HEADER.unpack_from(value if isinstance(value, bytes) else value.encode())
        if run == self._run:
            self.reading.enter(partition, number)
            self.reading.latencies_ms.append((time.monotonic_ns() - sent_ns) / 1e6)

    def high_watermarks(self, partitions: Mapping[int, int]) -> dict[int, int]:
        """Return the high watermark of each partition whose leader answers."""
        return {
            partition: watermark
            for partition in partitions
            if (watermark := high_watermark(self._consumer, self._topic, partition)) is not None
        }

    def close(self) -> None:
        """Leave; nothing is committed."""
        self._consumer.close()


def _consumer_settings() -> dict[str, Any]:
    return {
        # assign() joins no group and nothing is committed; librdkafka wants a name all the same, and asks for its
        # coordinator, on which the cluster makes __consumer_offsets if it has none yet.
        "group.id": f"kreplica-load-{uuid.uuid4().hex[:8]}",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "isolation.level": "read_uncommitted",
        "fetch.error.backoff.ms": 200,
        "error_cb": lambda _error: None,
    }


def high_watermark(consumer: Consumer, topic: str, partition: int) -> int | None:
    """Return the high watermark of a partition; None when no leader answers."""
    from confluent_kafka import KafkaException, TopicPartition

    try:
        answer = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ASK_SECONDS)
    except KafkaException:
        return None
    return answer[1] if answer else None


def start_offsets(client: Mapping[str, Any], topic: str, partitions: int) -> dict[int, int]:
    """Return the present end offset of each partition; -2, its beginning, where it is not known."""
    from confluent_kafka import Consumer

    consumer = Consumer(dict(client) | _consumer_settings(), logger=quiet_logger())
    try:
        found = {partition: high_watermark(consumer, topic, partition) for partition in range(partitions)}
    finally:
        consumer.close()
    return {partition: -2 if offset is None else offset for partition, offset in found.items()}


class FollowingReader(threading.Thread):
    """A reader that follows the log in a thread of its own until it is told to stop."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(name="kreplica-load-reader", daemon=True)
        self._reader = reader
        self._ended = threading.Event()
        self._deadline, self._awaited = 0.0, 0

    def run(self) -> None:
        """Read until ``stop`` is called, and then what is awaited still."""
        try:
            while not self._ended.is_set() or self._is_behind():
                self._reader.read()
        finally:
            self._reader.close()

    def _is_behind(self) -> bool:
        return self._reader.reading.count() < self._awaited and time.monotonic() < self._deadline

    def stop(self, awaited: int) -> Reading:
        """End the thread and return what it read.

        Args:
            awaited: Records that the log should hold: it is read on until so many were read, for 5 s at most.
        """
        self._awaited, self._deadline = awaited, time.monotonic() + CATCH_UP_SECONDS
        self._ended.set()
        self.join(timeout=30)
        return self._reader.reading


def read_to_end(
    reader: Reader, starts: Mapping[int, int], timeout: float, complete: Callable[[Reading], bool]
) -> dict[int, bool]:
    """Read until everything is found, or every partition was read to a high watermark that stands still.

    After a change of leader the high watermark lags behind for a moment: an end is believed only when it has not
    moved for a while.

    Args:
        reader: Reads from the start of the load.
        starts: The partitions.
        timeout: Seconds at most.
        complete: Tells that nothing is missing any more.

    Returns:
        By partition, whether it was read to its end.
    """
    deadline, settle = time.monotonic() + timeout, 3.0
    still_since, ends = time.monotonic(), dict[int, int]()
    while time.monotonic() < deadline:
        if reader.read():
            still_since = time.monotonic()
            continue
        if complete(reader.reading):
            return dict.fromkeys(starts, True)
        now = reader.high_watermarks(starts)
        if now != ends:
            ends, still_since = now, time.monotonic()
        at_end = all(reader.reading.positions[partition] >= end for partition, end in ends.items() if end > 0)
        if at_end and time.monotonic() - still_since >= settle:
            break
    positions = reader.reading.positions
    return {partition: partition in ends and positions[partition] >= ends[partition] for partition in starts}
