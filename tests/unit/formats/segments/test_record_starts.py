"""Positions at which records begin: in steps over many batches, batch by batch, and by the format, also on rubbish."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from log_files.varints import varint

from kreplica.formats.segments import record_runs
from kreplica.formats.segments import records as record_starts

Starts = tuple[list[int], list[int], list[int], list[int], list[int]]

LENGTHS = st.sampled_from([6, 7, 9, 63, 64, 70, 200, 9000])
RECORD = st.builds(lambda length, fill: varint(length) + bytes([fill]) * length, LENGTHS, st.sampled_from([0, 1, 255]))
RUBBISH = st.sampled_from([b"\0", b"\x0b", b"\xff" * 6, b"\x8c\0", b"\x80\x80\x01", varint(-70), varint(1 << 30)])
BATCH = st.tuples(st.lists(st.one_of(RECORD, RECORD, RECORD, RUBBISH), max_size=12).map(b"".join), st.integers(-1, 14))


def plain_length(content: bytes, position: int) -> tuple[int, int] | None:
    """A zigzag varint of at most five bytes and the index behind it; None if it has no end."""
    number = 0
    for place in range(5):
        if position + place >= len(content):
            return None
        byte = content[position + place]
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return (number >> 1) ^ -(number & 1), position + place + 1
    return None


def plainly(batches: list[tuple[bytes, int]]) -> Starts:
    found: Starts = ([], [], [], [], [])
    begin = 0
    for number, (content, said) in enumerate(batches):
        position, count = 0, 0
        while count < min(said, len(content) // 7):
            told = plain_length(content, position)
            if told is None or told[0] < 6 or sum(told) > len(content):
                break
            for column, value in zip(found, (begin + told[1], told[0], number), strict=False):
                column.append(value)
            position, count = sum(told), count + 1
        found[3].append(count)
        found[4].append(begin + position)
        begin += len(content)
    return found


@pytest.mark.parametrize("narrow", [0, 3, 1000])
@examples(1.2)
@given(batches=st.lists(BATCH, min_size=1, max_size=9))
def test_records_are_found_as_the_format_says(narrow: int, batches: list[tuple[bytes, int]]) -> None:
    sizes = np.array([len(content) for content, _ in batches], np.int64)
    end = np.cumsum(sizes)
    data = np.frombuffer(b"".join(content for content, _ in batches) + b"\1", np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_runs, "NARROW", narrow)
        found = record_starts.record_starts(data, end - sizes, end, np.array([said for _, said in batches]))
    columns = (found.body, found.size, found.batch, found.count, found.stopped_at)
    assert tuple(column.tolist() for column in columns) == plainly(batches)
