"""Two readings compared: expected values by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.snapshot import LogPosition
from kreplica.monitoring.lag.rates import MissingCopy, Pace, Progress, compare

COPY = MissingCopy("orders", 0, broker=3, leader=1)


def position(broker: int, end: int | None, size: int | None, seconds: float) -> LogPosition:
    return LogPosition("orders", 0, broker, end, size, seconds)


def measured(follower: tuple[int | None, int | None], leader: tuple[int | None, int | None]) -> Progress:
    """End offsets before and 10 s after; a record is 100 bytes."""

    def at(broker: int, end: int | None, seconds: float) -> LogPosition:
        return position(broker, end, None if end is None else end * 100, seconds)

    first = [at(3, follower[0], 5.0), at(1, leader[0], 5.0)]
    second = [at(1, leader[1], 15.0), at(3, follower[1], 15.0)]
    (found,) = compare([COPY], first, second)
    return found


@pytest.mark.parametrize(
    ("follower", "leader", "expected"),
    [
        # 1000 behind, 100 a second, nothing written: 10 s
        ((0, 1000), (2000, 2000), Progress(3, 1, Pace.CATCHING_UP, 1000, 100_000, 100.0, 10_000.0, 0.0, 10.0)),
        # 60 a second gained on 40 written: 1600 behind / (100 - 40)
        ((0, 1000), (2200, 2600), Progress(3, 1, Pace.CATCHING_UP, 1600, 160_000, 100.0, 10_000.0, 40.0, 1600 / 60)),
        ((500, 500), (2000, 2000), Progress(3, 1, Pace.NOT_MOVING, 1500, 150_000, 0.0, 0.0, 0.0)),
        ((500, 500), (2000, 3000), Progress(3, 1, Pace.NOT_MOVING, 2500, 250_000, 0.0, 0.0, 100.0)),
        ((500, 400), (2000, 2000), Progress(3, 1, Pace.NOT_MOVING, 1600, 160_000, -10.0, -1000.0, 0.0)),
        ((0, 100), (2000, 2500), Progress(3, 1, Pace.FALLING_BEHIND, 2400, 240_000, 10.0, 1000.0, 50.0)),
        ((0, 500), (2000, 2500), Progress(3, 1, Pace.FALLING_BEHIND, 2000, 200_000, 50.0, 5000.0, 50.0)),
        ((100, 200), (200, 200), Progress(3, 1, Pace.CAUGHT_UP, 0, 0, 10.0, 1000.0, 0.0, 0.0)),
        # read before the leader: it may be past what the leader said
        ((100, 210), (200, 200), Progress(3, 1, Pace.CAUGHT_UP, 0, 0, 11.0, 1100.0, 0.0, 0.0)),
        ((None, None), (200, 200), Progress(3, 1, Pace.UNKNOWN, leader_records_per_second=0.0)),
        ((None, 100), (200, 200), Progress(3, 1, Pace.UNKNOWN, 100, 10_000, leader_records_per_second=0.0)),
        ((0, 100), (None, None), Progress(3, 1, Pace.UNKNOWN, None, None, 10.0, 1000.0)),
    ],
)
def test_paces(
    follower: tuple[int | None, int | None], leader: tuple[int | None, int | None], expected: Progress
) -> None:
    assert measured(follower, leader) == expected


def test_a_broker_that_did_not_answer_once_is_unknown() -> None:
    (found,) = compare([COPY], [position(1, 5, 5, 0.0)], [position(1, 5, 5, 1.0), position(3, 1, 1, 1.0)])
    assert found.pace is Pace.UNKNOWN


def test_two_readings_at_the_same_moment_tell_no_rate() -> None:
    """The clock may not have moved between two answers, or not forward: what is behind is known, how fast is not."""
    first = [position(3, 0, 0, 5.0), position(1, 100, 100, 5.0)]
    for seconds in (5.0, 4.5):
        (found,) = compare([COPY], first, [position(3, 40, 40, seconds), position(1, 100, 100, seconds)])
        assert found == Progress(3, 1, Pace.UNKNOWN, 60, 60)


def test_two_readings_within_a_second_tell_a_rate() -> None:
    first = [position(3, 0, 0, 5.0), position(1, 100, 100, 5.0)]
    (found,) = compare([COPY], first, [position(3, 40, 40, 5.25), position(1, 100, 100, 5.25)])
    assert found == Progress(3, 1, Pace.CATCHING_UP, 60, 60, 160.0, 160.0, 0.0, 0.375)


def test_rows_are_plain_values() -> None:
    row = measured((0, 1001), (2200, 2600)).as_row()
    assert row["pace"] == "catching-up"
    assert row["records_per_second"] == 100.1
    assert row["seconds_to_catch_up"] == round(1599 / 60.1, 1)


ends = st.integers(0, 10**6)


@given(ends, st.integers(0, 10**5), ends, st.integers(0, 10**5))
def test_the_time_is_when_the_two_meet(start: int, copied: int, ahead: int, written: int) -> None:
    leader = start + copied + ahead
    found = measured((start, start + copied), (leader, leader + written))
    if found.seconds_to_catch_up:
        follower_then = start + copied + copied / 10 * found.seconds_to_catch_up
        leader_then = leader + written + written / 10 * found.seconds_to_catch_up
        assert follower_then == pytest.approx(leader_then)
    else:
        assert copied <= written or ahead + written == 0
