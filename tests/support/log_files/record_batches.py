"""Writes record batches of magic 2, field by field, as a test or a benchmark wants them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from crc32c import crc32c

from log_files.varints import varint


@dataclass(frozen=True)
class PlainRecord:
    """A record as the encoder takes it and a plain reading gives it."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


def sized(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def record_bytes(record: PlainRecord) -> bytes:
    body = (
        b"\0" + varint(record.timestamp_delta) + varint(record.offset_delta) + sized(record.key) + sized(record.value)
    )
    body += varint(len(record.headers)) + b"".join(sized(key) + sized(value) for key, value in record.headers)
    return varint(len(body)) + body


def batch_bytes(
    records: Sequence[PlainRecord],
    *,
    base_offset: int = 0,
    base_timestamp: int = 1_600_000_000_000,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    leader_epoch: int = 0,
    content: bytes | None = None,
    count: int | None = None,
    last_offset_delta: int | None = None,
) -> bytes:
    """One batch; ``content`` stands in for the records' bytes where they are compressed, or wrong on purpose."""
    content = b"".join(map(record_bytes, records)) if content is None else content
    last = max([0, len(records) - 1, *(record.offset_delta for record in records)])
    latest = base_timestamp + max((record.timestamp_delta for record in records), default=0)
    body = struct.pack(
        ">hiqqqhii",
        attributes,
        last if last_offset_delta is None else last_offset_delta,
        base_timestamp,
        latest,
        *producer,
        len(records) if count is None else count,
    )
    body += content
    return struct.pack(">qiibI", base_offset, 9 + len(body), leader_epoch, 2, crc32c(body)) + body
