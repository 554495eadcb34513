"""The indexes beside segments as rows: every entry, the batch that it leads to, and whether the log agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from kreplica.errors import InputError
from kreplica.formats.checks.index_entries import (
    EntryVerdict,
    index_damage,
    offset_entries,
    time_entries,
)
from kreplica.formats.damage import DamageTally
from kreplica.formats.file_bytes import SmallFile, read_found_file
from kreplica.formats.find_files import is_there, may_be_there
from kreplica.formats.log_directory.indexes import (
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    decode_offset_index,
    decode_time_index,
)
from kreplica.formats.logs.log_range import SegmentContents, read_log
from kreplica.formats.logs.partition_logs import SWAP, PartitionLog, segment_offset
from kreplica.formats.logs.replicas import ReplicaFiles, replica_beside

COLUMNS: Final = (
    "file",
    "kind",
    "byte",
    "offset",
    "position",
    "timestamp",
    "batch_base_offset",
    "batch_last_offset",
    "batch_max_timestamp",
    "valid",
    "message",
    "expected",
    "found",
)
"""Fields of a row."""
Row = dict[str, object]


class IndexKind(StrEnum):
    """Kind of index of a segment."""

    offset = "offset"
    time = "time"


@dataclass(slots=True)
class IndexesRead:
    """Results besides the rows.

    Args:
        files: Indexes that were read.
        absent: Indexes that are not beside their segment.
        damage: Of indexes and segments.
    """

    files: int = 0
    absent: list[Path] = field(default_factory=list)
    damage: DamageTally = field(default_factory=DamageTally)


def index_entry_rows(logs: Sequence[PartitionLog], kinds: Sequence[IndexKind], read: IndexesRead) -> Iterator[Row]:
    """A row for each entry of the indexes beside the segments, in the order of the logs.

    An index is read before its segment: a broker that writes meanwhile appends to the segment first, so that what the
    entries lead to is there.

    Args:
        logs: The logs of the segments.
        kinds: Which indexes.
        read: Takes what else was found.

    Raises:
        InputError: A file cannot be read, or a segment's name is no offset.
    """
    for log in logs:
        replica = replica_beside(log.directory)
        for path in log.segments:
            yield from _of_segment(path, replica, kinds, read)


def _of_segment(
    path: Path, replica: ReplicaFiles | None, kinds: Sequence[IndexKind], read: IndexesRead
) -> Iterator[Row]:
    base = segment_offset(path.name.removesuffix(SWAP))
    if base is None:
        reason = "its name is not the offset that it begins with, from which its indexes count"
        raise InputError(str(path), "", reason, "give it the name that its broker gave it: 20 digits and .log")
    beside = {kind: _beside(path, base, _ENDINGS[kind]) for kind in kinds}
    contents = {kind: read_found_file(file) for kind, file in beside.items() if may_be_there(file)}
    read.absent += [file for kind, file in beside.items() if kind not in contents]
    (segment,) = read_log([path]).segments
    read.damage.add(segment.damage)
    read.files += len(contents)
    # A segment outside a log directory is judged as it is: no broker is known to make its index anew.
    rebuilt = replica is not None and replica.rebuilt(segment)
    for kind, small in contents.items():
        rows = _ROWS[kind](segment, small, str(beside[kind]), rebuilt, read.damage)
        yield from ({name: row.get(name) for name in COLUMNS} for row in rows)


def _beside(segment: Path, base_offset: int, ending: str) -> Path:
    """The index that a broker will have for the segment: what is to be swapped goes before what is there."""
    path = segment.with_name(f"{base_offset:020d}{ending}")
    swap = path.with_name(path.name + SWAP)
    return swap if segment.name.endswith(SWAP) or is_there(swap) else path


def _offset_rows(
    segment: SegmentContents, read: SmallFile, file: str, rebuilt: bool, damage: DamageTally
) -> Iterator[Row]:
    index = decode_offset_index(read.content, segment.base_offset, file, read.unread)
    damage.add(index_damage(segment, index, rebuilt=rebuilt))
    verdicts = offset_entries(segment, index, rebuilt=rebuilt)
    for verdict, offset, position in zip(verdicts, index.offsets.tolist(), index.positions.tolist(), strict=True):
        entry = {"kind": IndexKind.offset.value, "byte": verdict.row * OFFSET_ENTRY_BYTES}
        yield {"file": file, **entry, "offset": offset, "position": position} | _judged(segment, verdict)


def _time_rows(
    segment: SegmentContents, read: SmallFile, file: str, rebuilt: bool, damage: DamageTally
) -> Iterator[Row]:
    index = decode_time_index(read.content, segment.base_offset, file, read.unread)
    damage.add(index_damage(segment, index, rebuilt=rebuilt))
    verdicts = time_entries(segment, index, rebuilt=rebuilt)
    for verdict, offset, timestamp in zip(verdicts, index.offsets.tolist(), index.timestamps.tolist(), strict=True):
        entry = {"kind": IndexKind.time.value, "byte": verdict.row * TIME_ENTRY_BYTES}
        yield {"file": file, **entry, "offset": offset, "timestamp": timestamp} | _judged(segment, verdict)


def _judged(segment: SegmentContents, verdict: EntryVerdict) -> Row:
    said: Row = {"valid": verdict.valid}
    if verdict.valid is False:
        said |= {"message": verdict.message, "expected": verdict.expected, "found": verdict.found}
    if verdict.batch is not None:
        batches, at = segment.batches, verdict.batch
        said["batch_base_offset"] = int(batches.base_offset[at])
        said["batch_last_offset"] = int(batches.last_offset[at])
        said["batch_max_timestamp"] = int(batches.max_timestamp[at])
    return said


_ENDINGS: Final = {IndexKind.offset: ".index", IndexKind.time: ".timeindex"}
_Rows = Callable[[SegmentContents, SmallFile, str, bool, DamageTally], Iterator[Row]]
_ROWS: Final[dict[IndexKind, _Rows]] = {IndexKind.offset: _offset_rows, IndexKind.time: _time_rows}
