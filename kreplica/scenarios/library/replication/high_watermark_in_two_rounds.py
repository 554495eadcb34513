"""One record, leader and follower: the table of log end offsets and high watermarks over two rounds of fetch."""

from collections.abc import Sequence

from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Case, Scenario

_LEADER, _FOLLOWER = "broker-1", "broker-2"

Row = tuple[int, int, int, int, int]
"""Leader LEO, remote LEO, leader HW, follower LEO, follower HW: the columns of the table."""


def _rows(events: Sequence[Event]) -> tuple[Row, ...]:
    """Every state that the five offsets went through."""
    state = dict.fromkeys(((_LEADER, "end"), "remote", (_LEADER, "mark"), (_FOLLOWER, "end"), (_FOLLOWER, "mark")), 0)
    rows = []
    for event in events:
        values = fields_of(event)
        if event.kind == Kind.APPENDED:
            state[event.node, "end"] = values["end_offset"]
        elif event.kind == Kind.HIGH_WATERMARK:
            state[event.node, "mark"] = values["high_watermark"]
        elif event.kind == Kind.FOLLOWER_POSITION:
            state["remote"] = values["end_offset"]
        rows.append(tuple(state.values()))
    return tuple(dict.fromkeys(rows))  # type: ignore[arg-type]


def _as_in_the_post(events: Sequence[Event]) -> tuple[Row, ...]:
    """The rows of the post, as far as the run went through them in their order."""
    rows = iter(_rows(events))
    return tuple(row for row in _POST if row in rows)


_POST: tuple[Row, ...] = (
    (0, 0, 0, 0, 0),
    (1, 0, 0, 0, 0),  # PRODUCE is done
    (1, 0, 0, 1, 0),  # the first FETCH is done
    (1, 1, 1, 1, 1),  # the second FETCH is done
)

SCENARIO = Scenario(
    name="high-watermark-in-two-rounds",
    title="Leader LEO, remote LEO, leader HW, follower LEO, follower HW, step by step",
    why=(
        "A record is at the leader; the first fetch brings it to the follower, and tells the leader nothing new:"
        " it asked from offset 0. The second asks from 1: the leader now knows that the follower has the record,"
        " and its high watermark is 1. There is nothing to read, so that fetch is parked, and its answer carries"
        " the new high watermark."
    ),
    source="the post on high watermark and log end offset, 6.1 to 6.3 and their tables",
    setup=cluster(
        2,
        TopicSetup("t", ((1, 2),)),
        clients=(
            ProducerSetup("producer", sends("t-0", "m1", start=SECOND), {"acks": 1, "enable.idempotence": False}),
        ),
        duration=3 * SECOND,
    ),
    plan=(),
    cases=(Case("0.8.1", {"rows": _POST, "committed": 1}),),
    probes={
        "rows": _as_in_the_post,
        "committed": lambda events: max(row[2] for row in _rows(events)),
    },
)
