"""Finds the files of a metadata log and applies them in order, up to any offset."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kreplica.errors import InputError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import FileBytes, read_small_file
from kreplica.formats.find_files import find_files, is_there, named_paths
from kreplica.formats.log_directory.cluster_identity import cluster_id_of
from kreplica.formats.log_directory.listing import parse_partition_directory
from kreplica.formats.log_directory.quorum_state import QUORUM_STATE, decode_quorum_state
from kreplica.formats.logs.partition_logs import PartitionLog, log_end, segment_offset
from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange
from kreplica.formats.metadata_log.log import (
    METADATA_DIRECTORY,
    MetadataEntry,
    checkpoint_epoch,
    checkpoint_offset,
    metadata_entries,
)
from kreplica.formats.segments.control_records import SNAPSHOT_HEADER
from kreplica.formats.segments.log_end import LogEnd
from kreplica.model.internal_topics import METADATA_TOPIC

_FORMATTED = 0
"""The checkpoint of offset 0 holds the records the cluster was formatted with; the log has the same ones again."""


@dataclass(frozen=True, slots=True)
class MetadataFiles:
    """The files of one metadata log.

    Args:
        home: Its directory, or the one file that was named.
        segments: Segments by first offset, in order.
        checkpoints: Checkpoints by the offset they go up to, in order.
    """

    home: Path
    segments: tuple[tuple[int, Path], ...]
    checkpoints: tuple[tuple[int, Path], ...]

    @property
    def log_directory(self) -> Path:
        """The log directory that they are in."""
        return (self.home if self.home.is_dir() else self.home.absolute().parent).absolute().parent

    @property
    def cluster_id(self) -> str | None:
        """The cluster id of that log directory, None if it has none."""
        return cluster_id_of(self.log_directory, [])

    def checkpoint_before(self, offset: int | None) -> tuple[int, Path] | None:
        """The newest checkpoint that goes up to that offset at most; of all if it is None."""
        fitting = [each for each in self.checkpoints if offset is None or each[0] <= offset]
        return fitting[-1] if fitting else None


@dataclass(slots=True)
class Replay:
    """A metadata log while it is read.

    Args:
        image: The state so far.
        damage: Ranges and records that could not be decoded so far.
        start: Offset from which on every change is seen; what was before is known as a state only.
    """

    image: MetadataImage = field(default_factory=MetadataImage)
    damage: list[Damage] = field(default_factory=list)
    start: int = 0


def is_metadata_path(path: Path) -> bool:
    """True if a path is a segment or checkpoint of a metadata log, its directory, a log directory with one, or one
    above a node's log directories.
    """
    if path.is_dir():
        return _is_home(path) or any(_holds_log(each) for each in (path, *path.iterdir()))
    return checkpoint_offset(path.name) is not None or (
        segment_offset(path.name) is not None and path.absolute().parent.name == METADATA_DIRECTORY
    )


def _holds_log(directory: Path) -> bool:
    try:
        return (directory / METADATA_DIRECTORY).is_dir()
    except OSError:  # one that may not be entered is none of a metadata log
        return False


def find_metadata(path: str) -> MetadataFiles:
    """The metadata log at a path: its directory, a directory above it, a segment or a checkpoint; or at a pattern.

    Raises:
        InputError: There is none, there are several, or the path cannot be read.
    """
    logs = find_metadata_logs([path])
    if len(logs) > 1:
        some = ", ".join(str(log.home) for log in logs[:3])
        raise InputError(path, "", f"{len(logs)} metadata logs in it: {some}", "name one of them")
    return logs[0]


def find_metadata_logs(paths: Sequence[str], refused: list[InputError] | None = None) -> list[MetadataFiles]:
    """Every metadata log at the paths, by its place; files of one directory that are named one by one are one log.

    Args:
        paths: Files, directories and patterns.
        refused: Takes why directories cannot be listed that are called otherwise than those of partitions; without it
            the first is raised, as that of a metadata log always is. Another partition's is of no use here.

    Raises:
        InputError: There is none, or a path cannot be read.
    """
    failures: list[InputError] = []
    files = find_files(paths, _is_file_of_log, failures)
    for failure in failures:
        place = parse_partition_directory(Path(failure.source).absolute().name)
        if place is None and refused is not None:
            refused.append(failure)
        elif place is None or place.topic == METADATA_TOPIC:
            raise failure
    named = list(named_paths(paths, []))
    if len(named) == 1 and not named[0].is_dir():
        return [_files(named[0], files)]
    homes = _homes(files, named, {path for path in map(Path, paths) if _is_file_of_log(path.name)})
    if not homes:
        reason = f"no {METADATA_DIRECTORY} in {'it' if len(paths) == 1 else 'them'}"
        raise InputError(", ".join(paths), "", reason, "name the log directory of a KRaft node")
    return [_files(home, [file for file in files if file.parent == home]) for home in homes]


def _is_file_of_log(name: str) -> bool:
    return segment_offset(name) is not None or checkpoint_offset(name) is not None


def _homes(files: Sequence[Path], named: Sequence[Path], given: Collection[Path]) -> list[Path]:
    """Directories of metadata logs: called so, or with files that were named one by one, or else named themselves."""
    homes = {file.parent for file in files if file.absolute().parent.name == METADATA_DIRECTORY or file in given}
    return sorted(homes or {each for each in named if each.is_dir() and _is_home(each)})


def furthest_metadata(logs: Sequence[MetadataFiles]) -> tuple[MetadataFiles, list[tuple[MetadataFiles, LogEnd]]]:
    """The most trusted of one cluster's metadata logs, by a voter's rule: highest last epoch, then the longest.

    Returns:
        That log, and the others with their ends. Kafka: OffsetAndEpoch.compareTo, by which a voter grants a vote.
    """
    if len(logs) == 1:
        return logs[0], []
    ends = [(log, _metadata_end(log)) for log in logs]
    ends.sort(key=lambda each: (-each[1].leader_epoch, -each[1].end_offset))
    return ends[0][0], ends[1:]


def _metadata_end(files: MetadataFiles) -> LogEnd:
    """The end of a log: its last batch, or its newest checkpoint where that goes further."""
    ends = [log_end(PartitionLog(files.home, None, None, tuple(path for _, path in files.segments)))]
    ends += [LogEnd(checkpoint_epoch(path.name), offset) for offset, path in files.checkpoints]
    return max(ends, key=lambda end: (end.leader_epoch, end.end_offset))


def _is_home(path: Path) -> bool:
    return path.absolute().name == METADATA_DIRECTORY or any(path.glob("*" + "[0-9]" * 10 + ".checkpoint"))


def _files(home: Path, files: list[Path]) -> MetadataFiles:
    segments = sorted((offset, file) for file in files if (offset := segment_offset(file.name)) is not None)
    checkpoints = sorted((offset, file) for file in files if (offset := checkpoint_offset(file.name)) is not None)
    if not segments and not checkpoints:
        raise InputError(str(home), "", "neither a segment nor a checkpoint of a metadata log", _NAMES)
    return MetadataFiles(home, tuple(segments), tuple(checkpoints))


_NAMES = (
    "segments are named 00000000000000000000.log, checkpoints 00000000000000000000-0000000000.checkpoint or"
    " bootstrap.checkpoint"
)


def state_at(files: MetadataFiles, offset: int | None) -> Replay:
    """The state when ``offset`` was the next one to be written; at the end of the log if it is None.

    Starts from the newest checkpoint that is not after it.

    Raises:
        InputError: The log does not reach back, or forward, to that offset.
    """
    base = files.checkpoint_before(offset)
    replay = Replay()
    for _ in history(files, replay, base, offset):
        pass
    if offset is None:
        take_remembered_leader(files, replay.image)
    elif replay.image.next_offset < offset:
        reason = f"it ends before offset {offset}: the next one is {replay.image.next_offset}"
        raise InputError(str(files.home), "", reason)
    return replay


def history(
    files: MetadataFiles, replay: Replay, base: tuple[int, Path] | None, as_of: int | None = None
) -> Iterator[tuple[MetadataEntry, list[PartitionChange]]]:
    """Applies the log to the replay's image, entry by entry, each with the changes it made to partitions.

    Args:
        files: The log.
        replay: Takes state and damage, while the entries are iterated.
        base: The checkpoint to begin with; None for the beginning of the log.
        as_of: The first offset that is not applied; None for all.

    Raises:
        InputError: The log does not go on where the checkpoint ends.
    """
    if base is not None and (base[0] > _FORMATTED or not files.segments):
        _load(replay, base)
    first = replay.start = replay.image.next_offset
    if files.segments and files.segments[0][0] > first:
        raise _no_beginning(files, first)
    starts = [offset for offset, _ in files.segments]
    for number, (_, path) in enumerate(files.segments):
        if number + 1 < len(starts) and starts[number + 1] <= first:
            continue  # all of it is in the checkpoint
        yield from _apply(path, replay, lambda offset: first <= offset and (as_of is None or offset < as_of))
        if as_of is not None and replay.image.next_offset >= as_of:
            return


def take_remembered_leader(files: MetadataFiles, image: MetadataImage) -> None:
    """Takes the quorum's leader from quorum-state where the log does not name it: it was cut after a checkpoint since.

    Args:
        files: The log.
        image: The state at its end.
    """
    path = files.home / QUORUM_STATE
    if image.leader is not None or not is_there(path):
        return
    state = decode_quorum_state(read_small_file(path).content, str(path))
    if state.leader_id is not None and state.leader_id >= 0 and state.leader_epoch == _metadata_end(files).leader_epoch:
        image.leader, image.leader_epoch = state.leader_id, state.leader_epoch


def earliest(files: MetadataFiles) -> tuple[int, Path] | None:
    """The checkpoint that the longest history begins with; None where the log itself begins at offset 0."""
    first = files.segments[0][0] if files.segments else _FORMATTED
    if files.segments and first == 0:
        return None
    return next((each for each in files.checkpoints if each[0] >= first), None)


def _load(replay: Replay, checkpoint: tuple[int, Path]) -> None:
    """Takes the state of a checkpoint, as of the last record that it stands for: the file is written later."""
    offset, path = checkpoint
    last = 0
    for entry, _ in _apply(path, replay, lambda _: True):
        if entry.record.type == SNAPSHOT_HEADER and entry.record.data is not None:
            last = entry.record.data["lastContainedLogTimestamp"]
    replay.image.next_offset = offset
    replay.image.timestamp = last if last > 0 else replay.image.timestamp
    for broker, state in replay.image.brokers.items():
        if state.down_since is not None:
            replay.image.brokers[broker] = replace(state, down_since=replay.image.timestamp)


def _apply(
    path: Path, replay: Replay, wanted: Callable[[int], bool]
) -> Iterator[tuple[MetadataEntry, list[PartitionChange]]]:
    with FileBytes.open(path) as source:
        for entry in metadata_entries(source, replay.damage):
            if wanted(entry.offset):
                yield entry, replay.image.apply(entry)
            elif entry.offset < replay.start:  # the state is a checkpoint's, which does not name the quorum's leader
                replay.image.note_leader(entry)


def _no_beginning(files: MetadataFiles, next_offset: int) -> InputError:
    first = files.segments[0][0]
    reason = f"the first segment begins at offset {first}, and no checkpoint holds what was before"
    if next_offset:
        reason = f"the checkpoint ends at offset {next_offset} and the first segment begins at {first}"
    elif (base := earliest(files)) is not None:
        reason = f"the state then is gone: the first segment begins at offset {first}"
        return InputError(str(files.home), "", reason, f"the earliest state that is left is that at offset {base[0]}")
    return InputError(str(files.home), "", reason, f"name the directory {METADATA_DIRECTORY} with all its files")
