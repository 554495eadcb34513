"""One record and then nothing: a follower hears of its commit when its parked fetch ends, up to 500 ms later."""

from collections.abc import Sequence

from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Between, Case, Scenario


def _behind(events: Sequence[Event]) -> float:
    """Milliseconds from the leader's high watermark to the follower's."""
    moved = {
        fields_of(event)["role"]: event.time
        for event in events
        if event.kind == Kind.HIGH_WATERMARK and fields_of(event)["high_watermark"] == 1
    }
    return (moved["follower"] - moved["leader"]) / 1000


SCENARIO = Scenario(
    name="high-watermark-idle-lag",
    title="A follower's high watermark is up to replica.fetch.wait.max.ms old",
    why=(
        "The fetch that tells the leader that a follower has a record is parked: there is nothing to read. It is"
        " answered by the next record, or after replica.fetch.wait.max.ms; a higher high watermark does not wake"
        " it. On an idle partition a consumer of that follower therefore waits half a second longer than one of"
        " the leader. In 2.4 and 2.5 alone the leader answered at once: followers then fetched too often."
    ),
    source="KAFKA-9952; KIP-392",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(ProducerSetup("producer", sends("t-0", "m1", start=SECOND), {"acks": -1, "linger.ms": 0}),),
        duration=5 * SECOND,
    ),
    plan=(),
    cases=(
        Case("0.8.1", {"behind_ms": Between(490, 501)}),
        Case("2.4", {"behind_ms": Between(0, 1)}),
        Case("2.6", {"behind_ms": Between(490, 501)}),
        Case("0.8.1", {"behind_ms": Between(40, 51)}, {"replica.fetch.wait.max.ms": 50}),
        Case("2.4", {"behind_ms": Between(0, 1)}, {"replica.fetch.wait.max.ms": 50}),
        Case("2.6", {"behind_ms": Between(40, 51)}, {"replica.fetch.wait.max.ms": 50}),
    ),
    probes={"behind_ms": _behind},
)
