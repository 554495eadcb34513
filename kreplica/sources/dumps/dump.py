"""Reads a dump: recognises by its content what it is, and hands it to the reader of that."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.config.ways_in import PACKAGED_DUMPS, SAMPLE
from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.text import STDIN, TAKEN, DumpText, decode_dump, read_dump_bytes

if TYPE_CHECKING:
    from kreplica.sources.dumps.history import HistoryDump

_DATA = Path(__file__).parents[2] / "data"
_PARQUET_MAGIC = b"PAR1"
_MANIFEST_START = re.compile(rb'\s*\{\s*"schema"\s*:\s*"kreplica/manifest/')
_OF_HISTORY = re.compile(r"/cluster=|@[0-9]{4}-[0-9]{2}-|\A(?:s3|file)://")
_AT_OFFSET = re.compile(r"(?P<home>.+)@(?P<offset>[0-9]{1,18})", re.DOTALL)


def read_dump(path: str) -> ClusterSnapshot:
    """Reads a cluster from a dump.

    Args:
        path: A directory that `kreplica snapshot` wrote (the newest snapshot of the one cluster in it), a manifest
            from it, or a partitions table as a Parquet file; a file with the text of `kafka-topics --describe`, the
            JSON of `kcat -L -J` or an export of znodes as JSON, gzip or not; ``-`` for such text on standard input;
            the metadata log of a KRaft node (its directory, a log directory with it, a checkpoint, a segment), at
            ``@OFFSET`` where that follows; a history of one cluster, or ``HISTORY/cluster=NAME``, as of ``@TIME`` where
            that follows; or the word ``sample`` or ``sample-healthy`` for a dump that the
            package carries. A file of that name in the current directory is read as ``./sample``. Directories and
            manifests may be in an object store, ``s3://BUCKET/PREFIX``.

    Raises:
        InputError: It is not there, damaged, or of a format that kreplica does not read.
    """
    if path in PACKAGED_DUMPS or "://" in path:
        return _read_url(path) if "://" in path else read_sample(path)
    if (metadata := _metadata_log(path)) is not None:
        from kreplica.sources.dumps.kraft import read_kraft_metadata

        return read_kraft_metadata(*metadata)
    if (home := _history(path)) is not None:
        return home.read()
    if path != "-" and _is_directory(path):
        return _read_directory(path)
    source, content, taken_at = read_dump_bytes(path)
    if content.startswith(_PARQUET_MAGIC) or _MANIFEST_START.match(content):
        return _read_stored(source, content)
    from kreplica.sources.dumps.text_formats import snapshot_of_text

    return snapshot_of_text(DumpText(source, decode_dump(source, content), taken_at))


def _read_url(text: str) -> ClusterSnapshot:
    from kreplica.sources.dumps.history import history_dump
    from kreplica.store.reading import read_dump_directory
    from kreplica.system.stores.locations import place_of
    from kreplica.system.stores.s3 import S3Place

    place = place_of(text)
    if not isinstance(place, S3Place):
        return read_dump(str(place))
    home = history_dump(text)
    return read_dump_directory(place) if home is None else home.read()


def _metadata_log(path: str) -> tuple[str, int | None] | None:
    """Path and offset of a metadata log, None if it is none: ``DIRECTORY`` or ``DIRECTORY@OFFSET``."""
    from kreplica.formats.metadata_log.files import is_metadata_path

    try:
        if Path(path).exists():
            return (path, None) if is_metadata_path(Path(path)) else None
        found = _AT_OFFSET.fullmatch(path)
        if found is not None and is_metadata_path(Path(found["home"])):
            return found["home"], int(found["offset"])
    except OSError:  # a name too long, a directory that may not be entered: reported when it is read
        pass
    return None


def _history(path: str) -> HistoryDump | None:
    """The cluster in a history that a path names; nothing is imported for a path that can name none."""
    if not _OF_HISTORY.search(path) and not _is_directory(path):
        return None
    from kreplica.sources.dumps.history import history_dump

    return history_dump(path)


def _is_directory(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def read_sample(name: str = SAMPLE) -> ClusterSnapshot:
    """A packaged dump, by its name."""
    assert name in PACKAGED_DUMPS, name
    return replace(_read_directory(str(_DATA / name)), name=name)


def _read_directory(path: str) -> ClusterSnapshot:
    from kreplica.store.layout import may_hold_snapshots
    from kreplica.store.reading import read_dump_directory

    if not may_hold_snapshots(Path(path)):
        raise InputError(path, "", "a directory without manifests, so it holds no kreplica snapshots", TAKEN)
    return read_dump_directory(path)


def _read_stored(source: str, content: bytes) -> ClusterSnapshot:
    from kreplica.store.reading import read_dump_directory, read_partitions_file

    kind = "a Parquet file" if content.startswith(_PARQUET_MAGIC) else "a manifest of kreplica's"
    if source == STDIN:
        raise InputError(source, "", f"{kind} cannot be read from standard input", "name the file itself")
    return read_partitions_file(source) if content.startswith(_PARQUET_MAGIC) else read_dump_directory(source)
