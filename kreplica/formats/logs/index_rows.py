"""Entries of index files and producer snapshots as rows of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import SmallFile, not_listed, read_found_file, read_small_file
from kreplica.formats.find_files import find_files
from kreplica.formats.log_directory.indexes import decode_offset_index, decode_time_index, decode_transaction_index
from kreplica.formats.log_directory.producer_snapshot import decode_producer_snapshot
from kreplica.formats.registry import (
    OFFSET_INDEX,
    PRODUCER_SNAPSHOT,
    TIME_INDEX,
    TRANSACTION_INDEX,
    FileFormat,
    named_offset,
    own_format,
)
from kreplica.model.tables.rows import Meaning


class IndexEntry(Struct, frozen=True, kw_only=True):
    """An entry of an index, or a producer of a snapshot; fields that its kind does not have are null."""

    file: Annotated[str, Meaning("file the entry is in")]
    kind: Annotated[str, Meaning("offset, time, transaction or producer")]
    offset: Annotated[int | None, Meaning("offset the entry leads to; of a producer that of the snapshot")] = None
    position: Annotated[int | None, Meaning("byte in the segment at which its batch begins", drop=11)] = None
    timestamp: Annotated[
        int | None,
        Meaning("largest timestamp up to that offset, or of the producer's last batch, ms since the epoch", drop=7),
    ] = None
    producer_id: Annotated[int | None, Meaning("producer, or whose transaction was aborted", drop=10)] = None
    producer_epoch: Annotated[int | None, Meaning("epoch of the producer", drop=5)] = None
    first_offset: Annotated[int | None, Meaning("first offset of an aborted transaction", drop=9)] = None
    last_offset: Annotated[
        int | None, Meaning("its last offset, the marker's; of a producer its last record's", drop=8)
    ] = None
    last_stable_offset: Annotated[
        int | None, Meaning("last stable offset when the transaction was aborted", drop=4)
    ] = None
    last_sequence: Annotated[int | None, Meaning("last sequence number of the producer", drop=3)] = None
    offset_delta: Annotated[int | None, Meaning("number of records of its last batch, less one", drop=2)] = None
    coordinator_epoch: Annotated[
        int | None, Meaning("epoch of the coordinator that wrote its last marker, -1 without one", drop=1)
    ] = None
    current_txn_first_offset: Annotated[
        int | None, Meaning("first offset of its open transaction, null without one", label="OPEN_SINCE", drop=6)
    ] = None


_Values = Iterator[dict[str, Any]]
"""Fields of entries that their kind has."""


def is_index_file(name: str) -> bool:
    """True if a file of that name is an index of a segment or a producer snapshot."""
    return own_format(name) in _KINDS


def index_rows(name: str, read: SmallFile, file: str, damage: list[Damage]) -> Iterator[IndexEntry]:
    """The entries of one file.

    Args:
        name: The file's name without directories; kind and base offset are read from it.
        read: The whole file.
        file: The name in rows and damage.
        damage: Takes the ranges that could not be read.

    Raises:
        ValueError: It is none by its name.
    """
    found = own_format(name)
    if found is None or found not in _KINDS:
        raise ValueError(f"{name} is neither an index nor a producer snapshot")
    kind, decode = _KINDS[found]
    for values in decode(read, named_offset(name), file, damage):
        yield IndexEntry(file=file, kind=kind, **values)


def _offset_index(read: SmallFile, base: int, file: str, damage: list[Damage]) -> _Values:
    index = decode_offset_index(read.content, base, file, read.unreadable)
    damage.extend(index.damage)
    for offset, position in zip(index.offsets.tolist(), index.positions.tolist(), strict=True):
        yield {"offset": offset, "position": position}


def _time_index(read: SmallFile, base: int, file: str, damage: list[Damage]) -> _Values:
    index = decode_time_index(read.content, base, file, read.unreadable)
    damage.extend(index.damage)
    for timestamp, offset in zip(index.timestamps.tolist(), index.offsets.tolist(), strict=True):
        yield {"offset": offset, "timestamp": timestamp}


def _transaction_index(read: SmallFile, _: int, file: str, damage: list[Damage]) -> _Values:
    index = decode_transaction_index(read.content, file, read.unreadable)
    damage.extend(index.damage)
    columns = (index.producer_ids, index.first_offsets, index.last_offsets, index.last_stable_offsets)
    names = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
    for values in zip(*(column.tolist() for column in columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _producers(read: SmallFile, base: int, file: str, damage: list[Damage]) -> _Values:
    snapshot = decode_producer_snapshot(read.content, file, read.unreadable)
    damage.extend(snapshot.damage)
    names = snapshot.entries.dtype.names
    assert names is not None
    for values in snapshot.entries.tolist():
        row = dict(zip(names, values, strict=True))
        open_since = row["current_txn_first_offset"]
        yield row | {"offset": base, "current_txn_first_offset": None if open_since < 0 else open_since}


_KINDS: Mapping[FileFormat | None, tuple[str, Callable[[SmallFile, int, str, list[Damage]], _Values]]] = {
    OFFSET_INDEX: ("offset", _offset_index),
    TIME_INDEX: ("time", _time_index),
    TRANSACTION_INDEX: ("transaction", _transaction_index),
    PRODUCER_SNAPSHOT: ("producer", _producers),
}


@dataclass(frozen=True, slots=True)
class IndexEntries:
    """Entries of index files and producer snapshots.

    Args:
        files: The files.
        rows: The entries, in order of the files.
        damage: Ranges and files that could not be read.
    """

    files: Sequence[Path]
    rows: Sequence[IndexEntry]
    damage: Sequence[Damage]

    @property
    def exit_code(self) -> ExitCode:
        """1 for damage."""
        return ExitCode.FINDINGS if self.damage else ExitCode.OK


def decode_indexes(paths: Sequence[str]) -> IndexEntries:
    """Reads the .index, .timeindex, .txnindex and .snapshot files that paths name.

    Args:
        paths: Files, partitions' directories, or log directories.

    Raises:
        UsageError: There are none.
        InputError: A file cannot be read.
    """
    damage: list[Damage] = []
    files = _files(paths, damage)
    return IndexEntries(files, list(_rows(files, damage)), damage)


def _files(paths: Sequence[str], damage: list[Damage]) -> list[Path]:
    refused: list[InputError] = []
    files = [file for file in find_files(paths, is_index_file, refused) if is_index_file(file.name)]
    damage += not_listed(refused)
    if not files:
        why = "their names are a number of 20 digits and .index, .timeindex, .txnindex or .snapshot"
        raise UsageError(f"no index files in {', '.join(paths)}", why, "name a partition's directory")
    return files


def _rows(files: Sequence[Path], damage: list[Damage]) -> Iterator[IndexEntry]:
    read = read_found_file if len(files) > 1 or damage else read_small_file
    for file in files:
        yield from index_rows(file.name, read(file), str(file), damage)
