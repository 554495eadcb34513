"""replica.lag.max.messages=4000 at 10 and at 20,000 records a second: useless, and a source of flapping."""

from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, Send, TopicSetup, cluster
from kreplica.scenarios.scenario import Between, Case, Scenario

_RATE = 20_000
_BURSTS = tuple(
    Send((940 + burst * 500) * MILLISECOND, f"m{burst}-{number}", "t-0")
    for burst in range(3)
    for number in range(_RATE // 2)
)

SCENARIO = Scenario(
    name="lag-max-messages",
    title="20,000 records a second: before 0.9 every burst puts the followers out of sync",
    why=(
        "Before 0.9 a follower that was more than replica.lag.max.messages behind left the ISR, 4,000 by default."
        " A burst of more than that in one go makes every follower slow for the moment it takes to fetch it; if"
        " the leader looks then, the ISR shrinks, and grows again right after. At ten records a second the same"
        " setting would take seven minutes to notice anything. No value is right for both: 0.9 took it out"
        " (KAFKA-1546)."
    ),
    source="KIP-16; the text behind figure 8-1",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer", _BURSTS, {"acks": 1, "linger.ms": 1, "batch.records": 5_000, "enable.idempotence": False}
            ),
        ),
        settings={"latency.us": 40_000, "replica.lag.time.max.ms": 1_000},
        duration=4 * SECOND,
    ),
    plan=(),
    cases=(Case("0.8.1", {"isr_changes": Between(2)}), Case("0.9", {"isr_changes": 0})),
)
