"""Common parts of scenarios with groups: the offsets topic, members of one group, a steady producer.

Also of scenarios with transactions: the topic of their coordinator, and probes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from kreplica.engine.checkers.transactions import transaction_outcomes
from kreplica.engine.settings import Value
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    Application,
    ConsumerSetup,
    ProducerSetup,
    ReaderSetup,
    Send,
    Setup,
    TopicSetup,
    Transaction,
    TransactionalSetup,
    cluster,
    sends,
)
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.model.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kreplica.scenarios.scenario import Probe

ORDERS = TopicSetup("orders", ((1, 2, 3),))
OFFSETS = TopicSetup(OFFSETS_TOPIC, ((3, 1, 2),))
"""One partition: every group has the same coordinator."""

MANUAL: Mapping[str, Value] = {"enable.auto.commit": False}
FIRST_RECORD = 10 * SECOND
"""Time of the producer's first record: the group is stable by then."""


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


BILLS = TopicSetup("bills", ((2, 3, 1),), {"min.insync.replicas": 2})
"""Topic of bills with one partition; its leader coordinates no transactions."""


def transaction_state(*replicas: int) -> TopicSetup:
    """__transaction_state with one partition on these brokers; Kafka makes 50, with min.insync.replicas=2."""
    return TopicSetup(TRANSACTIONS_TOPIC, (replicas,), {"min.insync.replicas": min(2, len(replicas))})


def reads_committed(name: str, *partitions: str) -> ReaderSetup:
    """A reader of committed records."""
    return ReaderSetup(name, partitions, settings={"isolation.level": "read_committed"})


def transfers(debited: int, credited: int) -> tuple[TransactionalSetup, ReaderSetup]:
    """A producer that moves amounts from debit to credit, the second move aborted, and a read_committed reader of both.

    Args:
        debited, credited: Times of the two halves of the second transaction; those of the first are at 2 s, and it is
            committed at 3 s.
    """
    first = (*sends("debit-0", "d1", start=2 * SECOND), *sends("credit-0", "c1", start=2 * SECOND))
    second = (*sends("debit-0", "d2", start=debited), *sends("credit-0", "c2", start=credited))
    transactions = (Transaction(first, 3 * SECOND), Transaction(second, commit=False))
    return (
        TransactionalSetup("transfer", transactions, {"transactional.id": "transfer"}),
        reads_committed("auditor", "debit-0", "credit-0"),
    )


def _outcome(name: str, events: Sequence[Event]) -> object:
    return getattr(transaction_outcomes(events), name)


PROBES: dict[str, Probe] = {name: partial(_outcome, name) for name in ("torn", "broken", "hanging", "committed")}
"""Fields of ``TransactionOutcomes`` as a scenario's cases name them."""


def first_abort_seconds(events: Sequence[Event]) -> object:
    """Seconds that the first transaction was open when its abort was decided; -1 if none was."""
    states = [(event.time, fields_of(event)["state"]) for event in events if event.kind == Kind.TRANSACTION_STATE]
    begun = next((time for time, state in states if state == "ongoing"), 0)
    aborted = next((time for time, state in states if state == "prepare_abort"), begun - SECOND)
    return (aborted - begun) / SECOND


def longest_wait_seconds(partition: str) -> Probe:
    """The longest time from sending to reading of the records of a partition that were not sent in a transaction."""

    def wait(events: Sequence[Event]) -> object:
        inside = {value for event in events if event.kind == Kind.TRANSACTION_ENDED for value in event.values[2]}
        sent = {event.values[1]: event.time for event in events if event.kind == Kind.SENT}
        read = [event for event in events if event.kind == Kind.CONSUMED and event.values[0] == partition]
        waits = [event.time - sent[event.values[2]] for event in read if event.values[2] not in inside]
        return max(waits, default=0) / SECOND

    return wait
