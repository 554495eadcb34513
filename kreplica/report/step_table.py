"""The step table: how log end offsets and high watermarks of leader and followers move, step by step.

The form in which the replication of a partition is usually taught: leader LEO, remote LEO (what the leader knows of a
follower), leader HW, follower LEO, follower HW.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.trace import Event, Kind
from kreplica.report.moments import Moment, brief_moment, moments

_MOVES = frozenset(
    (
        Kind.APPENDED,
        Kind.TRUNCATED,
        Kind.HIGH_WATERMARK,
        Kind.FOLLOWER_POSITION,
        Kind.RECOVERED,
        Kind.BECAME_LEADER,
        Kind.DISK_LOST,
        Kind.CRASHED,
        Kind.STOPPED,
    )
)


@dataclass(frozen=True, slots=True)
class Step:
    """The offsets of one partition after something moved them.

    Args:
        time: In microseconds.
        node: Node where it moved.
        what: Description in a few words.
        leader: Node of the leader; empty when there is none, and its offsets are then None.
        leader_leo: The leader's log end offset.
        remote_leo: Each follower's offset as the leader knows it, by node; None before the follower's first fetch.
        leader_hw: The leader's high watermark.
        follower_leo: Each follower's log end offset, by node.
        follower_hw: Each follower's high watermark, by node; None while its process is down.
    """

    time: int
    node: str
    what: str
    leader: str
    leader_leo: int | None
    remote_leo: dict[str, int | None]
    leader_hw: int | None
    follower_leo: dict[str, int]
    follower_hw: dict[str, int | None]

    def offsets(self) -> tuple[object, ...]:
        """Everything that can move."""
        return (
            self.leader,
            self.leader_leo,
            *self.remote_leo.values(),
            self.leader_hw,
            *self.follower_leo.values(),
            *self.follower_hw.values(),
        )


def step_table(events: Iterable[Event], partition: str) -> tuple[Step, ...]:
    """Every step at which an offset of a partition moved.

    Args:
        events: A whole trace.
        partition: As ``topic-0``.
    """
    logs = ReplicaLogs()
    steps: list[Step] = []
    for moment in moments(events, quiet=frozenset()):
        for event in moment.events:
            logs(event)
        if any(_concerns(event, partition) for event in moment.events):
            step = _step(logs, moment, partition)
            if not steps or steps[-1].offsets() != step.offsets():
                steps.append(step)
    return tuple(steps)


def _concerns(event: Event, partition: str) -> bool:
    if event.kind in (Kind.CRASHED, Kind.STOPPED, Kind.DISK_LOST):
        return True
    return event.kind in _MOVES and event.values[0] == partition


def _step(logs: ReplicaLogs, moment: Moment, partition: str) -> Step:
    leader, followers = logs.leader(partition), logs.followers(partition)
    return Step(
        time=moment.time,
        node=moment.node,
        what=_what(moment, partition),
        leader="" if leader is None else leader.node,
        leader_leo=None if leader is None else leader.end_offset,
        remote_leo={
            name: None if leader is None else leader.followers.get(int(name.rpartition("-")[2])) for name in followers
        },
        leader_hw=None if leader is None else leader.high_watermark,
        follower_leo={name: each.end_offset for name, each in followers.items()},
        follower_hw={name: each.shown_high_watermark for name, each in followers.items()},
    )


def _what(moment: Moment, partition: str) -> str:
    events = tuple(event for event in moment.events if _concerns(event, partition))
    told = brief_moment(Moment(moment.time, moment.node, None, events))
    cause = "" if moment.message is None else str(moment.message.values[2])
    return "; ".join(part for part in (cause, told) if part)
