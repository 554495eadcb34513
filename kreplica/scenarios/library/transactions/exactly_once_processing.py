"""Consume, transform, produce in transactions: one instance crashes half-way, another takes over."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    ProducerSetup,
    ReaderSetup,
    TopicSetup,
    TransformSetup,
    cluster,
    sends,
)
from kreplica.engine.trace import Event, Kind
from kreplica.scenarios.scenario import Case, Scenario
from kreplica.scenarios.setups import BILLS, OFFSETS, PROBES, transaction_state

_ORDERS = ("m1", "m2", "m3", "m4", "m5", "m6")
_WORKER = {"transactional.id": "worker"}


def _worker(name: str, start: int) -> TransformSetup:
    return TransformSetup(name, "orders-0", "bills-0", "billing", _WORKER, start, 4, 100 * MILLISECOND)


def _read(events: Sequence[Event]) -> list[object]:
    return [event.values[2] for event in events if event.node == "auditor" and event.kind == Kind.CONSUMED]


SCENARIO = Scenario(
    name="exactly-once-processing",
    title="Consume-transform-produce: the offsets are committed in the same transaction as the results",
    why="""An application reads orders and writes bills. It crashes when it has written some of them. Another instance
        with the same transactional id aborts what is open, begins at the committed offset, and does the work again.
        The log holds the first bills twice; a read_committed consumer reads each once, because the aborted ones are
        passed over and offsets count only if their transaction is committed. A read_uncommitted consumer reads them
        twice.""",
    source="KIP-98, KIP-447; the loop of the Kafka documentation, design: using transactions",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        BILLS,
        transaction_state(3, 1, 2),
        OFFSETS,
        clients=(
            ProducerSetup("shop", sends("orders-0", *_ORDERS, start=2 * SECOND, every=10 * MILLISECOND)),
            _worker("worker-1", 3 * SECOND),
            _worker("worker-2", 8 * SECOND),
            ReaderSetup("auditor", ("bills-0",)),
        ),
        settings={"linger.ms": 0, "isolation.level": "read_committed"},
        duration=20 * SECOND,
    ),
    plan=(Step(When(kind=Kind.ACKNOWLEDGED, node="worker-1", count=2, after=MILLISECOND), Crash("worker-1")),),
    cases=(
        Case("0.11", {"duplicated": (), "lost": (), "aborted_read": (), "bills": 6, "bills_twice": 0}),
        Case("0.11", {"bills": 6, "bills_twice": 2}, {"isolation.level": "read_uncommitted"}),
    ),
    probes={
        **PROBES,
        "bills": lambda events: len(set(_read(events))),
        "bills_twice": lambda events: len(_read(events)) - 6,
    },
    since="0.11",
)
