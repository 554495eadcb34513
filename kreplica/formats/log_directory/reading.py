"""Checkpoint files of log directories, read together: a row for each replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import not_listed, read_found_file, read_small_file
from kreplica.formats.find_files import find_files
from kreplica.formats.log_directory.listing import (
    OF_A_PARTITION,
    SMALL_FILES,
    LogDirectory,
    checkpoint_rows,
    read_log_directories,
)
from kreplica.formats.log_directory.offset_checkpoint import CLEANER, OFFSET_CHECKPOINTS
from kreplica.model.topic_pattern import topic_pattern


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoint files that were read.

    Args:
        homes: The log directories.
        rows: A row for each replica that was asked for.
        damage: Ranges and files that could not be read.
    """

    homes: Sequence[LogDirectory]
    rows: Sequence[Mapping[str, object]]
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


def _rows(homes: Sequence[LogDirectory], topic: str | None) -> list[Mapping[str, object]]:
    rows = [row for home in homes for row in checkpoint_rows(home)]
    if topic is None:
        return rows
    pattern = topic_pattern(topic)
    kept = [row for row in rows if pattern.fullmatch(str(row["topic"]))]
    if not kept:
        known = len({row["topic"] for row in rows})
        raise UsageError(f"no topic matches {topic!r}", f"the files name {known} topics", "the whole name has to match")
    return kept


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
