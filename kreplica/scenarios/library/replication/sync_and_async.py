"""A producer that waits for each acknowledgement against one that does not: what a hundred records take."""

from collections.abc import Callable, Sequence

from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind
from kreplica.scenarios.scenario import Between, Case, Scenario


def _took(node: str) -> Callable[[Sequence[Event]], float]:
    def milliseconds(events: Sequence[Event]) -> float:
        return (max(e.time for e in events if e.kind == Kind.ACKNOWLEDGED and e.node == node) - SECOND) / MILLISECOND

    return milliseconds


SCENARIO = Scenario(
    name="sync-and-async",
    title="send().get() a hundred times against send() with a callback",
    why=(
        "Whoever waits for each acknowledgement sends one record a round trip, replication included. Whoever goes"
        " on and hears of the outcome by a callback has five requests on their way, and many records in each. Both"
        " are told of every error; only fire and forget is not (see acks0-blackhole)."
    ),
    source="chapter 2.1.2, three ways to send: fire and forget, synchronous, asynchronous",
    setup=cluster(
        3,
        TopicSetup("sync", ((1, 2, 3),)),
        TopicSetup("async", ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "sync",
                sends("sync-0", *map(str, range(100)), start=SECOND, every=0),
                {"acks": -1, "linger.ms": 0},
                sync=True,
            ),
            ProducerSetup(
                "async",
                sends("async-0", *(f"a{n}" for n in range(100)), start=SECOND, every=0),
                {"acks": -1, "linger.ms": 0},
            ),
        ),
        settings={"latency.us": 500},
        duration=10 * SECOND,
    ),
    plan=(),
    # a round trip of 1 ms and, for the followers, another and a half: 2.0 ms a record for who waits
    cases=(Case("0.11", {"acknowledged": 200, "sync_ms": Between(195, 300), "async_ms": Between(2, 60)}),),
    probes={"sync_ms": _took("sync"), "async_ms": _took("async")},
)
