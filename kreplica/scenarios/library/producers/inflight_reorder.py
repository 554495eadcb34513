"""Several batches in flight at once: the first is refused for a moment and sent again after the others."""

from kreplica.engine.fault_plan import AlterTopic, At, Step, Stop
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario

_PARTITION = "orders-0"
_MIN_ISR = "min.insync.replicas"
_IN_FLIGHT = "max.in.flight.requests.per.connection"

SCENARIO = Scenario(
    name="inflight-reorder",
    title="Retries with five batches in flight against one: the order turns round",
    why="""A producer sends up to max.in.flight.requests.per.connection batches before the first is answered. If the
        first is refused with an error that passes, it is sent again, after those that were taken: the log has another
        order than the application sent. Here the ISR is too small for min.insync.replicas until an operator lowers it,
        which happens between two batches. One batch in flight keeps the order and waits for every answer. An
        idempotent producer keeps it with five: the leader refuses a batch whose sequence is not the next one.""",
    source="Kafka documentation, producer configs: max.in.flight.requests.per.connection; KAFKA-5494",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {_MIN_ISR: 2}),
        clients=(
            ProducerSetup(
                "writer",
                (
                    *sends(_PARTITION, "m0", start=1500 * MILLISECOND),
                    *sends(_PARTITION, "m1", "m2", "m3", "m4", "m5", start=2 * SECOND, every=MILLISECOND),
                ),
            ),
        ),
        settings={
            "acks": -1,
            "retries": 5,
            _IN_FLIGHT: 5,
            "enable.idempotence": False,
            "linger.ms": 0,
            # a replica that was caught up when its broker stopped may hold the high watermark for that long
            "replica.lag.time.max.ms": 1000,
            "batch.records": 1,
        },
        duration=20 * SECOND,
    ),
    plan=(
        Step(At(time=100 * MILLISECOND), Stop("broker-3")),
        Step(At(time=1700 * MILLISECOND), AlterTopic("orders", _MIN_ISR, "3")),
        # m1 has met two replicas in sync; m2 meets a leader that asks for no more
        Step(At(time=2 * SECOND + 900), AlterTopic("orders", _MIN_ISR, "2")),
    ),
    cases=(
        Case("0.9", {"reordered": ("m1",), "duplicated": (), "lost": (), "acknowledged": 6}),
        Case("0.9", {"reordered": (), "duplicated": (), "lost": (), "acknowledged": 6}, {_IN_FLIGHT: 1}),
        Case("1.1", {"reordered": (), "duplicated": (), "lost": (), "acknowledged": 6}, {"enable.idempotence": True}),
    ),
    notes="""The advice to set max.in.flight.requests.per.connection=1 for order held before 1.0: since then an
        idempotent producer keeps the order with up to five.""",
)
