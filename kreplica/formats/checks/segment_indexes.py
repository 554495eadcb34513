"""The indexes beside segments as rows: every entry, the batch that it leads to, and whether the log agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Struct

from kreplica.errors import InputError
from kreplica.formats.checks.index_entries import EntryVerdict, index_damage, offset_entries, time_entries
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
from kreplica.model.tables.rows import Meaning


class IndexKind(StrEnum):
    """Kind of index of a segment."""

    offset = "offset"
    time = "time"


class CheckedEntry(Struct, frozen=True, kw_only=True):
    """An entry of an index, the batch that it leads to, and whether the log agrees."""

    file: Annotated[str, Meaning("index the entry is in")]
    kind: Annotated[IndexKind, Meaning("offset or time")]
    byte: Annotated[int, Meaning("where it stands in the file")]
    offset: Annotated[int, Meaning("offset the entry leads to")]
    position: Annotated[int | None, Meaning("byte in the segment at which its batch begins; null in a time index")] = (
        None
    )
    timestamp: Annotated[
        int | None, Meaning("largest timestamp up to that offset, ms since the epoch; null in an offset index")
    ] = None
    batch_base_offset: Annotated[int | None, Meaning("first offset of the batch it leads to, null if none", drop=3)] = (
        None
    )
    batch_last_offset: Annotated[int | None, Meaning("last offset of that batch", drop=2)] = None
    batch_max_timestamp: Annotated[int | None, Meaning("latest timestamp of that batch, in ms", drop=1)] = None
    valid: Annotated[bool | None, Meaning("whether the log agrees, null where it cannot tell")]
    message: Annotated[str | None, Meaning("what is wrong, null unless it is")] = None
    expected: Annotated[str | None, Meaning("what should stand there, null likewise")] = None
    found: Annotated[str | None, Meaning("what stands there, null likewise")] = None


_Judged = dict[str, Any]
"""Fields of an entry that come from the log."""


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


def index_entry_rows(
    logs: Sequence[PartitionLog], kinds: Sequence[IndexKind], read: IndexesRead
) -> Iterator[CheckedEntry]:
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
) -> Iterator[CheckedEntry]:
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
        yield from _ROWS[kind](segment, small, str(beside[kind]), rebuilt, read.damage)


def _beside(segment: Path, base_offset: int, ending: str) -> Path:
    """The index that a broker will have for the segment: what is to be swapped goes before what is there."""
    path = segment.with_name(f"{base_offset:020d}{ending}")
    swap = path.with_name(path.name + SWAP)
    return swap if segment.name.endswith(SWAP) or is_there(swap) else path


def _offset_rows(
    segment: SegmentContents, read: SmallFile, file: str, rebuilt: bool, damage: DamageTally
) -> Iterator[CheckedEntry]:
    index = decode_offset_index(read.content, segment.base_offset, file, read.unreadable)
    damage.add(index_damage(segment, index, rebuilt=rebuilt))
    verdicts = offset_entries(segment, index, rebuilt=rebuilt)
    for verdict, offset, position in zip(verdicts, index.offsets.tolist(), index.positions.tolist(), strict=True):
        byte, judged = verdict.row * OFFSET_ENTRY_BYTES, _judged(segment, verdict)
        yield CheckedEntry(file=file, kind=IndexKind.offset, byte=byte, offset=offset, position=position, **judged)


def _time_rows(
    segment: SegmentContents, read: SmallFile, file: str, rebuilt: bool, damage: DamageTally
) -> Iterator[CheckedEntry]:
    index = decode_time_index(read.content, segment.base_offset, file, read.unreadable)
    damage.add(index_damage(segment, index, rebuilt=rebuilt))
    verdicts = time_entries(segment, index, rebuilt=rebuilt)
    for verdict, offset, timestamp in zip(verdicts, index.offsets.tolist(), index.timestamps.tolist(), strict=True):
        byte, judged = verdict.row * TIME_ENTRY_BYTES, _judged(segment, verdict)
        yield CheckedEntry(file=file, kind=IndexKind.time, byte=byte, offset=offset, timestamp=timestamp, **judged)


def _judged(segment: SegmentContents, verdict: EntryVerdict) -> _Judged:
    said: _Judged = {"valid": verdict.valid}
    if verdict.valid is False:
        said |= {"message": verdict.message, "expected": verdict.expected, "found": verdict.found}
    if verdict.batch is not None:
        batches, at = segment.batches, verdict.batch
        said["batch_base_offset"] = int(batches.base_offset[at])
        said["batch_last_offset"] = int(batches.last_offset[at])
        said["batch_max_timestamp"] = int(batches.max_timestamp[at])
    return said


_ENDINGS: Final = {IndexKind.offset: ".index", IndexKind.time: ".timeindex"}
_Rows = Callable[[SegmentContents, SmallFile, str, bool, DamageTally], Iterator[CheckedEntry]]
_ROWS: Final[dict[IndexKind, _Rows]] = {IndexKind.offset: _offset_rows, IndexKind.time: _time_rows}
