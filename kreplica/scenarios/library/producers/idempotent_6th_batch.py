"""A request that was held up arrives long after its retry: is it still known as a duplicate?"""

from kreplica.engine.fault_plan import At, Slow, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario

_VALUES = ("m1", "m2", "m3", "m4", "m5", "m6", "m7")

SCENARIO = Scenario(
    name="idempotent-6th-batch",
    title="A duplicate older than the five remembered batches is refused, not appended",
    why="""A leader remembers the last five batches of a producer. A request that was held up in the network and comes
        after its own retry is known among them: it is answered with the offset it has. If more than five batches came
        in between it is not known any more, but its sequence is not the next one either: OUT_OF_ORDER_SEQUENCE_NUMBER.
        Either way the log has the record once. That is why an idempotent producer may have five batches on their
        way.""",
    source="ProducerStateEntry.NUM_BATCHES_TO_RETAIN; KAFKA-5494",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(ProducerSetup("writer", sends("orders-0", *_VALUES, start=2 * SECOND, every=2 * SECOND)),),
        settings={
            "enable.idempotence": True,
            "linger.ms": 0,
            "batch.records": 1,
            "request.timeout.ms": 1000,
        },
        duration=25 * SECOND,
    ),
    plan=(Step(At(time=2 * SECOND - 500), Slow("writer", "broker-1", 17 * SECOND, MILLISECOND, one_way=True)),),
    cases=(Case("1.1", {"duplicated": (), "reordered": (), "acknowledged": 7, "count:append-refused": 1}),),
)
