"""Record batches, the units of a log segment.

magic 2 (DefaultRecordBatch, KIP-98)                  magic 0 and 1 (LegacyRecord): a message, or messages in one
 0  base offset             int64                      0  offset         int64   of the last message inside
 8  batch length            int32  bytes from 12 on    8  message size   int32   bytes from 12 on
12  partition leader epoch  int32                     12  crc            uint32  CRC-32 from 16 on
16  magic                   int8                      16  magic          int8
17  crc                     uint32 CRC-32C from 21 on 17  attributes     int8    0-2 codec, 3 log append time
21  attributes              int16  see below          18  timestamp      int64   magic 1 only
23  last offset delta       int32                         key length     int32   -1: null
27  base timestamp          int64                         key
35  max timestamp           int64                         value length   int32   -1: null
43  producer id             int64                         value          of a codec: messages, compressed
51  producer epoch          int16
53  base sequence           int32                     attributes of magic 2: 0-2 codec, 3 log append time,
57  records count           int32                     4 transactional, 5 control, 6 the base timestamp is the
61  records, compressed if a codec is set             delete horizon (KIP-534)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.segments.batch_layout import HEADER_BYTES, MAGIC_AT, PREFIX_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

CODEC_MASK = 0x07
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40

NONE = -1
"""A number that only the records have, or that this magic does not have."""

_HEADER_V2 = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
_HEADER_LEGACY = np.dtype(
    [
        ("offset", ">i8"),
        ("length", ">i4"),
        ("crc", ">u4"),
        ("magic", "i1"),
        ("attributes", "i1"),
        ("timestamp", ">i8"),
    ]
)
assert _HEADER_V2.itemsize == HEADER_BYTES


class Codec(IntEnum):
    """Compression codecs of records (CompressionType); the names are those that Kafka prints."""

    none = 0
    gzip = 1
    snappy = 2
    lz4 = 3
    zstd = 4


@dataclass(frozen=True, slots=True)
class BatchColumns:
    """Headers of batches, one array a field, in the order of the file.

    Args:
        position: First byte in the file.
        size: Bytes, the 12 of offset and length included.
        magic: 0, 1 or 2.
        base_offset: First offset it may hold; -1 for compressed messages of magic 0 and 1: only the records have it.
        last_offset: Last offset it may hold; compaction takes records away, not this.
        count: Number of records; -1 as with ``base_offset``.
        leader_epoch, producer_id, producer_epoch, base_sequence: As written; -1 where there is none.
        attributes: As written.
        crc: As written.
        valid: True if the content has that checksum.
        base_timestamp: What timestamps of records are counted from, in ms; the delete horizon if its bit is set.
        max_timestamp: Latest timestamp, or time of the append; -1 for magic 0.
    """

    position: NDArray[np.int64]
    size: NDArray[np.int64]
    magic: NDArray[np.int8]
    base_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    count: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    producer_id: NDArray[np.int64]
    producer_epoch: NDArray[np.int16]
    base_sequence: NDArray[np.int32]
    attributes: NDArray[np.int16]
    crc: NDArray[np.uint32]
    valid: NDArray[np.bool_]
    base_timestamp: NDArray[np.int64]
    max_timestamp: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.position)

    @property
    def codec(self) -> NDArray[np.int16]:
        """Number of the codec; ``Codec`` names those that exist."""
        return self.attributes & CODEC_MASK

    @property
    def transactional(self) -> NDArray[np.bool_]:
        """True for batches that a transaction wrote."""
        return self._flag(TRANSACTIONAL)

    @property
    def control(self) -> NDArray[np.bool_]:
        """True for batches that hold markers and other control records instead of data."""
        return self._flag(CONTROL)

    @property
    def log_append_time(self) -> NDArray[np.bool_]:
        """True for batches in which the broker's time of the append replaces every record's timestamp."""
        return self._flag(LOG_APPEND_TIME)

    @property
    def has_delete_horizon(self) -> NDArray[np.bool_]:
        """True for batches whose ``base_timestamp`` is the time from which tombstones may be removed."""
        return self._flag(DELETE_HORIZON)

    def _flag(self, bit: int) -> NDArray[np.bool_]:
        return np.asarray((self.attributes & bit) != 0)

    def take(self, which: NDArray[Any] | slice) -> BatchColumns:
        """Some of the batches: by a mask, by indices or by a slice."""
        return BatchColumns(*(getattr(self, field.name)[which] for field in fields(self)))

    @classmethod
    def concatenate(cls, parts: Sequence[BatchColumns]) -> BatchColumns:
        """The batches of all parts; at least one part has to be given."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def read_headers(
    data: NDArray[np.uint8], starts: NDArray[np.int64], valid: NDArray[np.bool_], position: int = 0
) -> BatchColumns:
    """Headers of batches whose first bytes are known.

    Args:
        data: The bytes.
        starts: Index of the first byte of each batch; each batch lies in the data whole, of a known magic.
        valid: True if its checksum is right.
        position: Position of ``data[0]`` in the file.
    """
    magic = data[starts + MAGIC_AT].astype(np.int8)
    legacy = magic < 2
    if not legacy.any():
        return _headers_v2(data, starts, valid, position)
    if legacy.all():
        return _headers_legacy(data, starts, valid, position)
    both = [
        _headers_v2(data, starts[~legacy], valid[~legacy], position),
        _headers_legacy(data, starts[legacy], valid[legacy], position),
    ]
    order = np.argsort(np.concatenate([starts[~legacy], starts[legacy]]), kind="stable")
    return BatchColumns.concatenate(both).take(order)


def _gathered(data: NDArray[np.uint8], starts: NDArray[np.int64], layout: np.dtype[np.void]) -> Any:
    """The structure at each start, copied: a view of the layout at every byte, indexed."""
    room = max(0, len(data) - layout.itemsize + 1)
    return np.ndarray((room,), layout, data, strides=(1,))[starts]


def _headers_v2(
    data: NDArray[np.uint8], starts: NDArray[np.int64], valid: NDArray[np.bool_], position: int
) -> BatchColumns:
    header = _gathered(data, starts, _HEADER_V2)
    base_offset = header["base_offset"].astype(np.int64)
    return BatchColumns(
        position=starts + position,
        size=header["length"].astype(np.int64) + PREFIX_BYTES,
        magic=header["magic"],
        base_offset=base_offset,
        last_offset=base_offset + header["last_offset_delta"],
        count=header["count"].astype(np.int64),
        leader_epoch=header["leader_epoch"].astype(np.int32),
        producer_id=header["producer_id"].astype(np.int64),
        producer_epoch=header["producer_epoch"].astype(np.int16),
        base_sequence=header["base_sequence"].astype(np.int32),
        attributes=header["attributes"].astype(np.int16),
        crc=header["crc"].astype(np.uint32),
        valid=valid,
        base_timestamp=header["base_timestamp"].astype(np.int64),
        max_timestamp=header["max_timestamp"].astype(np.int64),
    )


def _headers_legacy(
    data: NDArray[np.uint8], starts: NDArray[np.int64], valid: NDArray[np.bool_], position: int
) -> BatchColumns:
    header = _gathered(data, starts, _HEADER_LEGACY)
    offset = header["offset"].astype(np.int64)
    attributes = header["attributes"].astype(np.int16) & 0xFF
    timestamp = np.where(header["magic"] == 1, header["timestamp"], NONE).astype(np.int64)
    alone = (attributes & CODEC_MASK) == Codec.none

    def absent(kind: type[np.signedinteger[Any]]) -> Any:
        return np.full(len(starts), NONE, kind)

    return BatchColumns(
        position=starts + position,
        size=header["length"].astype(np.int64) + PREFIX_BYTES,
        magic=header["magic"],
        base_offset=np.where(alone, offset, NONE),
        last_offset=offset,
        count=np.where(alone, 1, NONE),
        leader_epoch=absent(np.int32),
        producer_id=absent(np.int64),
        producer_epoch=absent(np.int16),
        base_sequence=absent(np.int32),
        attributes=attributes,
        crc=header["crc"].astype(np.uint32),
        valid=valid,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
    )
