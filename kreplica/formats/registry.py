"""Formats of the files of a log directory, recognised by name, or else by first bytes; one table for every command.

    data/meta.properties                          cluster and node
    data/bootstrap.checkpoint                     features that a KRaft node was formatted with
    data/*-offset-checkpoint                      offsets by partition
    data/orders-0/00000000000000000000.log        segment; .index, .timeindex, .txnindex, .snapshot beside it
    data/orders-0/leader-epoch-checkpoint         and partition.metadata
    data/__cluster_metadata-0/…-0000000001.checkpoint, quorum-state

Other packages bring formats by the entry point ``kreplica.formats``: a FileFormat or a list of them. They are looked
for only where a file is none of those above.
"""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from kreplica.errors import UsageError
from kreplica.formats.damage import Damage
from kreplica.formats.find_files import read_beginning
from kreplica.formats.log_directory.leader_epoch_checkpoint import LEADER_EPOCH_CHECKPOINT
from kreplica.formats.log_directory.meta_properties import META_PROPERTIES, PARTITION_METADATA
from kreplica.formats.log_directory.offset_checkpoint import OFFSET_CHECKPOINTS
from kreplica.formats.log_directory.quorum_state import CLEAN_SHUTDOWN, QUORUM_STATE
from kreplica.formats.segments.batch_layout import (
    ATTRIBUTES_AT,
    CHECKED_FROM,
    CRC_AT,
    HEADER_BYTES,
    LAST_OFFSET_DELTA_AT,
    LENGTH_AT,
    MAGIC_AT,
    PREFIX_BYTES,
)
from kreplica.system.packages import brought, require_unique

ENTRY_POINT = "kreplica.formats"
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"


@dataclass(frozen=True, slots=True)
class FileFormat:
    """One kind of file of log directories.

    Args:
        name: Its name in messages, with its article: ``an offset index``.
        pattern: A pattern for the whole name of such a file.
        command: The subcommand of ``kreplica decode`` that shows it; empty for formats from outside.
        source: The class that writes it.
        magic: True if a file with these first bytes (``BEGINNING_BYTES`` at most) is one; None if they do not tell.
        check: Of a format from outside: what is wrong in a file, given its content and what to call it. It raises
            nothing. ``kreplica decode check`` reports its findings.
        example: A name, with its folder where that tells something, by which ``command`` reads such a file of any name
            on standard input; empty where it reads it as it is.
    """

    name: str
    pattern: re.Pattern[str]
    command: str = ""
    source: str = ""
    magic: Callable[[bytes], bool] | None = None
    check: Callable[[bytes, str], Iterable[Damage]] | None = None
    example: str = ""


def _batches(beginning: bytes) -> bool:
    """True if a batch of version 2 begins here, or a message of version 0 or 1 whose CRC holds (RecordBatch).

    Old messages have no mark but the CRC; those longer than the beginning are not distinguished from other bytes.
    """
    if len(beginning) < HEADER_BYTES:
        return False
    size, magic = _integer(beginning, LENGTH_AT), beginning[MAGIC_AT]
    if beginning[0] > 127 or size < 0 or magic > 2:
        return False
    end = PREFIX_BYTES + size
    if magic == 2:
        delta = _integer(beginning, LAST_OFFSET_DELTA_AT)
        return end >= HEADER_BYTES and beginning[ATTRIBUTES_AT[magic]] == 0 and delta >= 0
    crc = _integer(beginning, CRC_AT[magic], signed=False)
    return MAGIC_AT < end <= len(beginning) and zlib.crc32(beginning[CHECKED_FROM[magic] : end]) == crc


def _integer(beginning: bytes, at: int, *, signed: bool = True) -> int:
    return int.from_bytes(beginning[at : at + 4], "big", signed=signed)


def _matches(expression: bytes) -> Callable[[bytes], bool]:
    pattern = re.compile(expression)
    return lambda beginning: pattern.match(beginning) is not None


def _name_pattern(*names: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, names)))


def _numbered(ending: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<offset>\d{{20}}){ending}", re.ASCII)


SEGMENT: Final = FileFormat("a segment", _numbered(r"\.log"), "segment", "LogSegment", _batches)
SNAPSHOT: Final = FileFormat(
    "a checkpoint of the metadata log", _numbered(r"-\d{10}\.checkpoint"), "metadata", "Snapshots", _batches
)
BOOTSTRAP: Final = FileFormat(
    "a bootstrap checkpoint", _name_pattern(BOOTSTRAP_CHECKPOINT), "metadata", "BootstrapDirectory"
)
OFFSET_INDEX: Final = FileFormat("an offset index", _numbered(r"\.index"), "indexes", "OffsetIndex")
TIME_INDEX: Final = FileFormat("a time index", _numbered(r"\.timeindex"), "indexes", "TimeIndex")
TRANSACTION_INDEX: Final = FileFormat(
    "an index of aborted transactions", _numbered(r"\.txnindex"), "indexes", "TransactionIndex"
)
PRODUCER_SNAPSHOT: Final = FileFormat(
    "a producer snapshot", _numbered(r"\.snapshot"), "indexes", "ProducerStateManager"
)
OFFSET_CHECKPOINT: Final = FileFormat(
    "an offset checkpoint",
    _name_pattern(*OFFSET_CHECKPOINTS),
    "checkpoints",
    "OffsetCheckpointFile",
    _matches(rb"0\n\d+\n[a-zA-Z0-9._-]+ \d+ -?\d+\n"),
    example="replication-offset-checkpoint",
)
LEADER_EPOCHS: Final = FileFormat(
    "a leader epoch checkpoint",
    _name_pattern(LEADER_EPOCH_CHECKPOINT),
    "checkpoints",
    "LeaderEpochCheckpointFile",
    _matches(rb"0\n\d+\n\d+ \d+\n"),
    example="orders-0/leader-epoch-checkpoint",
)
META: Final = FileFormat(
    "a meta.properties",
    _name_pattern(META_PROPERTIES),
    "checkpoints",
    "MetaProperties",
    _matches(rb"(#.*\n)*[a-z.]+=.*\n"),
    example=META_PROPERTIES,
)
TOPIC_ID: Final = FileFormat(
    "a partition.metadata",
    _name_pattern(PARTITION_METADATA),
    "checkpoints",
    "PartitionMetadataFile",
    _matches(rb"version: \d+\ntopic_id: "),
    example="orders-0/partition.metadata",
)
CLEAN_MARK: Final = FileFormat(
    "the mark of a clean stop", _name_pattern(CLEAN_SHUTDOWN), "checkpoints", "CleanShutdownFileHandler"
)
QUORUM: Final = FileFormat(
    "a quorum-state",
    _name_pattern(QUORUM_STATE),
    "checkpoints",
    "FileQuorumStateStore",
    _matches(rb'\{(?=.*"leaderEpoch").*"data_version"'),
    example="__cluster_metadata-0/quorum-state",
)

OWN_FORMATS: Final = (
    SEGMENT,
    SNAPSHOT,
    BOOTSTRAP,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    PRODUCER_SNAPSHOT,
    OFFSET_CHECKPOINT,
    LEADER_EPOCHS,
    META,
    TOPIC_ID,
    CLEAN_MARK,
    QUORUM,
)
"""Formats of this package; where two fit, the first."""


def named_offset(name: str) -> int:
    """The offset that is the name of a segment or of a file beside one. LogFileUtils.offsetFromFileName.

    Raises:
        ValueError: It begins with no number.
    """
    return int(name.partition(".")[0])


def own_format(name: str) -> FileFormat | None:
    """The format of this package that a file of that name has."""
    return next((each for each in OWN_FORMATS if each.pattern.fullmatch(name)), None)


def format_of(name: str, beginning: bytes = b"") -> FileFormat | None:
    """The format of a file: by its name, or else by its first bytes; first those of this package, then others.

    Args:
        name: The file's name without directories.
        beginning: Its first bytes; none to go by the name alone.

    Raises:
        UsageError: Two formats from outside have one name.
    """
    return own_format(name) or _by_name(name) or _by_magic(beginning)


def _by_name(name: str) -> FileFormat | None:
    return next((each for each in other_formats() if each.pattern.fullmatch(name)), None)


def _by_magic(beginning: bytes) -> FileFormat | None:
    formats = (*OWN_FORMATS, *other_formats()) if beginning else ()
    return next((each for each in formats if each.magic is not None and each.magic(beginning)), None)


@cache
def other_formats() -> tuple[FileFormat, ...]:
    """Formats that other packages bring.

    Raises:
        UsageError: Two have one name, or one has a name of this package's.
    """
    found = tuple(each for each in brought(ENTRY_POINT) if isinstance(each, FileFormat))
    require_unique((each.name for each in (*OWN_FORMATS, *found)), "file formats", ENTRY_POINT)
    return found


def other_format(path: Path, *fitting: FileFormat) -> FileFormat | None:
    """The format of a file that is known to be none of those: by its name, or else by how it begins.

    None where neither is known, as for a damaged file with a name of its own.

    Raises:
        InputError: It cannot be read.
    """
    found = format_of(path.name) or format_of(path.name, read_beginning(path))
    return None if found in fitting else found


def refusal(path: Path, found: FileFormat) -> UsageError:
    """The error for a file that a command was given and does not read."""
    how = "its name" if found.pattern.fullmatch(path.name) else "how it begins"
    return UsageError(f"{path} is {found.name}", f"{how} tells", _reader(path, found))


def _reader(path: Path, found: FileFormat) -> str:
    """The command that reads a file; for one that goes by names, with the name that a broker gives such a file."""
    if not found.command:
        return ""
    if found.pattern.fullmatch(path.name) or not found.example:
        return f"kreplica decode {found.command} reads it"
    given = f"- --stdin-filename {found.example} < {shlex.quote(str(path))}"
    return f"kreplica decode {found.command} {given} reads it"
