"""Two of three brokers are down: acks=all is refused, reading goes on."""

from kreplica.engine.fault_plan import At, Crash, Step
from kreplica.engine.setup import SECOND, ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind, fields_of
from kreplica.model.settings import MIN_ISR
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="min-isr-reject",
    title="Fewer in sync than min.insync.replicas: NOT_ENOUGH_REPLICAS, and the records stay readable",
    why=(
        "With min.insync.replicas=2 and one broker left, a leader refuses every acks=all request before it"
        " appends anything; acks=1 it takes. What was committed can be read as before."
    ),
    source="KAFKA-1555",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (*sends("t-0", "m1", start=SECOND), *sends("t-0", "m2", start=60 * SECOND)),
                {"acks": -1, "linger.ms": 0, "retries": 5},
            ),
            ReaderSetup("reader", ("t-0",), start=70 * SECOND, settings={"auto.offset.reset": "earliest"}),
        ),
        settings={MIN_ISR: 2},
        duration=90 * SECOND,
    ),
    plan=(Step(At(5 * SECOND), Crash("broker-2")), Step(At(5 * SECOND), Crash("broker-3"))),
    cases=(
        Case("0.8.2", {"failed": 1, "errors": ("NOT_ENOUGH_REPLICAS",), "read": ("m1",)}),
        Case("0.8.2", {"failed": 0, "acknowledged": 2}, {"acks": 1}),
    ),
    probes={
        "errors": lambda events: tuple(
            dict.fromkeys(fields_of(e)["error"] for e in events if e.kind in (Kind.RETRIED, Kind.SEND_FAILED))
        ),
        "read": lambda events: tuple(fields_of(e)["value"] for e in events if e.kind == Kind.CONSUMED),
    },
)
