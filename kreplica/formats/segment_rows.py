"""Batches and records of segments as rows of an answer, made one by one when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from kreplica.formats.batches import NONE, BatchColumns, Codec

if TYPE_CHECKING:
    from kreplica.formats.record_columns import RecordColumns

BATCH_FIELDS = (
    "file",
    "base_offset",
    "last_offset",
    "count",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "transactional",
    "control",
    "codec",
    "max_timestamp",
    "delete_horizon",
    "magic",
    "position",
    "size",
    "crc",
    "valid",
)
RECORD_FIELDS = (
    "file",
    "offset",
    "timestamp",
    "key",
    "value",
    "headers",
    "sequence",
    "producer_id",
    "transactional",
    "control",
    "position",
)
_OR_NULL = ("base_offset", "count", "leader_epoch", "producer_id", "producer_epoch", "base_sequence", "max_timestamp")
Row = dict[str, object]


class BatchRows(Sequence[Row]):
    """Batches of several files as rows: a gigabyte of them is not kept as Python objects."""

    def __init__(self, parts: Sequence[tuple[str, BatchColumns]]) -> None:
        self._parts = [part for part in parts if len(part[1])]
        self._begins = [0]
        for _, batches in self._parts:
            self._begins.append(self._begins[-1] + len(batches))

    def __len__(self) -> int:
        return self._begins[-1]

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            begin, end, step = index.indices(len(self))
            return list(self._between(begin, end))[::step]
        place = index if index >= 0 else len(self) + index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return next(self._between(place, place + 1))

    def __iter__(self) -> Iterator[Row]:
        return self._between(0, len(self))

    def _between(self, begin: int, end: int) -> Iterator[Row]:
        for (file, batches), first in zip(self._parts, self._begins, strict=False):
            wanted = slice(max(0, begin - first), max(0, min(end - first, len(batches))))
            if wanted.start < wanted.stop:
                yield from _batch_rows(file, batches.take(wanted))


def _batch_rows(file: str, batches: BatchColumns) -> Iterator[Row]:
    columns: dict[str, list[Any]] = {
        name: getattr(batches, name).tolist()
        for name in BATCH_FIELDS
        if name not in ("file", "codec", "delete_horizon")
    }
    columns["codec"] = [codec_name(number) for number in batches.codec.tolist()]
    horizons = zip(batches.has_delete_horizon.tolist(), batches.base_timestamp.tolist(), strict=True)
    columns["delete_horizon"] = [time if here else None for here, time in horizons]
    for name in _OR_NULL:
        columns[name] = [None if value == NONE else value for value in columns[name]]
    names = BATCH_FIELDS[1:]
    for values in zip(*(columns[name] for name in names), strict=True):
        yield {"file": file, **dict(zip(names, values, strict=True))}


def codec_name(number: int) -> str:
    """Kafka's name of a codec; its number where there is none."""
    return Codec(number).name if number in Codec.__members__.values() else str(number)


def record_rows(file: str, records: RecordColumns) -> Iterator[Row]:
    """Records as rows; keys, values and headers as text, what is no UTF-8 escaped."""
    batches, batch = records.batches, records.batch
    columns = [
        records.offset.tolist(),
        records.timestamp.tolist(),
        records.sequence.tolist(),
        batches.producer_id[batch].tolist(),
        batches.transactional[batch].tolist(),
        batches.control[batch].tolist(),
        batches.position[batch].tolist(),
    ]
    for index, row in enumerate(zip(*columns, strict=True)):
        offset, timestamp, sequence, producer, transactional, control, position = row
        yield {
            "file": file,
            "offset": offset,
            "timestamp": None if timestamp == NONE else timestamp,
            "key": text_of(records.key(index)),
            "value": text_of(records.value(index)),
            "headers": [{"key": text_of(key), "value": text_of(value)} for key, value in records.headers(index)],
            "sequence": None if sequence == NONE or control else sequence,
            "producer_id": None if producer == NONE else producer,
            "transactional": transactional,
            "control": control,
            "position": position,
        }


def text_of(content: bytes | None) -> str | None:
    """Bytes as text; what is no UTF-8 is escaped as \\xNN."""
    return None if content is None else content.decode("utf-8", "backslashreplace")
