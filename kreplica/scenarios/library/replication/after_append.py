"""The ISR shrinks between append and commit: NOT_ENOUGH_REPLICAS_AFTER_APPEND, and the record stays in the log."""

from kreplica.engine.fault_plan import Cut, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind, fields_of
from kreplica.model.settings import MIN_ISR
from kreplica.scenarios.scenario import Between, Case, Scenario

SCENARIO = Scenario(
    name="after-append",
    title="An error, and the record is there all the same: the retry doubles it",
    why=(
        "The leader appends with a large enough ISR; before the followers have fetched they are cut off and leave"
        " the ISR. The high watermark reaches the record, with fewer in sync than min.insync.replicas asks for:"
        " the producer hears NOT_ENOUGH_REPLICAS_AFTER_APPEND and sends it again. The record stands in the log"
        " twice; an idempotent producer's retry is recognised. Since 3.7 the high watermark stands still instead,"
        " and the request times out."
    ),
    source="KAFKA-1555, KAFKA-15583",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", "m1", "m2", start=SECOND, every=SECOND),
                {
                    "acks": -1,
                    "linger.ms": 0,
                    "retries": 100_000,
                    "request.timeout.ms": 60_000,
                    "delivery.timeout.ms": 600_000,
                    "retry.backoff.ms": 1_000,
                    "enable.idempotence": False,
                },
            ),
        ),
        settings={MIN_ISR: 2, "replica.lag.time.max.ms": 10_000},
        duration=240 * SECOND,
    ),
    plan=(
        Step(When(Kind.SENT, fields={"value": "m2"}), Cut("broker-1", "broker-2", 60 * SECOND)),
        Step(When(Kind.SENT, fields={"value": "m2"}), Cut("broker-1", "broker-3", 60 * SECOND)),
    ),
    cases=(
        Case("0.10", {"duplicated": ("m2",), "errors": Between(1)}),
        Case("3.7", {"errors": 0}),
    ),
    probes={
        "errors": lambda events: sum(
            e.kind == Kind.RETRIED and fields_of(e)["error"] == "NOT_ENOUGH_REPLICAS_AFTER_APPEND" for e in events
        )
    },
)
