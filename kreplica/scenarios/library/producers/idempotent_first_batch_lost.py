"""The very first batch of an idempotent producer is refused for a moment, the second is taken."""

from kreplica.engine.fault_plan import AlterTopic, At, Step, Stop
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario

_MIN_ISR = "min.insync.replicas"

SCENARIO = Scenario(
    name="idempotent-first-batch-lost",
    title="A leader that knows nothing of a producer takes its second batch first",
    why="""Since 2.5 a leader takes any sequence of a producer it knows nothing of. If the first batch is refused with
        an error that passes (here: too small an ISR) and the second is appended, then from there on the
        first is out of order however often it is sent, until delivery.timeout.ms is over and the application
        is told. Nothing is reordered and nothing acknowledged is lost, but a record that should only have
        been late fails. Before 2.5 the second batch was refused. For transactions KIP-890 repairs it: the
        leader remembers the lowest sequence that waits, and since 4.1 only 0 may come first.""",
    source="KIP-360; KAFKA-14920; KAFKA-18202",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {_MIN_ISR: 3}),
        clients=(ProducerSetup("writer", sends("orders-0", "m1", "m2", "m3", start=2 * SECOND, every=MILLISECOND)),),
        settings={
            "enable.idempotence": True,
            "linger.ms": 0,
            # a replica that was caught up when its broker stopped may hold the high watermark for that long
            "replica.lag.time.max.ms": 1000,
            "batch.records": 1,
            "delivery.timeout.ms": 10_000,
        },
        duration=20 * SECOND,
    ),
    plan=(
        Step(At(time=100 * MILLISECOND), Stop("broker-3")),
        # m1 has met two replicas in sync; m2 meets a leader that asks for no more
        Step(At(time=2 * SECOND + 900), AlterTopic("orders", _MIN_ISR, "2")),
    ),
    cases=(
        Case("1.1", {"acknowledged": 3, "failed": 0, "reordered": (), "lost": ()}),
        Case("2.5", {"acknowledged": 2, "failed": 1, "reordered": (), "lost": ()}),
        Case("2.5", {"acknowledged": 3, "failed": 0}, {"max.in.flight.requests.per.connection": 1}),
    ),
)
