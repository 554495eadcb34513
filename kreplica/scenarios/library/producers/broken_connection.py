"""A connection breaks with two batches under way: what was sent last is sent again first."""

from kreplica.engine.fault_plan import At, BreakConnection, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="broken-connection",
    title="A connection breaks with two batches under way: they are written in another order, and one twice",
    why="""Of a broken connection a producer cannot tell what has arrived. Here nothing has: two batches are under way,
        slowly. Both are sent again over another connection. Each goes to the front of its partition's queue, the older
        one first, so that since 2.0 the younger one is sent first; before, the connection's batches failed in the
        opposite order, and the queue kept theirs. Then the old requests arrive: brokers handle what has reached them,
        and every record is there once more. An idempotent producer keeps the order of sequences, and the leader knows
        what it has.""",
    source="org.apache.kafka.clients.InFlightRequests.clearAll (2.0), producer.internals.RecordAccumulator.reenqueue",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", start=2 * SECOND, every=MILLISECOND)),),
        settings={"acks": -1, "retries": 5, "enable.idempotence": False, "linger.ms": 0, "batch.records": 1},
        duration=15 * SECOND,
    ),
    plan=(
        Step(At(1990 * MILLISECOND), Slow("writer", "broker-1", SECOND, 20 * MILLISECOND, one_way=True)),
        Step(At(2100 * MILLISECOND), BreakConnection("writer", "broker-1", delay=SECOND)),
    ),
    cases=(
        Case("0.9", {"reordered": (), "duplicated": ("m1", "m2"), "lost": (), "acknowledged": 2}),
        Case("2.0", {"reordered": ("m1",), "duplicated": ("m2", "m1"), "lost": (), "acknowledged": 2}),
        Case("1.1", {"reordered": (), "duplicated": (), "acknowledged": 2}, {"enable.idempotence": True}),
        Case("2.0", {"reordered": (), "duplicated": (), "acknowledged": 2}, {"enable.idempotence": True}),
    ),
)
