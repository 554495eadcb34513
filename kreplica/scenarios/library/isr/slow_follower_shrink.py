"""A follower stands still for 40 seconds: when it leaves the ISR, and what the producer feels."""

from kreplica.engine.fault_plan import At, Pause, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.scenarios.scenario import Between, Case, Scenario

_LAG = "replica.lag.time.max.ms"

SCENARIO = Scenario(
    name="slow-follower-shrink",
    title="A follower pauses for 40 s: acks=all waits for it until it is out of the ISR",
    why=(
        "A follower that does not fetch stays in the ISR until it has not been caught up for"
        " replica.lag.time.max.ms, and the leader looks every half of that: it leaves after 1 to 1.5 times the"
        " setting. Until then every acks=all request waits. A pause that is shorter costs its own length and"
        " changes no ISR."
    ),
    source="KIP-16; figure 8-1; ReplicaManager's task isr-expiration",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", *(f"m{number}" for number in range(200)), start=SECOND, every=200 * MILLISECOND),
                {"acks": -1, "linger.ms": 0, "request.timeout.ms": 120_000, "delivery.timeout.ms": 240_000},
            ),
        ),
        settings={
            _LAG: 10_000,
            "broker.session.timeout.ms": 120_000,
            "zookeeper.session.timeout.ms": 120_000,
        },
        duration=120 * SECOND,
    ),
    plan=(Step(At(10 * SECOND), Pause("broker-2", 40 * SECOND)),),
    cases=(
        Case("0.9", {"isr_changes": 2, "produce_ms_100": Between(9_500, 15_500), "lost": 0}),
        Case("0.9", {"isr_changes": 0, "produce_ms_100": Between(39_500, 40_500), "lost": 0}, {_LAG: 60_000}),
    ),
)
