"""A follower that falls behind again and again goes in and out of the ISR; nothing is lost by it."""

from kreplica.engine.fault_plan import At, Pause, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Case, Scenario

SCENARIO = Scenario(
    name="isr-flap",
    title="Three long pauses, three times out of the ISR and back",
    why=(
        "Each pause is longer than 1.5 times replica.lag.time.max.ms, so each takes the follower out of the ISR,"
        " and each time it comes back as soon as it has caught up. The ISR changes six times; no record is lost,"
        " but each shrink is a wait for every acks=all producer, and in between one broker less holds what is"
        " acknowledged."
    ),
    source="KIP-16",
    notes=(
        "It is often said that the periodic task brings replicas back, once they reach the leader's log end offset. It"
        " only takes them out: a follower is back with the fetch that reaches the high watermark (since 2.1 also the"
        " offset at which the leader's epoch began)."
    ),
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", *(f"m{number}" for number in range(400)), start=SECOND, every=250 * MILLISECOND),
                {"acks": -1, "linger.ms": 0, "request.timeout.ms": 60_000, "delivery.timeout.ms": 240_000},
            ),
        ),
        settings={
            "replica.lag.time.max.ms": 6_000,
            "broker.session.timeout.ms": 60_000,
            "zookeeper.session.timeout.ms": 60_000,
        },
        duration=120 * SECOND,
    ),
    plan=tuple(Step(At(start * SECOND), Pause("broker-2", 15 * SECOND)) for start in (10, 40, 70)),
    cases=(Case("0.9", {"isr_changes": 6, "lost": 0, "diverged": 0}),),
)
