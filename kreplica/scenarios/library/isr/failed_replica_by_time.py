"""Two followers, one of which has not caught up for longer than replica.lag.time.max.ms. Figure 8-1."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import At, Pause, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario


def _isr(events: Sequence[Event]) -> tuple[int, ...]:
    """The ISR as it was last set."""
    return tuple(next(fields_of(e)["isr"] for e in reversed(events) if e.kind == Kind.PARTITION_CHANGED))


SCENARIO = Scenario(
    name="failed-replica-by-time",
    title="Follower 2 stands still: after replica.lag.time.max.ms the ISR is leader and follower 1",
    why=(
        "Whoever fetches from the leader's end has caught up at that moment; whoever has not for longer than"
        " replica.lag.time.max.ms has failed. It is not enough to fetch: a follower that keeps fetching and never"
        " reaches the end fails too."
    ),
    source="figure 8-1; KIP-16",
    setup=cluster(
        3,
        TopicSetup("t", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", *(str(number) for number in range(8)), start=SECOND, every=500 * MILLISECOND),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            ),
        ),
        settings={
            "replica.lag.time.max.ms": 10_000,
            "broker.session.timeout.ms": 90_000,
            "zookeeper.session.timeout.ms": 90_000,
        },
        duration=30 * SECOND,
    ),
    plan=(Step(At(2 * SECOND), Pause("broker-3", 60 * SECOND)),),
    cases=(Case("0.9", {"isr": (1, 2), "isr_changes": 1}),),
    probes={"isr": _isr},
)
