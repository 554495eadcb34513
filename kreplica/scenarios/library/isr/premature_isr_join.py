"""A new leader with a stale high watermark lets a follower in that lacks committed records. KAFKA-7128."""

from kreplica.engine.fault_plan import At, Crash, Cut, Slow, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="premature-isr-join",
    title="A follower joins the ISR at a stale high watermark, leads, and cuts committed records",
    why=(
        "A new leader's high watermark is as old as its last fetch from the leader before. Until its own"
        " followers have fetched it stays there, and a follower joins the ISR as soon as it has reached it: here"
        " broker 3, which lacks m5 and m6 although they are committed. If the new leader then dies, broker 3 may"
        " be elected, and cuts them off everywhere. Since 2.0.1 a follower has to have the log up to the offset at"
        " which the leader's epoch began."
    ),
    source="KAFKA-7128 (2.0.1 and 2.1)",
    setup=cluster(
        4,
        TopicSetup("t", ((1, 2, 3, 4),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", "m1", "m2", "m3", start=SECOND),
                    *sends("t-0", "m4", start=40 * SECOND),
                    *sends("t-0", "m5", "m6", start=80 * SECOND, every=0),
                ),
                {"acks": -1, "linger.ms": 0},
            ),
        ),
        settings={UNCLEAN: False, "replica.lag.time.max.ms": 20_000},
        duration=150 * SECOND,
    ),
    plan=(
        # broker 3 stops at m4: out of the ISR, and not far behind
        Step(
            When(Kind.FOLLOWER_POSITION, "broker-1", {"follower": 3, "end_offset": 4}),
            Cut("broker-3", "broker-1", 200 * SECOND),
        ),
        # what broker 2 and 4 fetch next, and with it the new high watermark, does not arrive before broker 1 dies
        Step(When(Kind.HIGH_WATERMARK, "broker-1", {"high_watermark": 6, "role": "leader"}), Crash("broker-1")),
        # broker 4's first fetch from the new leader is slow
        Step(At(75 * SECOND), Slow("broker-4", "broker-2", 20 * SECOND, 100 * SECOND, one_way=True)),
        # broker 3's first fetch is not, but what it is answered comes too late
        Step(
            When(Kind.MESSAGE, "broker-3", {"source": "broker-2", "name": "OffsetForLeaderEpoch answer"}),
            Slow("broker-2", "broker-3", 20 * SECOND, 100 * SECOND, one_way=True),
        ),
        # broker 2 dies before it looks, every 10 s, and takes broker 3 out again: it never was at the end of the log
        Step(When(Kind.BECAME_LEADER, "broker-2", after=2 * SECOND), Crash("broker-2")),
    ),
    cases=(
        Case("2.0", {"lost": ("m5", "m6"), "committed_lost": ("t-0",)}),
        Case("2.0.1", {"lost": (), "committed_lost": ()}),
    ),
)
