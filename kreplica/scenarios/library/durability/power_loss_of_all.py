"""All replicas lose power before anything was flushed: acks=all does not help."""

from kreplica.engine.fault_plan import At, PowerLoss, Start, Step
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_ALL = ("broker-1", "broker-2", "broker-3")

SCENARIO = Scenario(
    name="power-loss-of-all",
    title="The power fails in the whole rack: acks=all was in three page caches",
    why=(
        "acks=all says that every in-sync replica has written a record, to its page cache. Kafka leaves flushing"
        " to the operating system. When all replicas lose power at once, what none had flushed is gone, and"
        " nothing notices. Replicas in racks with separate power, or flush.messages=1 at its price, are what"
        " helps."
    ),
    source="Kafka's documentation, application against OS flush management",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup("producer", sends("t-0", "m1", "m2", "m3", start=SECOND), {"acks": -1, "linger.ms": 0}),
        ),
        racks=("r1",),
        settings={UNCLEAN: False, MIN_ISR: 2},
        duration=90 * SECOND,
    ),
    plan=(Step(At(10 * SECOND), PowerLoss(_ALL)), *(Step(At(40 * SECOND), Start(name)) for name in _ALL)),
    cases=(
        Case("0.8.2", {"acknowledged": 3, "lost": ("m1", "m2", "m3")}),
        Case("0.8.2", {"acknowledged": 3, "lost": ()}, {"flush.messages": 1}),
    ),
)
