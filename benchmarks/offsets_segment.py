"""Writes a segment of __consumer_offsets as a busy broker leaves it: a batch for each OffsetCommit request."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

from crc32c import crc32c

GROUPS, TOPICS, LEAST_PARTITIONS, MOST_PARTITIONS = 60, 8, 9, 18
FIRST_TIME = 1_795_244_500_000
VALUE_V3 = struct.Struct(">hqih")
FLEXIBLE_V4 = struct.Struct(">hqi")


def write_segment(path: Path, mebibytes: int, *, value_version: int = 3, seed: int = 7) -> int:
    """Writes it and returns the number of commits.

    Args:
        path: The file.
        mebibytes: Its size.
        value_version: Of OffsetCommitValue: 3 as brokers from 2.1 on write it, 4 as 4.3 does, with the topic's id.
        seed: Of all that is by chance.
    """
    chance, commits, offset = random.Random(seed), 0, 0
    keys = list(_keys(chance))
    written, room = 0, mebibytes << 20
    with path.open("wb") as file:
        while written < room:
            batch, count = _batch(chance.choice(keys), offset, FIRST_TIME + offset // 50, value_version)
            file.write(batch)
            written, offset, commits = written + len(batch), offset + count, commits + count
    return commits


def _keys(chance: random.Random) -> Iterator[list[bytes]]:
    for group in range(GROUPS):
        for number in range(TOPICS):
            name, topic = f"console-consumer-{49366 + group}".encode(), f"events.{number}.region-{group % 7}".encode()
            lead = struct.pack(">hh", 1, len(name)) + name + struct.pack(">h", len(topic)) + topic
            yield [
                lead + struct.pack(">i", partition)
                for partition in range(chance.randint(LEAST_PARTITIONS, MOST_PARTITIONS))
            ]


def _batch(keys: list[bytes], base_offset: int, now: int, version: int) -> tuple[bytes, int]:
    records = b"".join(
        _record(number, key, _value(version, base_offset + number, now)) for number, key in enumerate(keys)
    )
    body = struct.pack(">hiqqqhii", 0, len(keys) - 1, now, now, -1, -1, 0, len(keys)) + records
    return struct.pack(">qiibI", base_offset, 9 + len(body), 0, 2, crc32c(body)) + body, len(keys)


def _value(version: int, offset: int, now: int) -> bytes:
    if version == 3:
        return VALUE_V3.pack(3, offset * 3, 0, 0) + now.to_bytes(8, "big")
    return FLEXIBLE_V4.pack(4, offset * 3, 0) + b"\x01" + now.to_bytes(8, "big") + b"\x01\x00\x10" + b"0123456789abcdef"


def _record(number: int, key: bytes, value: bytes) -> bytes:
    body = b"\0\0" + _varint(number) + _varint(len(key)) + key + _varint(len(value)) + value + b"\0"
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    value = number << 1
    return bytes([value]) if value < 128 else bytes([value & 127 | 128, value >> 7])
