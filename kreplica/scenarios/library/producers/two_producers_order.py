"""Two producers with one batch in flight each: one has to send again, the other comes between."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import At, Cut, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind
from kreplica.scenarios.scenario import Case, Scenario

_PARTITION = "orders-0"


def _order(events: Sequence[Event]) -> object:
    return tuple(event.values[2] for event in events if event.kind == Kind.CONSUMED)


SCENARIO = Scenario(
    name="two-producers-order",
    title="One batch in flight keeps the order of one producer, not of two",
    why="""Producer a sends a1 before producer b sends b1. The request with a1 is lost and sent again: b1 stands first.
        max.in.flight.requests.per.connection=1 and idempotence keep the order in which one producer sends; among
        several producers the order is that of arrival at the leader. What has to be in order goes through one
        producer.""",
    source="Kafka documentation, producer configs; KIP-98 (sequences are per producer and partition)",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup("a", sends(_PARTITION, "a1", "a2", start=2 * SECOND, every=MILLISECOND)),
            ProducerSetup("b", sends(_PARTITION, "b1", start=2 * SECOND + 10 * MILLISECOND)),
            ReaderSetup("reader", (_PARTITION,)),
        ),
        settings={
            "acks": -1,
            "retries": 5,
            "max.in.flight.requests.per.connection": 1,
            "linger.ms": 0,
            "batch.records": 1,
            "request.timeout.ms": 1000,
        },
        duration=10 * SECOND,
    ),
    plan=(Step(At(time=2 * SECOND - 500), Cut("a", "broker-1", MILLISECOND, one_way=True)),),
    cases=(
        Case("0.9", {"order": ("b1", "a1", "a2"), "reordered": (), "lost": ()}),
        Case("0.11", {"order": ("b1", "a1", "a2"), "reordered": (), "lost": ()}, {"enable.idempotence": True}),
    ),
    probes={"order": _order},
)
