"""What scenarios with groups have in common: the topic of the offsets, members of one group, a steady producer."""

from __future__ import annotations

from collections.abc import Mapping

from kreplica.engine.rules.coordinator_partition import OFFSETS_TOPIC
from kreplica.engine.settings import Value
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    Application,
    ConsumerSetup,
    ProducerSetup,
    Send,
    Setup,
    TopicSetup,
    cluster,
    sends,
)

ORDERS = TopicSetup("orders", ((1, 2, 3),))
OFFSETS = TopicSetup(OFFSETS_TOPIC, ((3, 1, 2),))
"""One partition: every group has the same coordinator."""

MANUAL: Mapping[str, Value] = {"enable.auto.commit": False}
FIRST_RECORD = 10 * SECOND
"""When the producer begins: the group is stable by then."""


def member(
    name: str,
    application: Application | None = None,
    group: str = "billing",
    start: int = 0,
    stop: int = 0,
    settings: Mapping[str, Value] | None = None,
    sees: Mapping[str, int] | None = None,
) -> ConsumerSetup:
    """A consumer of ``orders`` that begins at the beginning and takes 10 ms a record."""
    return ConsumerSetup(
        name,
        ("orders",),
        start=start,
        stop=stop,
        settings={"group.id": group, "auto.offset.reset": "earliest", **(settings or {})},
        application=application or Application(processing=10 * MILLISECOND),
        sees=sees or {},
    )


def writer(*values: str, start: int = FIRST_RECORD, partition: str = "orders-0", every: int = SECOND) -> ProducerSetup:
    """A producer that writes a record a second and waits for every in-sync replica."""
    return writes(f"writer-{partition}", *sends(partition, *values, start=start, every=every))


def writes(name: str, *records: Send) -> ProducerSetup:
    """A producer of these records that waits for every in-sync replica; those of one moment are one batch."""
    return ProducerSetup(name, records, {"acks": -1, "linger.ms": 1})


def batches(*batches: tuple[str, ...], start: int = FIRST_RECORD, every: int = SECOND) -> ProducerSetup:
    """A producer that writes a batch a second to ``orders-0``: a consumer gets it with one poll."""
    moments = (sends("orders-0", *values, start=start + place * every, every=0) for place, values in enumerate(batches))
    return writes("writer", *(send for moment in moments for send in moment))


def numbered(count: int, letter: str = "m") -> tuple[str, ...]:
    """``m0``, ``m1`` and so on."""
    return tuple(f"{letter}{number}" for number in range(count))


def group_cluster(
    *clients: ConsumerSetup | ProducerSetup, topic: TopicSetup = ORDERS, duration: int = 90, **others: object
) -> Setup:
    """Three brokers with ``orders`` and __consumer_offsets; ``duration`` in seconds."""
    return cluster(3, topic, OFFSETS, clients=clients, duration=duration * SECOND, **others)  # type: ignore[arg-type]
