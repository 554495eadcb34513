"""The logs of partitions on disks: segments of one directory, in order; copies of a partition held side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kreplica.formats.batch_windows import read_windows
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.files import find_files
from kreplica.formats.log_directory import PartitionDirectory, parse_partition_directory

_SEGMENT = re.compile(r"(?P<offset>\d{20})\.log", re.ASCII)


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """The log of one replica.

    Args:
        directory: Where its segments stand.
        topic, partition: As the directory's name says; None where it does not.
        segments: Its segments, by their first offset.
    """

    directory: Path
    topic: str | None
    partition: int | None
    segments: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class LogEnd:
    """How far a log goes: the leader epoch of its last batch, -1 if it has none, and the offset behind it."""

    leader_epoch: int
    end_offset: int


def segment_offset(name: str) -> int | None:
    """First offset of a segment by its file name; None if it is no segment."""
    found = _SEGMENT.fullmatch(name)
    return None if found is None else int(found["offset"])


def find_logs(paths: Sequence[str], topic: str | None = None) -> list[PartitionLog]:
    """The logs below the named files and directories.

    Args:
        paths: Segments, directories and patterns. A file that is named itself counts as a segment whatever its name.
        topic: Only directories of this topic, and files that are named themselves.

    Raises:
        InputError: A path does not exist or cannot be listed.
    """
    named = {Path(text) for text in paths}
    found: dict[Path, list[Path]] = {}
    for path in find_files(paths, lambda name: segment_offset(name) is not None):
        place = _place(path.parent)
        if path in named or topic is None or (place is not None and place.topic == topic):
            found.setdefault(path.parent, []).append(path)
    return [_log(directory, segments) for directory, segments in found.items()]


def _place(directory: Path) -> PartitionDirectory | None:
    """The replica that a directory holds and that a broker would use; None for future, stray and deleted ones."""
    place = parse_partition_directory(directory.absolute().name)
    return place if place is not None and place.state == "current" else None


def _log(directory: Path, segments: Iterable[Path]) -> PartitionLog:
    place = _place(directory)
    topic, partition = (None, None) if place is None else (place.topic, place.partition)
    return PartitionLog(directory, topic, partition, tuple(sorted(segments, key=lambda path: path.name)))


def log_end(log: PartitionLog) -> LogEnd:
    """How far a log goes, as its last valid batch says."""
    for path in reversed(log.segments):
        end = LogEnd(-1, -1)
        with FileBytes.open(path) as source:
            for window in read_windows(source):
                sound = window.batches.take(window.batches.valid)
                if len(sound):
                    end = LogEnd(int(sound.leader_epoch[-1]), int(sound.last_offset[-1]) + 1)
        if end.end_offset >= 0:
            return end
    return LogEnd(-1, 0)


def furthest(copies: Sequence[PartitionLog]) -> list[PartitionLog]:
    """Copies of one partition, the one to believe first: the highest last leader epoch, then the longest log."""
    if len(copies) == 1:
        return list(copies)
    ends = {copy.directory: log_end(copy) for copy in copies}

    def rank(copy: PartitionLog) -> tuple[int, int]:
        end = ends[copy.directory]
        return (-end.leader_epoch, -end.end_offset)

    return sorted(copies, key=rank)


def first_copies(logs: Iterable[PartitionLog]) -> tuple[list[PartitionLog], list[PartitionLog]]:
    """Of each partition the copy to believe first, by partition; and the other copies.

    A log whose directory tells no partition stands for itself.
    """
    copies: dict[object, list[PartitionLog]] = {}
    for log in logs:
        copies.setdefault(log.directory if log.partition is None else log.partition, []).append(log)
    ranked = [furthest(some) for some in copies.values()]
    ranked.sort(key=lambda some: (some[0].partition is None, some[0].partition or 0))
    return [some[0] for some in ranked], [log for some in ranked for log in some[1:]]
