"""Lag of missing replicas, the rate at which they catch up, and the time left: two readings compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum

from kreplica.model.snapshot import LogPosition


class Pace(Enum):
    """Progress of a missing replica; the values are fixed names in JSON."""

    CAUGHT_UP = "caught-up"
    CATCHING_UP = "catching-up"
    FALLING_BEHIND = "falling-behind"
    NOT_MOVING = "not-moving"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class MissingCopy:
    """A missing replica that can be measured, and its leader."""

    topic: str
    partition: int
    broker: int
    leader: int


@dataclass(frozen=True, slots=True)
class Progress:
    """One missing replica, measured.

    Args:
        broker: Its broker.
        leader: The leader it was compared with.
        pace: Whether it catches up.
        records_behind: Offsets between its end and the leader's, at the second reading.
        bytes_behind: The leader's size less its own. Sizes differ for other reasons, too (compaction, segments that one
            has deleted already), so that this is an estimate.
        records_per_second: What it copied, offsets a second; below zero where it truncated.
        bytes_per_second: What it copied, bytes a second.
        leader_records_per_second: What was written meanwhile.
        seconds_to_catch_up: At these rates; None where it does not come closer or is not known.
    """

    broker: int
    leader: int
    pace: Pace
    records_behind: int | None = None
    bytes_behind: int | None = None
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    leader_records_per_second: float | None = None
    seconds_to_catch_up: float | None = None

    def as_row(self) -> dict[str, object]:
        """The form of the ``measured`` field; rates to one decimal."""
        row = asdict(self) | {"pace": self.pace.value}
        return {name: round(value, 1) if isinstance(value, float) else value for name, value in row.items()}


def compare(
    copies: Sequence[MissingCopy], first: Iterable[LogPosition], second: Iterable[LogPosition]
) -> list[Progress]:
    """Progress of each copy between two readings.

    Args:
        copies: The missing replicas.
        first, second: Positions of these copies and of their leaders' copies, in any order.
    """
    before, after = _by_place(first), _by_place(second)
    return [_progress(copy, before, after) for copy in copies]


Places = Mapping[tuple[str, int, int], LogPosition]


def _by_place(positions: Iterable[LogPosition]) -> Places:
    return {(one.topic, one.partition, one.broker): one for one in positions}


def _progress(copy: MissingCopy, before: Places, after: Places) -> Progress:
    own, led = (copy.topic, copy.partition, copy.broker), (copy.topic, copy.partition, copy.leader)
    follower, leader = after.get(own), after.get(led)
    rates = _rate(before.get(own), follower, "end_offset")
    written = _rate(before.get(led), leader, "end_offset")
    records = _difference(leader, follower, "end_offset")
    return Progress(
        copy.broker,
        copy.leader,
        _pace(records, rates, written),
        records,
        _difference(leader, follower, "size"),
        rates,
        _rate(before.get(own), follower, "size"),
        written,
        _seconds_left(records, rates, written),
    )


def _difference(leader: LogPosition | None, follower: LogPosition | None, name: str) -> int | None:
    more, less = getattr(leader, name, None), getattr(follower, name, None)
    return None if more is None or less is None else max(0, more - less)


def _rate(before: LogPosition | None, after: LogPosition | None, name: str) -> float | None:
    old, new = getattr(before, name, None), getattr(after, name, None)
    if before is None or after is None or old is None or new is None or after.seconds <= before.seconds:
        return None
    rate: float = (new - old) / (after.seconds - before.seconds)
    return rate


def _pace(records: int | None, rate: float | None, written: float | None) -> Pace:
    if records is None or rate is None or written is None:
        return Pace.UNKNOWN
    if records == 0:
        return Pace.CAUGHT_UP
    if rate <= 0:
        return Pace.NOT_MOVING
    return Pace.CATCHING_UP if rate > written else Pace.FALLING_BEHIND


def _seconds_left(records: int | None, rate: float | None, written: float | None) -> float | None:
    if records is None or rate is None or written is None:
        return None
    if records == 0:
        return 0.0
    return records / (rate - written) if rate > max(0.0, written) else None
