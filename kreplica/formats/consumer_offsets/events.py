"""Records of `__consumer_offsets` as a table of events: commits in bulk, the few others one by one.

The fields of a commit have columns of their own; ``key`` and ``value`` are the fields of all other records, as
JSON. A commit that is not what its version says is read like the others, so that its fault can be reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from kreplica.formats.consumer_offsets.commits import (
    NEWEST_COMMIT_KEY,
    TOPIC_ID_BYTES,
    CommitColumns,
    decode_commits,
    key_types,
)
from kreplica.formats.consumer_offsets.latest import DistinctKeys, distinct_keys, rows_of
from kreplica.formats.consumer_offsets.records import GroupRecord, decode_group_record
from kreplica.formats.damage import Damage, DamageTally
from kreplica.formats.schema import SchemaError, uuid_text
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.segments.rows import log_records
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, StringColumn
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from kreplica.formats.logs.partition_logs import PartitionLog
    from kreplica.formats.segments.columns import RecordColumns

_KINDS: Final = {
    "log_partition": Kind.INT64,
    "record_offset": Kind.INT64,
    "record_timestamp": Kind.INT64,
    "type": Kind.STRING,
    "group": Kind.STRING,
    "topic": Kind.STRING,
    "partition": Kind.INT64,
    "offset": Kind.INT64,
    "leader_epoch": Kind.INT64,
    "metadata": Kind.STRING,
    "commit_timestamp": Kind.INT64,
    "expire_timestamp": Kind.INT64,
    "topic_id": Kind.STRING,
    "version": Kind.INT64,
    "tombstone": Kind.BOOL,
    "transactional": Kind.BOOL,
    "producer_id": Kind.INT64,
    "key": Kind.STRING,
    "value": Kind.STRING,
}
EVENTS: Final = TableSchema(
    "events", tuple(Field(name, kind, nullable=True, doc="") for name, kind in _KINDS.items()), sort=()
)
JSON_COLUMNS: Final = ("key", "value")
"""Strings that are JSON."""
_NUMBERS = ("partition", "offset", "leader_epoch", "commit_timestamp", "expire_timestamp", "version")
_WORDS = ("type", "group", "topic", "metadata", "topic_id", "key", "value")
_COMMIT = "OffsetCommit"


class _Words:
    """A column of strings while it is filled."""

    def __init__(self, count: int) -> None:
        self.codes: NDArray[np.int32] = np.full(count, -1, np.int32)
        self._known: dict[str, int] = {}

    def code(self, word: str | None) -> int:
        return -1 if word is None else self._known.setdefault(word, len(self._known))

    def column(self) -> StringColumn:
        return StringColumn(self.codes, tuple(self._known))


@dataclass(slots=True)
class _Filled:
    """Columns while they are filled: a number that is -1 is not there, but an offset is where its record is a commit.

    Args:
        records: The records.
        numbers, words: By name of the column.
        tombstone, committed, kept: True if the record is one, holds a committed offset, and could be read.
    """

    records: RecordColumns
    numbers: dict[str, NDArray[np.int64]] = field(init=False)
    words: dict[str, _Words] = field(init=False)
    tombstone: NDArray[np.bool_] = field(init=False)
    committed: NDArray[np.bool_] = field(init=False)
    kept: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.records)
        self.numbers = {name: np.full(count, -1, np.int64) for name in _NUMBERS}
        self.words = {name: _Words(count) for name in _WORDS}
        self.tombstone = self.records.value_length < 0
        self.committed, self.kept = np.zeros(count, np.bool_), np.ones(count, np.bool_)


def event_table(records: RecordColumns, file: str, partition: int | None) -> tuple[Table, list[Damage]]:
    """The events of records, and the records that could not be read.

    Args:
        records: Any of them; control records are left out.
        file: Name of their file, for damage.
        partition: Of the log; None if it is not known.
    """
    control = records.batches.control
    some = records.take(~control[records.batch]) if control.any() else records
    filled = _Filled(some)
    types = key_types(some)
    which = np.flatnonzero((types >= 0) & (types <= NEWEST_COMMIT_KEY))
    keys = some.data, some.key_start[which], some.key_length[which]
    distinct = distinct_keys(*keys)
    commits = decode_commits(*keys, some.value_start[which], some.value_length[which], distinct)
    if not commits.sound.all():
        which, commits = which[commits.sound], commits.take(commits.sound)
        distinct = distinct_keys(some.data, some.key_start[which], some.key_length[which])
    _fill_commits(filled, which, commits, distinct)
    others = np.ones(len(some), np.bool_)
    others[which] = False
    damage = list(_fill_others(filled, np.flatnonzero(others), file))
    table = Table(EVENTS, _columns(filled, partition))
    return (table if not damage else table.take(np.flatnonzero(filled.kept))), damage


def _columns(filled: _Filled, partition: int | None) -> dict[str, Column]:
    records, count = filled.records, len(filled.records)
    transactional = records.batches.transactional[records.batch]
    columns: dict[str, Column] = {name: _present(values) for name, values in filled.numbers.items()}
    columns |= {name: words.column() for name, words in filled.words.items()}
    columns["offset"] = IntColumn(filled.numbers["offset"], filled.committed)
    columns["log_partition"] = _present(np.full(count, -1 if partition is None else partition, np.int64))
    columns["record_offset"] = IntColumn(records.offset)
    columns["record_timestamp"] = IntColumn(records.timestamp)
    columns["tombstone"], columns["transactional"] = BoolColumn(filled.tombstone), BoolColumn(transactional)
    columns["producer_id"] = IntColumn(records.batches.producer_id[records.batch], transactional)
    return {name: columns[name] for name in _KINDS}


def _present(values: NDArray[np.int64]) -> IntColumn:
    there = values >= 0
    return IntColumn(values, None if there.all() else there)


def _fill_commits(filled: _Filled, rows: NDArray[np.int64], commits: CommitColumns, distinct: DistinctKeys) -> None:
    if not len(rows):
        return
    for name in _NUMBERS:
        column: NDArray[np.int64] = getattr(commits, name)
        if len(rows) == len(filled.records):
            filled.numbers[name] = column
        else:
            filled.numbers[name][rows] = column
    filled.committed[rows] = ~commits.tombstone
    words, data, places = filled.words, commits.data, distinct.places
    words["type"].codes[rows] = words["type"].code(_COMMIT)
    for name, begin, size in (
        ("group", commits.group_start, commits.group_length),
        ("topic", commits.topic_start, commits.topic_length),
    ):
        words[name].codes[rows] = _codes(words[name], data, begin[places], size[places], _text).take(distinct.number)
    there = np.flatnonzero(~commits.tombstone)
    start, length = commits.metadata_start[there], commits.metadata_length[there]
    words["metadata"].codes[rows[there]] = _codes(words["metadata"], data, start, length, _text)
    words["topic_id"].codes[rows] = _topic_ids(words["topic_id"], commits, distinct)


def _topic_ids(words: _Words, commits: CommitColumns, distinct: DistinctKeys) -> NDArray[np.int32]:
    """Codes of the topics' ids; commits of one key nearly always have the same id, which is tried first."""
    start, places, number = commits.topic_id_start, distinct.places, distinct.number
    if (start >= 0).all():
        ids = rows_of(commits.data, start, TOPIC_ID_BYTES).view(np.uint64).reshape(-1, 2)
        if np.array_equal(ids.take(places, axis=0).take(number, axis=0), ids):
            length = np.full(len(places), TOPIC_ID_BYTES, np.int64)
            return _codes(words, commits.data, start[places], length, uuid_text).take(number)
    codes = np.full(len(start), -1, np.int32)
    there = np.flatnonzero(start >= 0)
    length = np.full(len(there), TOPIC_ID_BYTES, np.int64)
    codes[there] = _codes(words, commits.data, start[there], length, uuid_text)
    return codes


def _codes(
    words: _Words,
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    text: Callable[[bytes], str],
) -> NDArray[np.int32]:
    if not length.any():
        return np.full(len(start), words.code(text(b"")) if len(start) else -1, np.int32)
    distinct = distinct_keys(data, start, length)
    begin, end = start[distinct.places].tolist(), (start + length)[distinct.places].tolist()
    codes = [words.code(text(data[one:other].tobytes())) for one, other in zip(begin, end, strict=True)]
    return np.array(codes, np.int32)[distinct.number]


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _fill_others(filled: _Filled, rows: NDArray[np.int64], file: str) -> Iterator[Damage]:
    for row in rows.tolist():
        try:
            record = decode_group_record(filled.records.key(row) or b"", filled.records.value(row))
        except SchemaError as error:
            filled.kept[row] = False
            yield _not_of_its_type(filled.records, row, file, error)
            continue
        _fill_one(filled, row, record)


def _fill_one(filled: _Filled, row: int, record: GroupRecord) -> None:
    key = record.key or {}
    words: dict[str, str | None] = {"type": record.type, "group": key.get("group", key.get("groupId")) or None}
    words |= {"topic": key.get("topic"), "key": _json(record.key), "value": _json(record.value)}
    for name, word in words.items():
        filled.words[name].codes[row] = filled.words[name].code(word)
    filled.numbers["partition"][row] = key.get("partition", -1)
    filled.numbers["version"][row] = -1 if record.version is None else record.version


def _json(fields: Mapping[str, object] | None) -> str | None:
    return None if fields is None else json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _not_of_its_type(records: RecordColumns, row: int, file: str, error: SchemaError) -> Damage:
    position = int(records.batches.position[records.batch[row]])
    size = max(0, int(records.key_length[row])) + max(0, int(records.value_length[row]))
    return Damage(file, position, f"record at offset {records.offset[row]} is not of its type: {error.reason}", size)


class OffsetEvents:
    """The records of logs as tables, decoded on demand; all damage is known after the last table."""

    def __init__(
        self,
        logs: Sequence[PartitionLog],
        groups: Sequence[re.Pattern[str]],
        topic: re.Pattern[str] | None,
        as_of: AsOf | None,
        damage: DamageTally,
    ) -> None:
        self.damage = damage
        self._logs, self._groups, self._topic, self._as_of = logs, groups, topic, as_of or AsOf()

    def __iter__(self) -> Iterator[Table]:
        for log in self._logs:
            for path, records in log_records(log.segments, self._as_of, self.damage):
                yield self._table(log, str(path), records)

    def _table(self, log: PartitionLog, file: str, records: RecordColumns) -> Table:
        table, damage = event_table(records, file, log.partition)
        self.damage.add(damage)
        wanted = _matching(table, "group", self._groups)
        if self._topic is not None:
            wanted &= _matching(table, "topic", [self._topic])
        return table if wanted.all() else table.take(np.flatnonzero(wanted))


def _matching(table: Table, name: str, patterns: Sequence[re.Pattern[str]]) -> NDArray[np.bool_]:
    """Rows whose word matches one of the patterns as a whole; all if there are none."""
    column = table[name]
    assert isinstance(column, StringColumn)
    if not patterns:
        return np.ones(len(column), np.bool_)
    words = [*column.dictionary, ""]  # code -1, no word, is the last
    return np.array([any(pattern.fullmatch(word) for pattern in patterns) for word in words], np.bool_)[column.codes]
