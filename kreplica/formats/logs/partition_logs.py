"""The logs of partitions on disks: segments of one directory, in order; copies of a partition compared.

Also the files that a broker would have of a partition's directory in which it was replacing segments when it ended.

Compaction writes the records it keeps to ``.cleaned`` files. Complete ones are renamed to ``.swap``, then the segments
that they replace to ``.deleted``, then ``.swap`` is removed from the names. Between two of these steps records are in
several files, or in none that is called ``.log``. A broker completes the replacement when it starts. Kafka:
LogLoader.load, LogLoader.removeTempFilesAndCollectSwapFiles, LocalLog.replaceSegments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kreplica.errors import InputError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.find_files import find_files, named_paths
from kreplica.formats.log_directory.cluster_identity import require_one_cluster, topic_id_of
from kreplica.formats.log_directory.listing import PartitionDirectory, parse_partition_directory
from kreplica.formats.registry import (
    BOOTSTRAP,
    SEGMENT,
    SNAPSHOT,
    FileFormat,
    named_offset,
    other_format,
    own_format,
    refusal,
)
from kreplica.formats.segments.log_end import LogEnd, segment_end

SWAP, CLEANED, DELETED = ".swap", ".cleaned", ".deleted"
"""Endings of files that are to replace others, that are not complete yet, and that have been replaced."""

_NUMBERED = re.compile(r"(\d{20})\..+", re.ASCII)


def is_temporary(name: str) -> bool:
    """True if a file belongs to a replacement of segments."""
    return name.endswith((SWAP, CLEANED, DELETED)) and _offset(name) is not None


def files_after_swap(directory: Path, names: Collection[str]) -> dict[str, Path]:
    """The files that a broker would have of these after its start: the present path of each by its name then.

    Args:
        directory: A partition's directory.
        names: Of files in it.

    Raises:
        InputError: A file that is to take the place of others cannot be read.
    """

    def next_offset(name: str) -> int:
        end = segment_end(directory / name)
        return named_offset(name) if end is None else end.end_offset

    return {name: directory / now for name, now in after_swap(names, next_offset).items()}


def after_swap(names: Collection[str], next_offset: Callable[[str], int]) -> dict[str, str]:
    """The files that a broker would have after its start: the present name of each by its name then.

    Args:
        names: Of all files of a partition's directory.
        next_offset: The offset after the last record of a ``.log.swap``, the one of its name if it holds none.
    """
    if not any(map(is_temporary, names)):
        return {name: name for name in names}
    swaps = _valid_swaps(names)
    left = [name for name in names if not is_temporary(name)]
    logs = [name for name in swaps if name.endswith(".log" + SWAP)]
    if logs:
        begin, end = min(map(named_offset, logs)), max(next_offset(name) for name in logs)
        left = [name for name in left if (offset := _offset(name)) is None or not begin <= offset < end]
    # a file that is there under the name already is overwritten
    return {name: name for name in left} | {name.removesuffix(SWAP): name for name in swaps}


def _valid_swaps(names: Collection[str]) -> list[str]:
    """Swap files whose replacement will be completed; those of an unfinished split (KAFKA-6264) are left out."""
    unfinished = [named_offset(name) for name in names if name.endswith(CLEANED) and _offset(name) is not None]
    most = min(unfinished, default=None)
    swaps = (name for name in names if name.endswith(SWAP) and _offset(name) is not None)
    return [name for name in swaps if most is None or named_offset(name) < most]


def _offset(name: str) -> int | None:
    found = _NUMBERED.fullmatch(name)
    return None if found is None else int(found[1])


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """The log of one replica.

    Args:
        directory: The directory of its segments.
        topic, partition: As the directory's name says; None where it does not.
        segments: Its segments, by their first offset.
        topic_id: The topic id in its directory, where it is one of several copies; None if there is none.
    """

    directory: Path
    topic: str | None
    partition: int | None
    segments: tuple[Path, ...]
    topic_id: str | None = None

    @property
    def home(self) -> Path:
        """Its log directory."""
        return self.directory.parent if self.directory.name else self.directory.absolute().parent


def segment_offset(name: str) -> int | None:
    """First offset of a segment by its file name; None if it is no segment."""
    found = SEGMENT.pattern.fullmatch(name)
    return None if found is None else int(found["offset"])


def find_logs(
    paths: Sequence[str], topic: str | None = None, refused: list[InputError] | None = None
) -> list[PartitionLog]:
    """The logs below the named files and directories.

    Args:
        paths: Segments, directories and patterns. A file that is named itself counts as a segment whatever its name,
            unless the registry knows it as something else, or others are named with it that take its place.
        topic: Only directories of this topic, and files that are named themselves; of those that a pattern matches only
            such as are not in the directory of another topic's partition. A directory of another name tells no
            partition then.
        refused: Takes why directories cannot be listed that may hold such logs, and the others are found all the same.
            Without it, and where there are no others, the first of them is raised.

    Raises:
        InputError: A path does not exist or cannot be listed, or the only segment cannot be read.
        UsageError: All files that are named are something else than segments.
    """
    named = {path for path in named_paths(paths, []) if not path.is_dir()}  # find_files reports the refused ones
    others = {path: other for path in sorted(named) if (other := _no_segment(path)) is not None}
    found: dict[Path, list[Path]] = {}
    failures: list[InputError] = []
    for path in find_files(paths, lambda name: segment_offset(name) is not None or is_temporary(name), failures):
        itself = str(path) in paths or (path in named and _place(path.parent) is None)
        if path not in others and (itself or _is_of(path.parent, topic)):
            found.setdefault(path.parent, []).append(path)
    if others and not found:
        raise refusal(*next(iter(others.items())))
    logs = [log for directory, files in found.items() if (log := _log(directory, files, topic, named)).segments]
    failures = [each for each in failures if _may_be_of(Path(each.source), topic)]
    if failures and (refused is None or not logs):
        raise failures[0]
    if refused is not None:
        refused += failures
    if len(segments := [path for log in logs for path in log.segments]) == 1 and not failures:
        FileBytes.open(segments[0]).close()  # of many, one that cannot be read is damage
    return logs


def _may_be_of(directory: Path, topic: str | None) -> bool:
    """True if a directory of which only the name is known may hold logs of the topic."""
    return _is_of(directory, topic) or parse_partition_directory(directory.absolute().name) is None


def _is_of(directory: Path, topic: str | None) -> bool:
    place = _place(directory)
    return topic is None or (place is not None and place.topic == topic)


def _no_segment(path: Path) -> FileFormat | None:
    return None if segment_offset(path.name) is not None else other_format(path, SEGMENT, SNAPSHOT, BOOTSTRAP)


def _place(directory: Path) -> PartitionDirectory | None:
    """The replica that a directory holds and that a broker would use; None for future, stray and deleted ones."""
    place = parse_partition_directory(directory.absolute().name)
    return place if place is not None and place.state == "current" else None


def _log(directory: Path, files: Sequence[Path], topic: str | None, named: Collection[Path]) -> PartitionLog:
    place = _place(directory) if _is_of(directory, topic) else None  # restored-3 names no partition of another topic
    name, partition = (None, None) if place is None else (place.topic, place.partition)
    segments = _segments(directory, files) or tuple(path for path in files if path in named)
    return PartitionLog(directory, name, partition, segments)


def _segments(directory: Path, files: Sequence[Path]) -> tuple[Path, ...]:
    """Those of the files that are segments when the broker has started; one of a name of its own counts as one, too."""
    there = files_after_swap(directory, [path.name for path in files])
    return tuple(there[name] for name in sorted(there) if own_format(name) in (SEGMENT, None))


def log_end(log: PartitionLog) -> LogEnd:
    """The end of a log, by its last valid batch."""
    ends = (segment_end(path) for path in reversed(log.segments))
    return next((end for end in ends if end is not None), LogEnd(-1, 0))


def furthest(copies: Sequence[PartitionLog]) -> list[PartitionLog]:
    """Copies of one partition, the most trusted first: the highest last leader epoch, then the longest log."""
    if len(copies) == 1:
        return list(copies)
    ends = {copy.directory: log_end(copy) for copy in copies}

    def rank(copy: PartitionLog) -> tuple[int, int]:
        end = ends[copy.directory]
        return (-end.leader_epoch, -end.end_offset)

    return sorted(copies, key=rank)


def first_copies(logs: Iterable[PartitionLog], damage: list[Damage]) -> tuple[list[PartitionLog], list[PartitionLog]]:
    """The most trusted copy of each partition, by partition; and the other copies. Copies have their topic ids.

    A log whose directory names no partition counts as one of its own.

    Args:
        logs: All copies.
        damage: Takes the files without a cluster or topic id.

    Raises:
        UsageError: They are of several clusters.
    """
    logs = list(logs)
    require_one_cluster((log.home for log in logs if log.partition is not None), damage)
    copies: dict[object, list[PartitionLog]] = {}
    for log in logs:
        copies.setdefault(log.directory if log.partition is None else log.partition, []).append(log)
    ranked = [_with_topic_ids(furthest(some), damage) for some in copies.values()]
    ranked.sort(key=lambda some: (some[0].partition is None, some[0].partition or 0))
    return [some[0] for some in ranked], [log for some in ranked for log in some[1:]]


def _with_topic_ids(copies: list[PartitionLog], damage: list[Damage]) -> list[PartitionLog]:
    """Copies of one partition, where there are several: they may be of two topics of one name (KIP-516)."""
    if len(copies) == 1:
        return copies
    return [replace(copy, topic_id=topic_id_of(copy.directory, damage)) for copy in copies]


def copy_warnings(chosen: Iterable[PartitionLog], copies: Sequence[PartitionLog]) -> list[str]:
    """A line for each log directory: a cluster's disks together have a hundred copies of the topic's partitions.

    A copy of another topic id gets a line of its own: only the cluster knows which of two topics of a name is newer.

    Args:
        chosen: Copies of ``first_copies`` that are read.
        copies: Those that are not.
    """
    read = {log.partition: log for log in chosen} if copies else {}
    homes: dict[Path, list[PartitionLog]] = {}
    for log in copies:
        homes.setdefault(log.directory.parent, []).append(log)
    strange = [told for log in copies if (told := _of_another_topic(log, read[log.partition]))]
    return [*strange, *(_told(home, logs) for home, logs in homes.items())]


def _of_another_topic(copy: PartitionLog, read: PartitionLog) -> str:
    """A remark where the topic was deleted and created again between two copies (KIP-516); empty otherwise."""
    other, mine = copy.topic_id, read.topic_id
    if other == mine or None in (other, mine):
        return ""
    return (
        f"{copy.directory} is of another topic of that name ({other}) than {read.directory} ({mine}), which is read:"
        " if the cluster has the other one, name its directory alone"
    )


def _told(home: Path, logs: list[PartitionLog]) -> str:
    if len(logs) == 1:
        return f"{logs[0].directory} is another copy of partition {logs[0].partition}, not read"
    numbers = ", ".join(str(log.partition) for log in logs)
    return f"{home} has other copies of partitions {numbers}, not read"
