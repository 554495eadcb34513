"""The four occasions on which a leader checks its high watermark: election, ISR, produce, fetch."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import At, Crash, Cut, Step, When
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.model.settings import UNCLEAN
from kreplica.scenarios.scenario import Case, Scenario

_OCCASIONS = {Kind.FOLLOWER_POSITION: "fetch", Kind.APPENDED: "produce", Kind.BECAME_LEADER: "election"}


def _occasions(events: Sequence[Event]) -> tuple[str, ...]:
    """The last action of each leader before its high watermark moved."""
    last: dict[str, str] = {}
    found = []
    for event in events:
        if event.kind == Kind.HIGH_WATERMARK and fields_of(event)["role"] == "leader":
            found.append(_OCCASIONS.get(last[event.node], "isr"))  # type: ignore[call-overload]
        last[event.node] = event.kind
    return tuple(found)


SCENARIO = Scenario(
    name="four-occasions",
    title="A fetch, a smaller ISR, a produce request, an election: each moves a high watermark",
    why=(
        "A leader looks whether its high watermark may move when a follower's fetch tells a new position, when a"
        " replica leaves the ISR, when it appends, and when it becomes the leader. m1 is committed by a fetch; m2"
        " when the follower that lacks it leaves the ISR; m3 as it is appended, with the leader alone in the ISR;"
        " and the next leader, alone too, commits m4 by being elected."
    ),
    source="the post on high watermark and log end offset, 5: when a leader updates its high watermark",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                (
                    *sends("t-0", "m1", start=SECOND),
                    *sends("t-0", "m2", start=5 * SECOND),
                    *sends("t-0", "m3", start=40 * SECOND),
                    *sends("t-0", "m4", start=80 * SECOND),
                ),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            ),
        ),
        settings={"replica.lag.time.max.ms": 10_000, UNCLEAN: False},
        duration=120 * SECOND,
    ),
    plan=(
        Step(At(4 * SECOND), Cut("broker-2", "broker-1", 46 * SECOND)),
        Step(When(Kind.FOLLOWER_POSITION, "broker-1", {"end_offset": 4}), Crash("broker-1")),
    ),
    cases=(
        Case("0.9", {"occasions": ("fetch", "isr", "produce", "fetch", "election")}),
        Case("2.4", {"occasions": ("fetch", "isr", "produce", "fetch")}),
        Case("2.6", {"occasions": ("fetch", "isr", "produce", "fetch", "election")}),
        Case("3.3-kraft", {"occasions": ("fetch", "election", "produce", "fetch", "election")}),
        Case("3.6-kraft", {"occasions": ("fetch", "isr", "produce", "fetch", "election")}),
    ),
    notes=(
        "In 2.4 and 2.5 a follower heard of a higher high watermark at once (KAFKA-9952): nothing is left to commit"
        " for the next leader. In KRaft mode before 3.6 a smaller ISR began a new leader epoch (KAFKA-15021): what"
        " moves the high watermark then is the leader's election to it."
    ),
    probes={"occasions": _occasions},
)
