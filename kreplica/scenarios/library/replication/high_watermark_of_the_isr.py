"""LEOs 9, 7 and 6: the high watermark is 6, and 7 once the third replica is out of the ISR. Figure 8-2."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import At, Cut, Step, When
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario


def high_watermarks(events: Sequence[Event]) -> tuple[int, ...]:
    """The leader's, as it moved."""
    moves = (fields_of(e) for e in events if e.kind == Kind.HIGH_WATERMARK)
    return tuple(move["high_watermark"] for move in moves if move["role"] == "leader")


SCENARIO = Scenario(
    name="high-watermark-of-the-isr",
    title="The slowest in-sync replica is where the high watermark stands",
    why=(
        "The leader's log ends at 9, one follower's at 7, the other's at 6. While all three are in sync the high"
        " watermark is 6; once the slowest has left the ISR it is 7. Who leaves the ISR moves it, with no record"
        " written."
    ),
    source="figure 8-2",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", *map(str, range(6)), start=SECOND, every=0),
                    *sends("t-0", "6", start=2 * SECOND),
                    *sends("t-0", "7", "8", start=12 * SECOND, every=0),
                ),
                {"acks": 1, "linger.ms": 1, "batch.records": 6, "enable.idempotence": False},
            ),
        ),
        settings={
            "replica.lag.time.max.ms": 10_000,
            "broker.session.timeout.ms": 90_000,
            "zookeeper.session.timeout.ms": 90_000,
        },
        duration=22 * SECOND,
    ),
    plan=(
        Step(
            When(Kind.FOLLOWER_POSITION, "broker-1", {"follower": 3, "end_offset": 6}),
            Cut("broker-3", "broker-1", 60 * SECOND),
        ),
        Step(At(11_900 * MILLISECOND), Cut("broker-2", "broker-1", 60 * SECOND)),
    ),
    cases=(Case("0.9", {"high_watermarks": (6, 7)}),),
    probes={"high_watermarks": high_watermarks},
)
