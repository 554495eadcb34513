"""The answer to a produce request is lost, and the producer sends the records again."""

from kreplica.engine.fault_plan import Cut, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="retry-duplicate",
    title="The acknowledgement is lost: a retry writes the record twice",
    why="""The broker has appended the record, but its answer does not reach the producer. To the producer that looks
        like a lost request: it sends the record again and the log has it twice. An idempotent producer numbers its
        records: the leader knows the batch again and only answers.""",
    source="KIP-98; Kafka documentation, producer configs: enable.idempotence",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=3 * SECOND)),),
        settings={
            "acks": -1,
            "retries": 5,
            "enable.idempotence": False,
            "linger.ms": 0,
            "request.timeout.ms": 1000,
        },
        duration=15 * SECOND,
    ),
    plan=(
        Step(
            When(kind=Kind.APPENDED, node="broker-1", fields={"partition": "orders-0", "role": "leader"}),
            Cut("broker-1", "writer", 50 * MILLISECOND, one_way=True),
        ),
    ),
    cases=(
        Case("0.9", {"duplicated": ("m1",), "lost": (), "acknowledged": 2}),
        Case("0.11", {"duplicated": (), "lost": (), "acknowledged": 2}, {"enable.idempotence": True}),
        Case("0.11", {"duplicated": (), "lost": (), "acknowledged": 1}, {"retries": 0}),
    ),
    notes="""The stage of the producer among the three at which records are duplicated; the cure without idempotence,
        no retries, loses what did not arrive.""",
)
