"""Two records, one fetch apart: which high watermark comes with the second one. Table 7.1 of the post."""

from collections.abc import Sequence

from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario


def _follower(events: Sequence[Event]) -> tuple[int, int]:
    """The follower's log end offset and high watermark when it has taken the second record."""
    place = next(
        i for i, e in enumerate(events) if e.kind == Kind.APPENDED and e.node == "broker-2" and e.values[2] == 2
    )
    moved = [e for e in events[: place + 2] if e.kind == Kind.HIGH_WATERMARK and e.node == "broker-2"]
    return 2, int(fields_of(moved[-1])["high_watermark"]) if moved else 0


SCENARIO = Scenario(
    name="data-carrying-fetch",
    title="The second fetch brings m2: with m1's commit (0.8.1) or without it (from 0.8.2)",
    why=(
        "m2 is written before the follower's second fetch arrives, so that this fetch is answered at once. The"
        " table of the post has the follower's high watermark at 1 then. That is how 0.8.1 does it. From 0.8.2 on"
        " the answer carries the high watermark from before the fetch, 0: one more fetch during which a follower"
        " that restarts would cut m1 too."
    ),
    source="the post on high watermark and log end offset, 7.1 and its table, stage 2",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup(
                "producer",
                sends("t-0", "m1", "m2", start=SECOND, every=700),
                {"acks": 1, "linger.ms": 0, "enable.idempotence": False},
            ),
        ),
        duration=3 * SECOND,
    ),
    plan=(),
    cases=(Case("0.8.1", {"follower": (2, 1)}), Case("0.8.2", {"follower": (2, 0)})),
    probes={"follower": _follower},
)
