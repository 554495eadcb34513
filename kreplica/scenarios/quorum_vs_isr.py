"""One slow replica: a majority would not wait for it, the ISR does."""

from collections.abc import Sequence

from kreplica.engine.faults import At, Slow, Step
from kreplica.engine.rules.quorum import copies_needed
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Between, Case, Scenario

_SLOW = 200


def _majority_ms(events: Sequence[Event]) -> float:
    """Milliseconds, at most, from a record's append at the leader until a majority had it: leader and one of two."""
    begun: dict[int, int] = {}
    longest = 0
    for event in events:
        if event.kind == Kind.APPENDED:
            fields = fields_of(event)
            if fields["role"] == "leader":
                begun[fields["end_offset"]] = event.time
            for end in [end for end in begun if fields["role"] != "leader" and end <= fields["end_offset"]]:
                longest = max(longest, event.time - begun.pop(end))
    return longest / MILLISECOND


def _copies(_events: Sequence[Event]) -> tuple[int, int]:
    return copies_needed(1, by_quorum=True), copies_needed(1, by_quorum=False)


SCENARIO = Scenario(
    name="quorum-vs-isr",
    title="Quorum 2f+1 against ISR f+1: one slow replica",
    why="""A majority of three commits with the faster of two followers and does not notice that the other is slow.
        The ISR of the same three waits for its slowest member for as long as it is in sync: each acks=all write takes
        as long as the slow replica. In return an ISR bears f failures with f+1 copies, a quorum needs 2f+1. A replica
        that falls behind for replica.lag.time.max.ms leaves the ISR; one that is merely slow stays.""",
    source="Kafka: The Definitive Guide of its design (8.2.1); kafka.apache.org/documentation, Replicated logs",
    setup=cluster(
        3,
        TopicSetup("orders", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(
            ProducerSetup(
                "writer", sends("orders-0", *(f"m{n}" for n in range(20)), start=5 * SECOND, every=SECOND), {"acks": -1}
            ),
        ),
        duration=40 * SECOND,
    ),
    plan=(Step(At(time=2 * SECOND), Slow("broker-1", "broker-3", _SLOW * MILLISECOND, 60 * SECOND)),),
    probes={"majority_ms": _majority_ms, "copies_for_one_failure": _copies},
    cases=(
        Case(
            "0.8.1",
            {
                "majority_ms": Between(0, 10),
                "produce_ms_50": Between(_SLOW),
                "isr_changes": 0,
                "copies_for_one_failure": (3, 2),
                "lost": (),
            },
        ),
        Case(
            "3.3-kraft",
            {
                "majority_ms": Between(0, 10),
                "produce_ms_50": Between(_SLOW),
                "isr_changes": 0,
                "copies_for_one_failure": (3, 2),
                "lost": (),
            },
        ),
    ),
)
