"""An application crashes before it is told, and its next life sends the record again."""

from kreplica.engine.fault_plan import Crash, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="resend-after-restart",
    title="Idempotence ends with the producer: what an application sends anew is a new record",
    why="""The leader has the record, but the application crashes before the acknowledgement. Its next life does not
        know, and sends the record again, with a producer id of its own: for the leader it is another record. An
        idempotent producer removes the duplicates of its own retries only. What helps over restarts: a transactional
        id with the position of the input committed in the same transaction, or a consumer that knows its records by
        their keys.""",
    source="KIP-98; Kafka documentation, design: message delivery semantics",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup("first-life", sends("orders-0", "m1", start=2 * SECOND)),
            ProducerSetup("second-life", sends("orders-0", "m1", start=6 * SECOND)),
        ),
        settings={"acks": -1, "retries": 5, "linger.ms": 0},
        duration=10 * SECOND,
    ),
    plan=(
        Step(
            When(kind=Kind.APPENDED, node="broker-1", fields={"partition": "orders-0", "role": "leader"}),
            Crash("first-life"),
        ),
    ),
    cases=(
        Case("0.9", {"duplicated": ("m1",), "acknowledged": 1}),
        Case("0.11", {"duplicated": ("m1",), "acknowledged": 1}, {"enable.idempotence": True}),
    ),
)
