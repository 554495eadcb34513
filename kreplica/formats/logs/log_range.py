"""The log of one replica as a whole: headers of the batches of all its segments, and its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import ByteSource, FoundBytes
from kreplica.formats.registry import named_offset
from kreplica.formats.segments.batches import BatchColumns, read_headers
from kreplica.formats.segments.control_records import ABORT
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import BatchWindow, read_windows


@dataclass(frozen=True, slots=True)
class AbortMarker:
    """Marker of an aborted transaction: its offset and producer, and the byte at which its batch begins."""

    offset: int
    producer_id: int
    position: int


@dataclass(frozen=True, slots=True, eq=False)
class SegmentContents:
    """Contents of one segment.

    Args:
        path: The file.
        base_offset: The number that its name is.
        batches: Headers of its sound batches, in the order of the file; ``base_offset`` is filled in for old
            compressed messages too, as the offset after the batch before.
        aborts: Markers of aborted transactions.
        damage: Ranges that are no sound batch.
        readable: True if all of it was read: else nothing is known of the rest.
    """

    path: Path
    base_offset: int
    batches: BatchColumns
    aborts: tuple[AbortMarker, ...]
    damage: tuple[Damage, ...]
    readable: bool = True

    @property
    def end_offset(self) -> int:
        """The offset after its last sound batch; its base offset where there is none."""
        return int(self.batches.last_offset[-1]) + 1 if len(self.batches) else self.base_offset


@dataclass(frozen=True, slots=True, eq=False)
class LogContents:
    """Contents of all segments of a replica, by their base offsets.

    Args:
        segments: Those that were found.
        damage: Why there may be more of them: their directory cannot be listed.
    """

    segments: tuple[SegmentContents, ...]
    damage: tuple[Damage, ...] = ()

    @property
    def readable(self) -> bool:
        """True if all segments were read to their ends: else the log goes further than it seems."""
        return not self.damage and all(segment.readable for segment in self.segments)

    @property
    def start_offset(self) -> int:
        """The first segment's base offset: the log start unless a checkpoint has a later one; 0 without segments."""
        return self.segments[0].base_offset if self.segments else 0

    @property
    def end_offset(self) -> int:
        """The log end offset; 0 without segments."""
        return self.segments[-1].end_offset if self.segments else 0

    @property
    def batches(self) -> BatchColumns:
        """The batches of all segments."""
        return BatchColumns.concatenate([no_batches(), *(segment.batches for segment in self.segments)])

    def epochs(self) -> list[tuple[int, int]]:
        """Leader epoch and first offset of each stretch of batches, as LeaderEpochFileCache would have them."""
        batches = self.batches
        known = batches.take(batches.leader_epoch >= 0)
        if not len(known):
            return []
        highest = np.maximum.accumulate(known.leader_epoch)
        begins = np.flatnonzero(np.diff(highest, prepend=-1))
        return [(int(highest[index]), int(known.base_offset[index])) for index in begins.tolist()]


def no_batches() -> BatchColumns:
    """Columns without a row."""
    nothing: np.ndarray[tuple[int], np.dtype[np.int64]] = np.zeros(0, np.int64)
    return read_headers(np.zeros(0, np.uint8), nothing, np.zeros(0, np.bool_))


def read_log(segments: Sequence[Path]) -> LogContents:
    """Reads segments whose names are their base offsets.

    Args:
        segments: Files of one replica, sorted; one that cannot be read holds nothing but damage.
    """
    read = []
    for path in segments:
        with FoundBytes.open(path) as source:
            read.append(replace(read_segment(source, path), readable=not source.failures))
    return LogContents(tuple(read))


def read_segment(source: ByteSource, path: Path) -> SegmentContents:
    """Reads one segment.

    Args:
        source: Its bytes.
        path: Its path, whose name is its base offset.
    """
    parts, damage, aborts = [no_batches()], list[Damage](), list[AbortMarker]()
    for window in read_windows(source):
        parts.append(window.batches.take(window.batches.valid))
        damage += window.damage
        aborts += _aborts(window)
    base = named_offset(path.name)
    return SegmentContents(path, base, _filled_in(BatchColumns.concatenate(parts), base), tuple(aborts), tuple(damage))


def _filled_in(batches: BatchColumns, base: int) -> BatchColumns:
    before = np.concatenate([[base], batches.last_offset[:-1] + 1])[: len(batches)]
    unknown = (batches.base_offset < 0) & (batches.magic < 2)
    return replace(batches, base_offset=np.where(unknown, before, batches.base_offset))


def _aborts(window: BatchWindow) -> Iterator[AbortMarker]:
    control = window.batches.control & window.batches.transactional & window.batches.valid
    if not control.any():
        return
    for records in decode_records(replace(window, batches=window.batches.take(control))):
        for index, batch in enumerate(records.batch.tolist()):
            key = records.key(index) or b""
            if int.from_bytes(key[2:4], "big") == ABORT and len(key) >= 4:
                batches = records.batches
                producer, position = int(batches.producer_id[batch]), int(batches.position[batch])
                yield AbortMarker(int(records.offset[index]), producer, position)
