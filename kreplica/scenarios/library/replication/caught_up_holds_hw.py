"""A follower outside the ISR that has caught up holds the high watermark back. KAFKA-4485."""

from collections.abc import Sequence
from itertools import pairwise

from kreplica.engine.fault_plan import At, Cut, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Between, Case, Scenario

_BACK = 30 * SECOND


def _held_ms(events: Sequence[Event]) -> float:
    """The longest time for which the leader's high watermark stood still after the follower came back."""
    moves = [
        event.time
        for event in events
        if event.kind == Kind.HIGH_WATERMARK and event.time > _BACK and fields_of(event)["role"] == "leader"
    ]
    return max(later - earlier for earlier, later in pairwise(moves)) / 1000


SCENARIO = Scenario(
    name="caught-up-holds-hw",
    title="The ISR is the leader alone, and its high watermark waits for a follower all the same",
    why=(
        "The follower is out of the ISR and comes back while the leader is written to all the time. It has to reach"
        " the high watermark to join, which with the leader alone in the ISR is the leader's end, and that is never"
        " where the follower's last fetch ended. So since 0.10.2 a leader counts a follower that has what there was at"
        " its fetch before as caught up, and its high watermark waits for it: one more fetch, and it is in. Here its"
        " link is cut before that fetch: nothing is committed for replica.lag.time.max.ms, although the ISR is the"
        " leader alone. Before, nothing waited, and such a follower did not get into the ISR before the writes paused."
    ),
    source="KAFKA-4485; Partition.maybeIncrementLeaderHW",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", "first", start=4 * SECOND),
                    *sends("t-0", *map(str, range(1800)), start=27 * SECOND, every=10 * MILLISECOND),
                ),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            ),
        ),
        settings={
            "latency.us": 20_000,
            "replica.lag.time.max.ms": 10_000,
            "replica.socket.timeout.ms": 1_000,
            "replica.fetch.backoff.ms": 100,
            "broker.session.timeout.ms": 90_000,
            "zookeeper.session.timeout.ms": 90_000,
        },
        duration=45 * SECOND,
    ),
    plan=(
        Step(At(3 * SECOND), Cut("broker-2", "broker-1", _BACK - 3 * SECOND)),
        Step(
            When(Kind.FOLLOWER_POSITION, "broker-1", {"follower": 2}, count=2),
            Cut("broker-2", "broker-1", 60 * SECOND),
        ),
    ),
    cases=(
        Case("0.9", {"held_ms": Between(0, 100), "isr_changes": 1}),
        Case("0.10.2", {"held_ms": Between(9_900, 10_100), "isr_changes": 1}),
    ),
    probes={"held_ms": _held_ms},
    notes="Since 3.6 it waits only for a follower that could join: one that is fenced or shutting down holds nothing.",
)
