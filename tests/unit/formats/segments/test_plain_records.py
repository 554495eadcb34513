"""Fields of many plain records at once: they stand where the encoder put them, or nothing is said of any."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from log_files.record_batches import PlainRecord, record_bytes
from log_files.varints import varint

from kreplica.formats.segments.record_runs import plain_records

Field = tuple[int, bytes, bytes | None]
"""Offset delta, key and value of a record."""

PADDING = bytes(16)


def told(records: list[PlainRecord]) -> list[Field] | None:
    """What is read of them, laid out one after another."""
    content, body, ends = b"", [], []
    for record in records:
        one = record_bytes(record)
        prefix = next(size for size in range(1, 6) if len(varint(len(one) - size)) == size)
        body.append(len(content) + prefix)
        content += one
        ends.append(len(content))
    data = np.frombuffer(content + PADDING, np.uint8)
    found = plain_records(data, np.array(body), np.array(ends))
    if found is None:
        return None
    columns = (found.offset_at, found.key_start, found.key_length, found.value_start, found.value_length)
    return [
        (
            zigzag(content[offset:]),
            content[key : key + key_length],
            None if value_length < 0 else content[value : value + value_length],
        )
        for offset, key, key_length, value, value_length in zip(*(column.tolist() for column in columns), strict=True)
    ]


def zigzag(content: bytes) -> int:
    """The signed number that a varint at the beginning says (ByteUtils.readVarint)."""
    number = 0
    for position, byte in enumerate(content):
        number |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            break
    return number >> 1 ^ -(number & 1)


NUMBERS = st.sampled_from([0, 1, 63, 64, 8191, 8192, 1 << 20, -1, -64, -8193])
KEYS = st.none() | st.binary(max_size=80)
RECORDS = st.builds(PlainRecord, NUMBERS.filter(lambda n: n >= 0), NUMBERS, KEYS, KEYS)


@examples(2)
@given(st.lists(RECORDS, min_size=1, max_size=4))
def test_fields_are_those_that_were_written(records: list[PlainRecord]) -> None:
    found = told(records)
    assert found is None or found == [(one.offset_delta, one.key, one.value) for one in records]


@pytest.mark.parametrize(("offset", "timestamp"), [(0, 0), (63, -64), (64, 0), (0, 64), (8191, -8192), (8191, 63)])
def test_deltas_of_two_bytes_are_plain(offset: int, timestamp: int) -> None:
    records = [PlainRecord(0, 0, b"k", b"v"), PlainRecord(offset, timestamp, b"key" * 25, None)]
    assert told(records) == [(0, b"k", b"v"), (offset, b"key" * 25, None)]


@pytest.mark.parametrize("delta", [4, 16])
def test_a_longer_timestamp_is_not_taken_for_the_fields_behind_it(delta: int) -> None:
    """Its third byte read as an offset delta, the key's own bytes would make up key, value and the end, too."""
    value = b"v" * 20
    before = bytes(delta - 1)
    behind = b"rest of the key"
    key = before + bytes([2 * (len(behind) + 1 + len(value))]) + behind
    assert told([PlainRecord(delta, 8192, key, value)]) is None
    assert told([PlainRecord(delta, 8191, key, value)]) == [(delta, key, value)]
