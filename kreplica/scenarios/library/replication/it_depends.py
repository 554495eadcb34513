"""Leader 10, followers 6 and 3: where the high watermark is depends on who is in the ISR."""

from kreplica.engine.fault_plan import At, Cut, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.scenarios.library.replication.high_watermark_of_the_isr import high_watermarks
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="it-depends",
    title="LEOs 10, 6 and 3: the high watermark is 3, 6 or 10",
    why=(
        "Ten records at the leader, six at one follower, three at the other: how many are committed cannot be"
        " told from that. With both followers in the ISR it is 3, with the faster one alone 6, with neither 10."
        " The run goes through all three as the followers leave the ISR one after the other."
    ),
    source="the exercise behind the course's lesson on replicas: it depends",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", *map(str, range(3)), start=SECOND, every=0),
                    *sends("t-0", *map(str, range(3, 6)), start=2 * SECOND, every=0),
                    *sends("t-0", *map(str, range(6, 10)), start=12 * SECOND, every=0),
                ),
                {"acks": 1, "linger.ms": 1, "enable.idempotence": False},
            ),
        ),
        settings={
            "replica.lag.time.max.ms": 10_000,
            "broker.session.timeout.ms": 90_000,
            "zookeeper.session.timeout.ms": 90_000,
        },
        duration=40 * SECOND,
    ),
    plan=(
        Step(
            When(Kind.FOLLOWER_POSITION, "broker-1", {"follower": 3, "end_offset": 3}),
            Cut("broker-3", "broker-1", 60 * SECOND),
        ),
        Step(At(11_900 * MILLISECOND), Cut("broker-2", "broker-1", 60 * SECOND)),
    ),
    cases=(Case("0.9", {"high_watermarks": (3, 6, 10)}),),
    probes={"high_watermarks": high_watermarks},
)
