"""Batches and records of segments as rows of an answer, made one by one when they are asked for.

The records of a log, segment after segment, while they are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from kreplica.formats.file_bytes import FoundBytes
from kreplica.formats.segments.batches import NONE, BatchColumns, Codec
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import read_windows
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, StringColumn, column_from_values
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table

if TYPE_CHECKING:
    from kreplica.formats.damage import DamageTally
    from kreplica.formats.segments.as_of import AsOf
    from kreplica.formats.segments.columns import RecordColumns


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
_RECORD_KINDS: Final = {
    "file": Kind.STRING,
    "offset": Kind.INT64,
    "timestamp": Kind.INT64,
    "key": Kind.STRING,
    "value": Kind.STRING,
    "headers": Kind.STRING,
    "sequence": Kind.INT64,
    "producer_id": Kind.INT64,
    "transactional": Kind.BOOL,
    "control": Kind.BOOL,
    "position": Kind.INT64,
}
RECORDS: Final = TableSchema(
    "records", tuple(Field(name, kind, nullable=True, doc="") for name, kind in _RECORD_KINDS.items()), sort=()
)
RECORD_FIELDS = RECORDS.names
RECORD_JSON: Final = ("headers",)
"""Strings that are JSON."""
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


def record_table(file: str, records: RecordColumns) -> Table:
    """Records as a table; keys, values and headers as text, what is no UTF-8 escaped."""
    batches, batch = records.batches, records.batch
    control, producer_id = batches.control[batch], batches.producer_id[batch]
    sequence, every = records.sequence, range(len(records))
    columns: dict[str, Column] = {
        "file": StringColumn(np.zeros(len(records), np.int32), (file,)),
        "offset": IntColumn(records.offset),
        "timestamp": IntColumn(records.timestamp, records.timestamp != NONE),
        "key": column_from_values(Kind.STRING, [text_of(records.key(index)) for index in every]),
        "value": column_from_values(Kind.STRING, [text_of(records.value(index)) for index in every]),
        "headers": _header_texts(records),
        "sequence": IntColumn(sequence, (sequence != NONE) & ~control),
        "producer_id": IntColumn(producer_id, producer_id != NONE),
        "transactional": BoolColumn(batches.transactional[batch]),
        "control": BoolColumn(control),
        "position": IntColumn(batches.position[batch]),
    }
    return Table(RECORDS, columns)


def _header_texts(records: RecordColumns) -> Column:
    texts = ["[]"] * len(records)
    for index in np.flatnonzero(records.headers_count).tolist():
        headers = [{"key": text_of(key), "value": text_of(value)} for key, value in records.headers(index)]
        texts[index] = json.dumps(headers, ensure_ascii=False, separators=(",", ":"))
    return column_from_values(Kind.STRING, texts)


def text_of(content: bytes | None) -> str | None:
    """Bytes as text; what is no UTF-8 is escaped as \\xNN."""
    return None if content is None else content.decode("utf-8", "backslashreplace")


def log_records(segments: Iterable[Path], as_of: AsOf, damage: DamageTally) -> Iterator[tuple[Path, RecordColumns]]:
    """The records to include, some at a time, each with its segment.

    Args:
        segments: Of one log, in order.
        as_of: Records up to this offset or time.
        damage: Takes the ranges that cannot be read, whole segments too, while the records are asked for.
    """
    for path in segments:
        with FoundBytes.open(path) as source:
            for window in read_windows(source):
                damage.add(window.damage)
                for records in decode_records(window):
                    damage.add(records.damage)
                    yield path, as_of.select(records)
