"""The input of a rule: every file of one replica decoded, and the log directory it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from msgspec import Struct

from kreplica.errors import InputError, KreplicaError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import not_read, read_found_file
from kreplica.formats.find_files import find_files, is_there, names_in
from kreplica.formats.log_directory.indexes import (
    OffsetIndex,
    TimeIndex,
    TransactionIndex,
    decode_offset_index,
    decode_time_index,
    decode_transaction_index,
)
from kreplica.formats.log_directory.leader_epoch_checkpoint import LEADER_EPOCH_CHECKPOINT
from kreplica.formats.log_directory.listing import (
    OF_A_PARTITION,
    OF_THE_DIRECTORY,
    LogDirectory,
    PartitionDirectory,
    parse_partition_directory,
    read_log_directories,
)
from kreplica.formats.log_directory.offset_checkpoint import LOG_START, RECOVERY_POINT
from kreplica.formats.log_directory.producer_snapshot import ProducerSnapshot, decode_producer_snapshot
from kreplica.formats.logs.index_rows import is_index_file
from kreplica.formats.logs.log_range import LogContents, SegmentContents, read_log
from kreplica.formats.logs.partition_logs import files_after_swap, segment_offset
from kreplica.formats.registry import own_format
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.system.guard import attempt

Decoded = TypeVar("Decoded")
_Decoder: TypeAlias = Callable[[bytes, int, str, Sequence[Damage]], Decoded]
Lines: TypeAlias = Mapping[tuple[str, int], Mapping[str, tuple[int, int]]]
"""By topic and partition, then by checkpoint file: byte of the line and offset."""


class Finding(Struct, frozen=True):
    """A fault that no broker would leave, whether it stopped in order or was killed."""

    rule: Annotated[str, Meaning("rule that found it; `rules` of the summary names all")]
    file: Annotated[str, Meaning("file that is wrong")]
    position: Annotated[int, Meaning("byte in it")]
    topic: Annotated[str | None, Meaning("topic of the replica, null for a file of the whole log directory")]
    partition: Annotated[Int32 | None, Meaning("its partition, null likewise")]
    message: Annotated[str, Meaning("what is wrong")]
    expected: Annotated[str, Meaning("what should stand there, as far as the other files tell")]
    found: Annotated[str, Meaning("what stands there")]

    @classmethod
    def of_damage(cls, rule: str, damage: Damage, topic: str | None = None, partition: int | None = None) -> Finding:
        """Damage as a finding."""
        return cls(rule, damage.file, damage.position, topic, partition, damage.reason, damage.expected, damage.found)


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaFiles:
    """One replica.

    Args:
        home: Its log directory's files.
        path: Its own directory.
        place: Topic, partition and state of the replica.
        log: Its segments.
        offset_indexes, time_indexes, transaction_indexes: By base offset.
        snapshots: Producer snapshots by the offset of their name.
        said: Entry of this replica by the name of an offset checkpoint: byte of the line and offset.
        files: Present paths of files whose name will be another one when the broker starts (``files_after_swap``).
    """

    home: LogDirectory
    path: Path
    place: PartitionDirectory
    log: LogContents
    offset_indexes: Mapping[int, OffsetIndex] = field(default_factory=dict)
    time_indexes: Mapping[int, TimeIndex] = field(default_factory=dict)
    transaction_indexes: Mapping[int, TransactionIndex] = field(default_factory=dict)
    snapshots: Mapping[int, ProducerSnapshot] = field(default_factory=dict)
    said: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def topic_id(self) -> str | None:
        """The topic id in its directory."""
        return self.home.topic_id(self.place)

    @property
    def closed(self) -> bool:
        """True if the broker stopped in order; otherwise data that it had not written yet may be missing."""
        return self.home.clean_shutdown is not None

    def checkpoint(self, name: str) -> tuple[int, int] | None:
        """This replica's entry in an offset checkpoint: byte of the line and offset."""
        return self.said.get(name)

    @property
    def log_start_offset(self) -> int:
        """First offset that may be read: the first segment's, or the later one that the checkpoint has."""
        said = self.checkpoint(LOG_START)
        return self.log.start_offset if said is None else max(self.log.start_offset, said[1])

    def rebuilt(self, segment: SegmentContents) -> bool:
        """True if the broker would make the segment's indexes anew when it starts (LogLoader.recoverLog)."""
        said = self.checkpoint(RECOVERY_POINT)
        return not self.closed and segment.end_offset >= (0 if said is None else said[1])

    def file(self, base_offset: int, ending: str) -> str:
        """Path of a file that is named by an offset."""
        name = f"{base_offset:020d}{ending}"
        return str(self.files.get(name, self.path / name))

    def finding(self, rule: str, file: str, position: int, message: str, expected: object, found: object) -> Finding:
        """A finding on this replica."""
        return Finding(rule, file, position, self.place.topic, self.place.partition, message, str(expected), str(found))

    def damaged(self, rule: str, damage: Iterable[Damage]) -> list[Finding]:
        """Damage as findings."""
        return [Finding.of_damage(rule, each, self.place.topic, self.place.partition) for each in damage]


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaFolder:
    """A partition's directory that has been found, and not been read yet.

    Args:
        home: Its log directory's files.
        path: The directory.
        place: Topic, partition and state of the replica.
        said: As of ReplicaFiles.
    """

    home: LogDirectory
    path: Path
    place: PartitionDirectory
    said: Mapping[str, tuple[int, int]]

    @property
    def topic_id(self) -> str | None:
        """The topic id in the directory."""
        return self.home.topic_id(self.place)

    def segments(self) -> list[Path]:
        """Its segments, by their first offset; none where it cannot be listed."""
        return _segments(self._files()[0])

    def may_hold_log(self) -> bool:
        """True if it holds a segment, as far as is known."""
        there, damage = self._files()
        return bool(damage or _segments(there))

    def read(self) -> ReplicaFiles:
        """All its files, decoded: of each batch about 150 bytes are held."""
        there, damage = self._files()
        files = {name: path for name, path in there.items() if is_index_file(name)}
        return ReplicaFiles(
            self.home,
            self.path,
            self.place,
            replace(read_log(_segments(there)), damage=damage),
            _decoded(files, ".index", decode_offset_index),
            _decoded(files, ".timeindex", decode_time_index),
            _decoded(files, ".txnindex", lambda content, _, *rest: decode_transaction_index(content, *rest)),
            _decoded(files, ".snapshot", lambda content, _, *rest: decode_producer_snapshot(content, *rest)),
            self.said,
            there,
        )

    def _files(self) -> tuple[Mapping[str, Path], tuple[Damage, ...]]:
        """The files that a broker has when it starts, or damage if they are not known."""
        there = attempt(lambda: files_after_swap(self.path, names_in(self.path)))
        return ({}, (not_read(self.path, there),)) if isinstance(there, KreplicaError) else (there, ())


def _segments(files: Mapping[str, Path]) -> list[Path]:
    return [files[name] for name in sorted(files) if segment_offset(name) is not None]


def find_folders(
    paths: Sequence[str], refused: list[InputError] | None = None
) -> tuple[list[LogDirectory], list[ReplicaFolder]]:
    """Every log directory, its small files read, and every partition's directory below the paths.

    A partition's directory that is named itself is judged with the checkpoints of the directory it is in. One of a log
    directory that cannot be listed is among them.

    Args:
        paths: Directories and patterns.
        refused: Takes why directories that are no partition's cannot be listed; without it the first is raised.

    Raises:
        InputError: A path does not exist, or nothing but what cannot be listed is there.
    """
    failures: list[InputError] = []
    files = find_files(paths, lambda name: own_format(name) is not None, failures)
    # A log directory may be called data-1: a partition's directory is recognised by a file that only such a one has.
    of_partitions = {path.parent for path in files if path.name not in OF_THE_DIRECTORY}
    places = {folder: place for folder in sorted(of_partitions) if (place := _place(folder)) is not None}
    homes = {_home(folder) for folder in places} | {path.parent for path in files if path.name in OF_THE_DIRECTORY}
    for failure in failures:
        folder = Path(failure.source)
        if (place := _place(folder)) is not None and _home(folder) in homes:
            places[folder] = place
        elif refused is None:
            raise failure
        else:
            refused.append(failure)
    small = {home / name for home in homes for name in OF_THE_DIRECTORY}
    small |= {folder / name for folder in places for name in OF_A_PARTITION}
    there = set(files) | set(filter(is_there, small))
    read = {each.path: each for each in read_log_directories(sorted(there & small), read_found_file)}
    owners = {folder: read.setdefault(_home(folder), LogDirectory(_home(folder))) for folder in places}
    lines = {home.path: _lines(home) for home in read.values()}
    folders = [
        ReplicaFolder(home, folder, places[folder], _said(places[folder], lines[home.path]))
        for folder, home in owners.items()
    ]
    return list(read.values()), folders


def _place(folder: Path) -> PartitionDirectory | None:
    return parse_partition_directory(folder.absolute().name)


def replica_beside(folder: Path) -> ReplicaFiles | None:
    """A partition's directory with its entries in the checkpoints beside it, without its segments and indexes.

    None for a directory that is no partition's, or that lies in no broker's log directory.

    Raises:
        InputError: A checkpoint cannot be read.
    """
    place, path = _place(folder), _home(folder)
    small = [path / name for name in sorted(OF_THE_DIRECTORY) if is_there(path / name)]
    if place is None or not small:
        return None
    (home,) = read_log_directories(small, read_found_file)
    return ReplicaFiles(home, folder, place, LogContents(()), said=_said(place, _lines(home)))


def _said(place: PartitionDirectory, lines: Lines) -> Mapping[str, tuple[int, int]]:
    return lines.get((place.topic, place.partition), {}) if place.state == "current" else {}


def _lines(home: LogDirectory) -> Lines:
    found: dict[tuple[str, int], dict[str, tuple[int, int]]] = {}
    for name, checkpoint in home.checkpoints.items():
        numbers = zip(checkpoint.partitions.tolist(), checkpoint.positions, checkpoint.offsets.tolist(), strict=True)
        for topic, (partition, position, offset) in zip(checkpoint.topics, numbers, strict=True):
            found.setdefault((topic, partition), {})[name] = (position, offset)
    return found


def _home(folder: Path) -> Path:
    return folder.absolute().parent if folder == Path() else folder.parent


def _decoded(files: Mapping[str, Path], ending: str, decode: _Decoder[Decoded]) -> dict[int, Decoded]:
    """The files of one kind, by the offset that their name is."""
    numbered = [(int(name.removesuffix(ending)), files[name]) for name in sorted(files) if name.endswith(ending)]
    read = {base: (str(path), read_found_file(path)) for base, path in numbered}
    return {base: decode(small.content, base, file, small.unreadable) for base, (file, small) in read.items()}


def epoch_file(replica: ReplicaFiles) -> str:
    """Path of the replica's leader-epoch-checkpoint."""
    return str(replica.path / LEADER_EPOCH_CHECKPOINT)
