"""Followers that pause for 20, 31 and 46 seconds: those that a check of the leader finds leave the ISR."""

from collections.abc import Sequence

from kreplica.engine.fault_plan import At, Pause, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario

_PAUSES = {2: (29_500, 20), 3: (29_500, 31), 4: (40_000, 31), 5: (40_000, 46)}
"""By broker: when it stands still, in milliseconds, and for how many seconds."""


def _left(events: Sequence[Event]) -> tuple[str, ...]:
    """Partitions whose ISR got smaller, and how many seconds after their follower stood still."""
    found = []
    for event in events:
        fields = fields_of(event)
        if event.kind == Kind.PARTITION_CHANGED and event.time > 0 and fields["isr"] == (1,):
            follower = int(fields["partition"].removeprefix("t-")) + 2
            found.append(f"{fields['partition']} {(event.time // 1000 - _PAUSES[follower][0]) // 1000} s")
    return tuple(found)


SCENARIO = Scenario(
    name="pauses-20-31-46",
    title="replica.lag.time.max.ms of 30 s: a pause of 20 s is nothing, of 46 s too long, of 31 s luck",
    why=(
        "The leader looks for failed followers every half of replica.lag.time.max.ms, here at 15, 30, 45, 60 and 75 s,"
        " and takes out who had not caught up for 30 s at that moment. A pause shorter than the setting costs nothing"
        " but its own length, one longer than one and a half times the setting always ends in a smaller ISR. In"
        " between it depends on the phase: of two followers that stand still for 31 s the one that began just before"
        " a look is found 30.5 s later, the other one is back before the look that would have found it."
    ),
    source="KIP-16, KAFKA-4485; ReplicaManager's task isr-expiration",
    setup=cluster(
        5,
        TopicSetup("t", ((1, 2), (1, 3), (1, 4), (1, 5))),
        clients=tuple(
            ProducerSetup(
                f"producer-{number}",
                sends(f"t-{number}", *(f"{number}.{count}" for count in range(90)), start=SECOND, every=SECOND),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            )
            for number in range(4)
        ),
        settings={
            "replica.lag.time.max.ms": 30_000,
            "broker.session.timeout.ms": 120_000,
            "zookeeper.session.timeout.ms": 120_000,
        },
        duration=100 * SECOND,
    ),
    plan=tuple(
        Step(At(start * MILLISECOND), Pause(f"broker-{broker}", pause * SECOND))
        for broker, (start, pause) in _PAUSES.items()
    ),
    cases=(
        Case("0.9", {"left": ("t-1 30 s",), "lost": ()}),
        Case("0.10.2", {"left": ("t-1 30 s", "t-3 35 s"), "lost": ()}),
    ),
    probes={"left": _left},
    notes=(
        "Up to 0.10.1 the leader looked once in replica.lag.time.max.ms, at 30, 60 and 90 s: a pause could be nearly"
        " twice as long without being found, as the one of 46 s here."
    ),
)
