"""Checkpoint files of log directories, read together: a row for each replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Struct

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import not_listed, read_found_file, read_small_file
from kreplica.formats.find_files import find_files
from kreplica.formats.log_directory.listing import (
    OF_A_PARTITION,
    SMALL_FILES,
    LogDirectory,
    PartitionDirectory,
    read_log_directories,
)
from kreplica.formats.log_directory.offset_checkpoint import CLEANER, OFFSET_CHECKPOINTS
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.topic_pattern import topic_pattern
from kreplica.model.wording.words import counted


class ReplicaCheckpoints(Struct, frozen=True):
    """Checkpoints of a replica in the files of its log directory; null where there is no file or no entry."""

    log_dir: Annotated[str, Meaning("log directory")]
    topic: Annotated[str, Meaning("topic name; of a directory that is to be deleted it may be cut off")]
    partition: Annotated[Int32, Meaning("partition index")]
    state: Annotated[
        str, Meaning("current, future (a copy that will replace one in another directory), delete or stray")
    ]
    topic_id: Annotated[str | None, Meaning("topic id of partition.metadata", screen=False)]
    log_start_offset: Annotated[
        int | None, Meaning("first offset left to read, where the first segment does not begin with it", drop=3)
    ]
    recovery_point: Annotated[
        int | None,
        Meaning("all before it is on the disk; after an unclean stop the log is checked from there", drop=4),
    ]
    high_watermark: Annotated[int | None, Meaning("high watermark when the file was written")]
    cleaner_offset: Annotated[int | None, Meaning("first offset that the log cleaner has not cleaned", drop=1)]
    epochs: Annotated[
        Sequence[Mapping[str, int]] | None,
        Meaning("leader epochs: objects with epoch and start_offset, the first offset written under it", drop=2),
    ]
    last_epoch: Annotated[Int32 | None, Meaning("the last of them", screen=False)]


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoint files that were read.

    Args:
        homes: The log directories.
        rows: A row for each replica that was asked for.
        damage: Ranges and files that could not be read.
    """

    homes: Sequence[LogDirectory]
    rows: Sequence[ReplicaCheckpoints]
    damage: Sequence[Damage]

    @property
    def exit_code(self) -> ExitCode:
        """1 for damage."""
        return ExitCode.FINDINGS if self.damage else ExitCode.OK

    @property
    def remarks(self) -> list[str]:
        """Checkpoint files that are absent, and directories of several clusters."""
        return _remarks(self.homes)


def decode_checkpoints(paths: Sequence[str], topics: str | None = None) -> Checkpoints:
    """Reads the checkpoint files in log directories.

    Args:
        paths: Log directories, directories that hold some, or checkpoint files.
        topics: Only topics whose whole name matches this regular expression; all if None.

    Raises:
        UsageError: There is nothing to read, or no topic matches.
        InputError: A file cannot be read.
    """
    homes, damage = _read(paths)
    return Checkpoints(homes, _rows(homes, topics), damage)


def _read(paths: Sequence[str]) -> tuple[list[LogDirectory], list[Damage]]:
    """The log directories, and the damage in their files."""
    refused: list[InputError] = []
    files = find_files(paths, SMALL_FILES.__contains__, refused)
    homes = read_log_directories(files, read_found_file if len(files) > 1 or refused else read_small_file)
    if not homes and any(file.name in OF_A_PARTITION for file in files):
        why = "the directory's name tells the partition, and none here is one"
        fix = "name it as orders-0/leader-epoch-checkpoint"
        raise UsageError(f"whose files these are is not known: {', '.join(paths)}", why, fix)
    if not homes:
        why = f"no file there is named {', '.join(sorted(SMALL_FILES))}"
        raise UsageError(f"no checkpoint files in {', '.join(paths)}", why, "name a log directory of a broker")
    return homes, [*not_listed(refused), *(each for home in homes for each in home.damage)]


def _rows(homes: Sequence[LogDirectory], topic: str | None) -> list[ReplicaCheckpoints]:
    rows = [row for home in homes for row in checkpoint_rows(home)]
    if topic is None:
        return rows
    pattern = topic_pattern(topic)
    kept = [row for row in rows if pattern.fullmatch(row.topic)]
    if not kept:
        known = len({row.topic for row in rows})
        raise UsageError(
            f"no topic matches {topic!r}", f"the files name {counted(known, 'topic')}", "the whole name has to match"
        )
    return kept


def checkpoint_rows(home: LogDirectory) -> list[ReplicaCheckpoints]:
    """One row for each replica of a log directory: its offset in every checkpoint, None where there is none."""
    offsets = {name: checkpoint.by_partition() for name, checkpoint in home.checkpoints.items()}
    return [_row(home, place, offsets) for place in home.partitions()]


def _row(
    home: LogDirectory, place: PartitionDirectory, offsets: Mapping[str, Mapping[tuple[str, int], int]]
) -> ReplicaCheckpoints:
    # A directory that waits for its deletion is in no checkpoint; a new one of that name may be.
    key = (place.topic, place.partition) if place.state in ("current", "future") else ("", -1)
    start, recovery, watermark, cleaner = (offsets.get(name, {}).get(key) for name in OFFSET_CHECKPOINTS)
    epochs = home.epochs[place].pairs() if place in home.epochs else None
    return ReplicaCheckpoints(
        log_dir=str(home.path),
        topic=place.topic,
        partition=place.partition,
        state=place.state,
        topic_id=home.topic_id(place),
        log_start_offset=start,
        recovery_point=recovery,
        high_watermark=watermark,
        cleaner_offset=cleaner,
        epochs=None if epochs is None else [{"epoch": epoch, "start_offset": offset} for epoch, offset in epochs],
        last_epoch=epochs[-1][0] if epochs else None,
    )


def _remarks(homes: Sequence[LogDirectory]) -> list[str]:
    """Remarks on the directories: absent checkpoint files, and directories of several clusters."""
    remarks = []
    for home in homes:
        # A file named alone tells nothing about the others; a whole directory has its meta.properties.
        absent = [name for name in OFFSET_CHECKPOINTS if name not in home.checkpoints and name != CLEANER]
        if home.meta is not None and absent:
            remarks.append(f"{home.path}: no {', '.join(absent)}: its column is empty for these replicas")
    ids = {home.meta.cluster_id for home in homes if home.meta is not None and home.meta.cluster_id is not None}
    if len(ids) > 1:
        remarks.append(f"log directories of {len(ids)} clusters: {', '.join(sorted(ids))}")
    return remarks
