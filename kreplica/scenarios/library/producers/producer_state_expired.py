"""A producer stands still for longer than brokers remember it, with a batch on its way."""

from kreplica.engine.fault_plan import Cut, Pause, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.scenario import Between, Case, Scenario

_MINUTE = 60 * SECOND
_APPENDED = When(kind=Kind.APPENDED, node="broker-1", fields={"partition": "orders-0", "role": "leader"}, count=2)

SCENARIO = Scenario(
    name="producer-state-expired",
    title="Brokers forget an idle producer: a late retry is a duplicate",
    why="""Brokers forget a producer that has written nothing for producer.id.expiration.ms (a day; up to 3.3
        transactional.id.expiration.ms, a week). A producer that comes back later with a batch that was appended but
        not answered finds nobody who knows it. Since 2.5 a leader takes any sequence of a producer it knows nothing
        of, so that idle producers can go on: the retry is appended again. Before, it answered UNKNOWN_PRODUCER_ID.""",
    source="KIP-360; KAFKA-14097 (producer.id.expiration.ms); KAFKA-9144",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=SECOND)),),
        settings={
            "enable.idempotence": True,
            "linger.ms": 0,
            "request.timeout.ms": 1000,
            "delivery.timeout.ms": 3_600_000,
            "producer.id.expiration.ms": 600_000,
            "replica.fetch.wait.max.ms": 10_000,
        },
        duration=22 * _MINUTE,
    ),
    plan=(
        Step(_APPENDED, Cut("broker-1", "writer", 50 * MILLISECOND, one_way=True)),
        Step(_APPENDED, Pause("writer", 21 * _MINUTE)),
    ),
    cases=(
        Case("2.1", {"duplicated": (), "acknowledged": 1, "count:producer-expired": Between(3)}),
        Case("2.5", {"duplicated": ("m2",), "acknowledged": 2, "count:producer-expired": Between(3)}),
        Case("2.5", {"duplicated": (), "acknowledged": 2}, {"producer.id.expiration.ms": 86_400_000}),
    ),
)
