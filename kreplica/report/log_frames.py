"""Frames: the logs of a partition's replicas at the steps that matter, with log end offsets and high watermarks.

Books draw lost records in this form: one picture of all logs for each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kreplica.engine.checkers.history_of_logs import ReplicaLog, ReplicaLogs
from kreplica.engine.trace import LEADER, Event, Kind
from kreplica.report.log_strips import Piece, pieces_of
from kreplica.report.loss_marks import Mark
from kreplica.report.moments import Moment, brief_moment

MOST_FRAMES = 14
"""Frames of one picture."""

_WEIGHTS: Mapping[str, int] = {
    Kind.TRUNCATED: 50,
    Kind.DISK_LOST: 50,
    Kind.BECAME_LEADER: 45,
    Kind.CRASHED: 45,
    Kind.STOPPED: 45,
    Kind.RECOVERED: 25,
    Kind.LOG_START: 20,
    Kind.APPENDED: 10,
    Kind.HIGH_WATERMARK: 8,
    Kind.FOLLOWER_POSITION: 2,
}
"""Weights of a step's effects on the logs: of too many steps the heaviest are drawn."""

_OF_A_PROCESS = frozenset((Kind.CRASHED, Kind.STOPPED, Kind.DISK_LOST))
_AT_FOLLOWER, _COMMITTED, _AT_LEADER, _MARKED, _LOSS = 35, 36, 48, 60, 200
"""Weights of steps of records that matter: copied, committed, appended; cut, and lost."""


@dataclass(frozen=True, slots=True)
class FrameLog:
    """One replica's log in a frame.

    Args:
        node: Whose.
        leader_epoch: In which it leads, -1 where it does not.
        running: Whether its process runs.
        pieces: Its records by leader epoch.
        end_offset: Its log end offset.
        high_watermark: None while its process is down.
        remote: What it knows of its followers' log end offsets, while it leads.
        gone: Records that this step took from it.
    """

    node: str
    leader_epoch: int
    running: bool
    pieces: tuple[Piece, ...]
    end_offset: int
    high_watermark: int | None
    remote: tuple[tuple[int, int], ...]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """All logs of a partition after one step.

    Args:
        time: In microseconds.
        words: What happened, in a few words.
        marks: Its effects on records that matter.
        loss: Whether a record is lost here.
        left_out: Number of steps since the previous frame that are not drawn.
        logs: By node.
    """

    time: int
    words: str
    marks: tuple[str, ...]
    loss: bool
    left_out: int
    logs: tuple[FrameLog, ...]


def log_frames(
    moments: Sequence[Moment], partition: str, marks: Mapping[int, Mark], first: int = 0, last: int | None = None
) -> tuple[Frame, ...]:
    """The frames of one partition.

    Args:
        moments: Every moment of the run.
        partition: As ``topic-0``.
        marks: By the identity of an event.
        first, last: Steps outside of these times are not drawn, in microseconds.
    """
    nodes = _nodes(moments, partition)
    steps = [moment for moment in moments if any(_concerns(event, partition, nodes) for event in moment.events)]
    shown = [step for step in steps if first <= step.time and (last is None or step.time <= last)]
    scales = _Scales(partition, nodes, marks, _ends(moments, partition, marks))
    chosen = _heaviest(shown, scales)
    return tuple(_frames(moments, scales, {id(step) for step in shown}, chosen))


@dataclass(frozen=True, slots=True)
class _Scales:
    """Data by which steps are weighed.

    Args:
        partition: Whose logs are drawn.
        nodes: Nodes with a replica of it.
        marks: By the identity of an event.
        ends: The log end offsets after records that matter.
    """

    partition: str
    nodes: frozenset[str]
    marks: Mapping[int, Mark]
    ends: frozenset[int]

    def concerns(self, event: Event) -> bool:
        """True if an event is about a log of the partition."""
        return _concerns(event, self.partition, self.nodes)

    def weight(self, step: Moment) -> int:
        """The heaviest of its events."""
        return max((self._weight(event) for event in step.events if self.concerns(event)), default=0)

    def _weight(self, event: Event) -> int:
        mark = self.marks.get(id(event))
        if mark is not None:
            return _LOSS if mark.loss else _MARKED
        if event.kind == Kind.APPENDED and event.values[2] in self.ends:
            return _AT_LEADER if event.values[4] == LEADER else _AT_FOLLOWER
        committed = event.kind == Kind.HIGH_WATERMARK and event.values[1] in self.ends and event.values[2] == LEADER
        return _COMMITTED if committed else _WEIGHTS[event.kind]


def _nodes(moments: Sequence[Moment], partition: str) -> frozenset[str]:
    """The brokers that have a replica."""
    return frozenset(
        event.node
        for moment in moments
        for event in moment.events
        if event.kind in _WEIGHTS and event.values and event.values[0] == partition
    )


def _ends(moments: Sequence[Moment], partition: str, marks: Mapping[int, Mark]) -> frozenset[int]:
    matter = frozenset(value for mark in marks.values() if mark.partition == partition for value in mark.values)
    return frozenset(
        event.values[2]
        for moment in moments
        for event in moment.events
        if event.kind == Kind.APPENDED
        and event.values[0] == partition
        and any(str(record.value) in matter for record in event.values[3])
    )


def _concerns(event: Event, partition: str, nodes: frozenset[str]) -> bool:
    if event.kind in _OF_A_PROCESS:
        return event.node in nodes
    return event.kind in _WEIGHTS and bool(event.values[0] == partition)


def _heaviest(steps: Sequence[Moment], scales: _Scales) -> frozenset[int]:
    """The identities of the steps that are drawn: all of a few, otherwise the heaviest and the last."""
    weighty = [step for step in steps if scales.weight(step) > _WEIGHTS[Kind.FOLLOWER_POSITION]]
    pool = steps if len(steps) <= MOST_FRAMES else weighty
    weighed = sorted(pool[:-1], key=lambda step: -scales.weight(step))
    return frozenset(id(step) for step in (*weighed[: MOST_FRAMES - 1], *pool[-1:]))


def _frames(moments: Sequence[Moment], scales: _Scales, shown: set[int], chosen: frozenset[int]) -> Iterator[Frame]:
    logs, left_out = ReplicaLogs(), 0
    for moment in moments:
        before = _held(logs, scales.partition) if id(moment) in chosen else {}
        for event in moment.events:
            logs(event)
        if id(moment) in chosen:
            yield _frame(moment, logs, scales, before, left_out)
            left_out = 0
        elif id(moment) in shown:
            left_out += 1


def _held(logs: ReplicaLogs, partition: str) -> dict[str, tuple[tuple[int, str], ...]]:
    replicas = logs.partitions.get(partition, {})
    return {node: tuple(_placed(replica)) for node, replica in replicas.items()}


def _placed(replica: ReplicaLog) -> Iterator[tuple[int, str]]:
    return ((replica.base + place, str(record.value)) for place, record in enumerate(replica.records))


def _frame(
    moment: Moment,
    logs: ReplicaLogs,
    scales: _Scales,
    before: Mapping[str, tuple[tuple[int, str], ...]],
    left_out: int,
) -> Frame:
    partition = scales.partition
    events = tuple(event for event in moment.events if scales.concerns(event))
    cause = "" if moment.message is None else f" ({moment.message.values[2]})"
    found = [mark for event in moment.events if (mark := scales.marks.get(id(event))) is not None]
    found = [mark for mark in found if mark.partition == partition]
    learned = [f"broker-{event.values[1]} has {event.values[2]}" for event in events if len(event.values) == 3]
    words = brief_moment(Moment(moment.time, moment.node, None, events)) or f"learns that {', '.join(learned)}"
    return Frame(
        moment.time,
        f"{moment.node}{cause}: {words}",
        tuple(mark.text for mark in found),
        any(mark.loss for mark in found),
        left_out,
        tuple(
            _log(replica, logs.leader(partition) is replica, before.get(node, ()))
            for node, replica in sorted(logs.partitions.get(partition, {}).items())
        ),
    )


def _log(replica: ReplicaLog, leads: bool, before: tuple[tuple[int, str], ...]) -> FrameLog:
    kept = set(_placed(replica))
    return FrameLog(
        replica.node,
        replica.leader_epoch if leads else -1,
        replica.running,
        pieces_of(replica),
        replica.end_offset,
        replica.shown_high_watermark,
        tuple(sorted(replica.followers.items())) if leads else (),
        tuple(value for offset, value in before if (offset, value) not in kept and offset >= replica.end_offset),
    )
