"""Below min ISR since 3.7 the high watermark stands still: acks=1 records are acknowledged and cannot be read."""

from kreplica.engine.fault_plan import At, Crash, Step
from kreplica.engine.setup import SECOND, ProducerSetup, ReaderSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind, fields_of
from kreplica.model.settings import MIN_ISR
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="strict-min-isr-visibility",
    title="Acknowledged with acks=1, and invisible until a follower is back",
    why=(
        "Before 3.7 a leader alone in its ISR moves its high watermark with every append, whatever"
        " min.insync.replicas says: what a consumer reads there can still be lost. Since 3.7 the high watermark"
        " does not move below min.insync.replicas: records sent with acks=1 are acknowledged, and stay invisible."
    ),
    source="KAFKA-15583, part of KIP-966",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (*sends("t-0", "m1", start=SECOND), *sends("t-0", "m2", start=60 * SECOND)),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            ),
            ReaderSetup("reader", ("t-0",)),
        ),
        settings={MIN_ISR: 2},
        duration=90 * SECOND,
    ),
    plan=(Step(At(5 * SECOND), Crash("broker-2")), Step(At(5 * SECOND), Crash("broker-3"))),
    cases=(
        Case("3.0", {"acknowledged": 2, "read": ("m1", "m2"), "unseen": ()}),
        Case("3.7", {"acknowledged": 2, "read": ("m1",), "unseen": ("m2",)}),
    ),
    probes={"read": lambda events: tuple(fields_of(e)["value"] for e in events if e.kind == Kind.CONSUMED)},
)
