"""Committed offsets of `__consumer_offsets` as columns, in bulk.

    key      type int16 = 0 or 1 | group string | topic string | partition int32          string: int16 length, bytes

    value    version int16 | offset int64 | metadata string | commit timestamp int64                          version 0
                           | offset           | metadata        | commit timestamp | expire timestamp int64   version 1
                           | offset           | metadata        | commit timestamp                            version 2
                           | offset           | leader epoch int32 | metadata | commit timestamp              version 3
                           | ... as 3, metadata uvarint length + 1 and bytes ... | tagged fields              version 4
             null: a tombstone, the offset is forgotten

Tagged field 0 of version 4 is the topic's id, which brokers write from 4.3 on. Kafka: OffsetCommitKey,
OffsetCommitValue, org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.formats.consumer_offsets.latest import DistinctKeys, rows_of
from kreplica.formats.segments.numbers import integers_at, read_unsigned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kreplica.formats.segments.columns import RecordColumns

NEWEST_VALUE = 4
NEWEST_COMMIT_KEY = 1
NONE = -1
TOPIC_ID_TAG = 0
TOPIC_ID_BYTES = 16
_ONLY_TOPIC_ID = np.array([1, TOPIC_ID_TAG, TOPIC_ID_BYTES], np.uint8)
"""First bytes of tagged fields that are the topic's id and nothing else."""


@dataclass(frozen=True, slots=True)
class CommitColumns:
    """Keys and values of commit records, one array a field; starts are indices of bytes.

    Args:
        data: The bytes that hold the strings.
        sound: True if key and value are as they should be; the other fields mean nothing where they are not.
        tombstone: True if the value is null; then the fields of the value are -1.
        group_start, group_length, topic_start, topic_length, partition: The key.
        version: Of the value.
        offset, leader_epoch, metadata_start, metadata_length: The committed values; epoch -1 where there is none.
        commit_timestamp, expire_timestamp: In ms; -1 where there is none.
        topic_id_start: Index of the 16 bytes of the topic's id; -1 where there is none.
    """

    data: NDArray[np.uint8]
    sound: NDArray[np.bool_]
    tombstone: NDArray[np.bool_]
    group_start: NDArray[np.int64]
    group_length: NDArray[np.int64]
    topic_start: NDArray[np.int64]
    topic_length: NDArray[np.int64]
    partition: NDArray[np.int64]
    version: NDArray[np.int64]
    offset: NDArray[np.int64]
    leader_epoch: NDArray[np.int64]
    metadata_start: NDArray[np.int64]
    metadata_length: NDArray[np.int64]
    commit_timestamp: NDArray[np.int64]
    expire_timestamp: NDArray[np.int64]
    topic_id_start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offset)

    def take(self, which: NDArray[Any]) -> CommitColumns:
        """Some of the commits, by a mask or indices."""
        return CommitColumns(self.data, *(getattr(self, field.name)[which] for field in fields(self)[1:]))

    def texts(self) -> Callable[[int, int], str]:
        """Returns a function from start and length to the string there; bytes that are no UTF-8 are escaped.

        The bytes are copied once: a slice of an array takes three times as long for each string.
        """
        content = self.data.tobytes()

        def text(start: int, length: int) -> str:
            return content[start : start + length].decode("utf-8", "backslashreplace")

        return text


def key_types(records: RecordColumns) -> NDArray[np.int64]:
    """Type of each record's key; -1 where it is null, too short to have one, or negative."""
    high = records.data.take(records.key_start, mode="clip").astype(np.int64)
    types = high << 8 | records.data.take(records.key_start + 1, mode="clip")
    typed = (records.key_length >= 2) & (high < 128)
    return types if typed.all() else np.where(typed, types, NONE)


def decode_commits(
    data: NDArray[np.uint8],
    key_start: NDArray[np.int64],
    key_length: NDArray[np.int64],
    value_start: NDArray[np.int64],
    value_length: NDArray[np.int64],
    distinct: DistinctKeys | None = None,
) -> CommitColumns:
    """Decodes keys and values of commit records (types 0 and 1).

    Args:
        data: Bytes.
        key_start, key_length, value_start, value_length: Range of each key and value; a value of -1 bytes is null.
        distinct: Groups of equal keys, where they are known: each key is decoded once.
    """
    if distinct is None:
        key, sound = _keys(data, key_start, key_length)
    else:
        some, sound = _keys(data, key_start[distinct.places], key_length[distinct.places])
        key, sound = tuple(column.take(distinct.number) for column in some), sound[distinct.number]
    tombstone = value_length < 0
    version, values, fits = _values(data, value_start, value_length)
    columns = [version, *values]
    if tombstone.any():
        columns = [np.where(tombstone, NONE, column) for column in columns]
    return CommitColumns(data, sound & (tombstone | fits), tombstone, *key, *columns)


def _keys(
    data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]
) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.bool_]]:
    """The key's fields in the order of CommitColumns, and a mask of the keys that they fill."""
    group_length = integers_at(data, ">i2", start + 2)
    topic_at = start + 4 + np.maximum(group_length, 0)
    topic_length = integers_at(data, ">i2", topic_at)
    partition_at = topic_at + 2 + np.maximum(topic_length, 0)
    sound = (group_length >= 0) & (topic_length >= 0) & (partition_at + 4 == start + length)
    return (start + 4, group_length, topic_at + 2, topic_length, integers_at(data, ">i4", partition_at)), sound


def _values(
    data: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...], NDArray[np.bool_]]:
    """Version, the fields after it in the order of CommitColumns, and a mask of the values that they fill."""
    version = integers_at(data, ">i2", start)
    epoch_here, flexible = version >= 3, version == NEWEST_VALUE
    offset = integers_at(data, ">i8", start + 2)
    leader_epoch = np.where(epoch_here, integers_at(data, ">i4", start + 10), NONE)
    metadata_at = start + 10 + 4 * epoch_here
    metadata_length, metadata_start = integers_at(data, ">i2", metadata_at), metadata_at + 2
    if flexible.any():
        compact, behind = read_unsigned(data, metadata_at)
        metadata_length = np.where(flexible, compact - 1, metadata_length)
        metadata_start = np.where(flexible, behind, metadata_start)
    time_at = metadata_start + np.maximum(metadata_length, 0)
    expires = version == 1
    commit_timestamp = integers_at(data, ">i8", time_at)
    expire_timestamp = np.full(len(start), NONE, np.int64)
    if expires.any():
        expire_timestamp = np.where(expires, integers_at(data, ">i8", time_at + 8), NONE)
    stopped_at, end = time_at + 8 + 8 * expires, start + length
    topic_id_start = np.full(len(start), NONE, np.int64)
    if flexible.any():
        stopped_at = stopped_at.copy()
        which = np.flatnonzero(flexible)
        topic_id_start[which], stopped_at[which] = _tags(data, stopped_at[which], end[which])
    fits = (version >= 0) & (version <= NEWEST_VALUE) & (metadata_length >= 0) & (stopped_at == end)
    columns = offset, leader_epoch, metadata_start, metadata_length, commit_timestamp, expire_timestamp, topic_id_start
    return version, columns, fits


def _tags(
    data: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start of the topic's id, and end of the tagged fields: none of them, or the id alone, nearly always."""
    topic_id, stopped_at = np.full(len(start), NONE, np.int64), start + 1
    inside = np.clip(start, 0, len(data))
    lead = rows_of(data, inside, len(_ONLY_TOPIC_ID)).reshape(-1, len(_ONLY_TOPIC_ID))
    only_id = (lead == _ONLY_TOPIC_ID).all(axis=1) & (end == inside + len(_ONLY_TOPIC_ID) + TOPIC_ID_BYTES)
    topic_id[only_id] = start[only_id] + len(_ONLY_TOPIC_ID)
    stopped_at[only_id] = end[only_id]
    rest = np.flatnonzero(~only_id & ((lead[:, 0] != 0) | (end != start + 1)))
    if rest.size:
        topic_id[rest], stopped_at[rest] = _any_tags(data, start[rest], end[rest])
    return topic_id, stopped_at


def _any_tags(
    data: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same for any tagged fields: the n-th field of every value in one step."""
    topic_id, position = np.full(len(start), NONE, np.int64), start
    left, position = read_unsigned(data, position)
    left = np.where(start < end, left, NONE)
    going = np.flatnonzero((left > 0) & (position > 0) & (position < end))
    left = np.where((left > 0) & (position >= end), NONE, left)
    while going.size:
        tag, at = read_unsigned(data, position[going])
        size, at = read_unsigned(data, at)
        sound = (at > 0) & (at + size <= end[going])
        is_id = sound & (tag == TOPIC_ID_TAG) & (size == TOPIC_ID_BYTES)
        topic_id[going[is_id]] = at[is_id]
        position[going] = np.where(sound, at + size, NONE)
        left[going] -= 1
        going = going[sound & (left[going] > 0) & (position[going] < end[going])]
    return topic_id, np.where(left == 0, position, NONE)
