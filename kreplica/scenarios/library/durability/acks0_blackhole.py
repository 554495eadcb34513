"""acks=0: a broker that does not lead discards the record, and the producer does not learn of it."""

from kreplica.engine.fault_plan import At, Crash, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Between, Case, Scenario

SCENARIO = Scenario(
    name="acks0-blackhole",
    title="Fire and forget: what is sent to a dead leader is gone, and counts as sent",
    why=(
        "With acks=0 a producer takes a record for delivered when it has handed it to the network: no answer, no"
        " error, no retry, whatever retries is set to. The leader dies in the middle of a hundred records; all"
        " those until the producer hears of a new leader are lost, and every one of them was reported as sent."
    ),
    source="KafkaProducer's documentation of acks; figure of the three ways to send, fire and forget",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", *(f"m{number}" for number in range(100)), start=SECOND, every=100 * MILLISECOND),
                {"acks": 0, "linger.ms": 0},
            ),
        ),
        duration=60 * SECOND,
    ),
    plan=(Step(At(5 * SECOND), Crash("broker-1")),),
    cases=(
        Case("0.10", {"lost": Between(20), "acknowledged": 100, "count:retried": 0}),
        Case("0.10", {"lost": 0, "acknowledged": 100}, {"acks": -1, "retries": 1000}),
    ),
)
