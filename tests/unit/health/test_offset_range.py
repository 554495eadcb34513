"""Committed offsets against the ends of a cluster's logs."""

from __future__ import annotations

import pytest
from clusters.generated import partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.health.offset_range import OffsetRange, Standing, offset_ranges, standing_of
from kreplica.model.snapshot import Gap

HIDDEN = Gap("hidden-topics", "1 topic is hidden", 1)


@pytest.mark.parametrize(
    ("offset", "start", "end", "expected"),
    [
        (4, 5, 9, "below start"),
        (5, 5, 9, "in range"),
        (9, 5, 9, "in range"),  # a consumer there waits for the next record
        (10, 5, 9, "above end"),
        (0, 0, 0, "in range"),
        (4, 5, None, "below start"),
        (10, None, 9, "above end"),
        (5, 5, None, None),
        (9, None, 9, None),
        (9, None, None, None),
    ],
)
def test_standing(offset: int, start: int | None, end: int | None, expected: str | None) -> None:
    assert standing_of(offset, start, end) == expected


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_in_range_is_what_a_fetch_would_not_refuse(offset: int, start: int, length: int) -> None:
    accepted = offset in range(start, start + length + 1)
    assert (standing_of(offset, start, start + length) is Standing.in_range) == accepted


def test_ranges_of_a_cluster() -> None:
    rows = [partition("a", 0, log_start_offset=3, end_offset=8), partition("a", 1, leader=-1, isr=[])]
    asked = [("a", 0, 2), ("a", 1, 2), ("a", 2, 2), ("b", 0, 2)]
    nowhere = OffsetRange(None, None, Standing.no_such_partition)
    unknown = OffsetRange(None, None, None)
    expected = [OffsetRange(3, 8, Standing.below_start), unknown, nowhere, nowhere]
    assert list(offset_ranges(snapshot_of(rows), asked)) == expected
    expected[2:] = [unknown, unknown]
    assert list(offset_ranges(snapshot_of(rows, gaps=(HIDDEN,)), asked)) == expected
