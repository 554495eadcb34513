"""A load on a sandbox: produces at a stated rate, reads back, and counts the fate of every record."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kreplica.errors import ExitCode, SandboxError, UsageError
from kreplica.model.settings import MIN_ISR
from kreplica.sandbox import admin
from kreplica.sandbox.load.ledger import HEADER, MIN_SIZE, PENDING, Ledger, PartitionLoad, Reading, account, quantiles
from kreplica.sandbox.load.reader import FollowingReader, Reader, read_to_end, start_offsets

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

MAX_RECORDS = 50_000_000
TICK_SECONDS = 0.005
SOCKET_MS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """Settings of a load.

    Attributes:
        topic: Topic, which must exist.
        rate: Records a second over all partitions.
        seconds: Time for which records are sent.
        acks: ``0``, ``1`` or ``all``.
        size: Bytes of a value, 24 at least.
        idempotent: Whether the producer keeps retries from duplicating and reordering (needs acks=all).
        read_back: Whether the records are read while they are written, and all of them again at the end.
        delivery_timeout: Seconds after which a record that nobody acknowledges counts as refused.
        read_timeout: Seconds to read the log at the end.
    """

    topic: str
    rate: float = 100.0
    seconds: float = 10.0
    acks: str = "all"
    size: int = 100
    idempotent: bool = False
    read_back: bool = True
    delivery_timeout: float = 30.0
    read_timeout: float = 60.0

    def validate(self) -> None:
        """Check the numbers.

        Raises:
            UsageError: Names the one that cannot be used.
        """
        if not self.rate > 0 or not self.seconds > 0 or self.rate * self.seconds > MAX_RECORDS:
            raise UsageError(
                "rate and seconds must be more than 0",
                f"{self.rate:g} a second for {self.seconds:g} s; at most {MAX_RECORDS} records",
            )
        if self.acks not in ("0", "1", "all", "-1"):
            raise UsageError(f"acks={self.acks} is unknown", "there is 0, 1 and all")
        if self.idempotent and self.acks not in ("all", "-1"):
            raise UsageError("an idempotent producer needs acks=all")
        if not MIN_SIZE <= self.size <= 1_000_000:
            raise UsageError(f"a value of {self.size} bytes cannot be used", f"{MIN_SIZE} to 1000000")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """Result of a load.

    Attributes:
        partitions: One account each.
        errors: Number of refused records by error name.
        seconds: How long records were sent.
        interrupted: Whether it was told to end before its time.
        pending: Records whose fate never became known.
        consumed: Records that the reader which followed the load saw, duplicates included; None without reading.
        vanished: Records that this reader saw and the log no longer holds; None without reading.
        acknowledge_ms: Quantiles from sending to acknowledgement.
        end_to_end_ms: Quantiles from sending to the following reader.
    """

    partitions: list[PartitionLoad]
    errors: dict[str, int]
    seconds: float
    interrupted: bool
    pending: int
    consumed: int | None
    vanished: int | None
    acknowledge_ms: dict[str, float | None]
    end_to_end_ms: dict[str, float | None]

    def total(self, name: str) -> int | None:
        """Return the sum of one number of the partitions' accounts; None where it was not counted."""
        values = [getattr(partition, name) for partition in self.partitions]
        return None if None in values else sum(values)

    @property
    def exit_code(self) -> ExitCode:
        """1 when acknowledged records are lost, 5 when some could not be checked."""
        if self.total("lost"):
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.total("unread") or self.pending else ExitCode.OK


def run_load(client: Mapping[str, Any], settings: LoadSettings, ended: threading.Event) -> LoadResult:
    """Run a load to its end, or until ``ended`` is set; what was sent until then is still accounted for.

    Args:
        client: Settings of librdkafka that reach the cluster, ``bootstrap.servers`` among them.
        settings: What to do.
        ended: Set by another thread or a signal handler to end the load early.

    Raises:
        UsageError: A number cannot be used.
        SandboxError: The topic is unknown or no broker answers.
    """
    settings.validate()
    client = dict(client) | {"socket.timeout.ms": SOCKET_MS, "reconnect.backoff.max.ms": 1000}
    ledger = Ledger(run=os.urandom(8), partitions=_partition_count(client, settings.topic))
    starts = start_offsets(client, settings.topic, ledger.partitions) if settings.read_back else {}
    follower = FollowingReader(Reader(client, settings.topic, starts, ledger.run)) if settings.read_back else None
    if follower:
        follower.start()
    try:
        seconds = _produce(client, settings, ledger, ended)
    finally:
        followed = follower.stop(ledger.acknowledged()) if follower else None
    final, readable = _read_back(client, settings, ledger, starts) if settings.read_back else (None, {})
    return _result(ledger, followed, final, readable, seconds, interrupted=ended.is_set())


def _partition_count(client: Mapping[str, Any], topic: str) -> int:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    quiet = {"error_cb": lambda _error: None, "logger": admin.quiet_logger()}
    try:
        found = AdminClient(dict(client) | quiet).list_topics(timeout=admin.REQUEST_SECONDS).topics.get(topic)
    except KafkaException as error:
        raise SandboxError("no broker of the sandbox answers", error.args[0].str()) from error
    if found is None or not found.partitions:
        raise SandboxError(
            f"there is no topic {topic!r}, or this user may not see it",
            "",
            f"kreplica sandbox topic {topic} --partitions 6",
        )
    return len(found.partitions)


def _producer(client: Mapping[str, Any], settings: LoadSettings) -> Producer:
    from confluent_kafka import Producer

    return Producer(
        dict(client)
        | {
            "acks": settings.acks,
            "enable.idempotence": settings.idempotent,
            "message.timeout.ms": int(settings.delivery_timeout * 1000),
            "request.timeout.ms": 5000,
            "linger.ms": 5,
            "max.in.flight.requests.per.connection": 5,
            "topic.metadata.refresh.interval.ms": 5000,
            "queue.buffering.max.messages": 1_000_000,
            "error_cb": lambda _error: None,
        },
        logger=admin.quiet_logger(),
    )


def _produce(client: Mapping[str, Any], settings: LoadSettings, ledger: Ledger, ended: threading.Event) -> float:
    """Send at the stated rate and wait for every record's fate; return how long records were sent."""
    producer = _producer(client, settings)
    begun = time.monotonic()
    total = int(settings.rate * settings.seconds)
    while len(ledger.fates) < total and not ended.is_set():
        due = min(total, int((time.monotonic() - begun) * settings.rate) + 1)
        while len(ledger.fates) < due:
            _send(producer, settings, ledger)
        producer.poll(TICK_SECONDS)
        if time.monotonic() - begun > settings.seconds + settings.delivery_timeout:
            break  # the machine cannot hold the rate: only what was sent is reported
    sent_for = time.monotonic() - begun
    producer.flush(settings.delivery_timeout + 5)
    return sent_for


def _send(producer: Producer, settings: LoadSettings, ledger: Ledger) -> None:
    number = ledger.add()
    value = HEADER.pack(ledger.run, number, time.monotonic_ns()).ljust(settings.size, b"\0")

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            ledger.refuse(number, error.name())
        else:
            ledger.acknowledge(number, (message.latency() or 0.0) * 1000)

    while True:
        try:
            producer.produce(settings.topic, value, partition=number % ledger.partitions, on_delivery=on_delivery)
            return
        except BufferError:
            producer.poll(TICK_SECONDS)  # a million records wait: the rate cannot be reached, counting goes on


def _read_back(
    client: Mapping[str, Any], settings: LoadSettings, ledger: Ledger, starts: Mapping[int, int]
) -> tuple[Reading, dict[int, bool]]:
    def complete(reading: Reading) -> bool:
        return all(partition.lost == 0 for partition in account(ledger, reading, dict.fromkeys(starts, True)))

    reader = Reader(client, settings.topic, starts, ledger.run)
    try:
        readable = read_to_end(reader, starts, settings.read_timeout, complete)
    finally:
        reader.close()
    hidden = _hidden_partitions(client, settings.topic)
    return reader.reading, {partition: at_end and partition not in hidden for partition, at_end in readable.items()}


def _hidden_partitions(client: Mapping[str, Any], topic: str) -> set[int]:
    """Return the partitions below their min ISR: there the high watermark stands still (KIP-966) and hides records."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    asker = AdminClient(dict(client) | {"error_cb": lambda _error: None, "logger": admin.quiet_logger()})
    try:
        answer = asker.describe_configs([ConfigResource(ResourceType.TOPIC, topic)], request_timeout=10)
        configs = next(iter(answer.values())).result(timeout=20)
        partitions = asker.list_topics(topic, timeout=admin.REQUEST_SECONDS).topics[topic].partitions
    except KafkaException:
        return set()
    min_isr = int(configs[MIN_ISR].value)
    return {number for number, found in partitions.items() if len(found.isrs) < min_isr or found.leader < 0}


def _result(
    ledger: Ledger,
    followed: Reading | None,
    final: Reading | None,
    readable: Mapping[int, bool],
    seconds: float,
    *,
    interrupted: bool,
) -> LoadResult:
    vanished = None
    if followed is not None and final is not None:
        vanished = sum(count > 0 and final.times(number) == 0 for number, count in enumerate(followed.seen))
    return LoadResult(
        partitions=account(ledger, final, readable),
        errors=dict(ledger.errors.most_common()),
        seconds=seconds,
        interrupted=interrupted,
        pending=ledger.fates.count(PENDING),
        consumed=sum(followed.seen) if followed else None,
        vanished=vanished,
        acknowledge_ms=quantiles(ledger.latencies_ms),
        end_to_end_ms=quantiles(followed.latencies_ms if followed else ()),
    )
