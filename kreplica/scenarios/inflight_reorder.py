"""Several batches on their way at once: the first is lost and sent again behind the others."""

from kreplica.engine.faults import At, Cut, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario

_PARTITION = "orders-0"
_IN_FLIGHT = "max.in.flight.requests.per.connection"

SCENARIO = Scenario(
    name="inflight-reorder",
    title="Retries with five batches in flight against one: the order turns round",
    why="""A producer sends up to max.in.flight.requests.per.connection batches before the first is answered. If the
        first is lost it is sent again, behind those that arrived: the log has another order than the application sent.
        One batch in flight keeps the order and waits for every answer. An idempotent producer keeps it with five: the
        leader refuses a batch whose sequence is not the next one.""",
    source="Kafka documentation, producer configs: max.in.flight.requests.per.connection; KAFKA-5494",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "writer",
                (
                    *sends(_PARTITION, "m0", start=SECOND),
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
            "batch.records": 1,
            "request.timeout.ms": 1000,
        },
        duration=20 * SECOND,
    ),
    plan=(
        # the request with m1 is lost: the producer hears nothing and sends it again after request.timeout.ms
        Step(At(time=2 * SECOND - 500), Cut("writer", "broker-1", MILLISECOND, one_way=True)),
    ),
    cases=(
        Case("0.9", {"reordered": ("m1",), "duplicated": (), "lost": (), "acknowledged": 6}),
        Case("0.9", {"reordered": (), "duplicated": (), "lost": (), "acknowledged": 6}, {_IN_FLIGHT: 1}),
        Case("1.1", {"reordered": (), "duplicated": (), "lost": (), "acknowledged": 6}, {"enable.idempotence": True}),
    ),
    notes="""The advice to set max.in.flight.requests.per.connection=1 for order held before 1.0: since then an
        idempotent producer keeps the order with up to five.""",
)
