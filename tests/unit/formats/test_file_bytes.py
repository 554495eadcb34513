"""A disk that does not give all of a file: what it refuses is told, and the rest is read."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest
from log_files.failing_disk import fail_pages
from log_files.record_batches import PlainRecord, batch_bytes
from msgspec import structs

from kreplica.errors import InputError
from kreplica.formats import file_bytes
from kreplica.formats.consumer_offsets.logs import replay_logs
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import PAGE_BYTES, FileBytes, SmallFile, read_small_file
from kreplica.formats.log_directory.listing import read_log_directories
from kreplica.formats.logs.index_rows import index_rows
from kreplica.formats.segments.windows import read_windows

BATCHES = [batch_bytes([PlainRecord(0, 0, b"k", bytes(3000))], base_offset=offset) for offset in range(20)]
CONTENT = b"".join(BATCHES)
BAD = {3, 4, 9}
"""Pages that the disk cannot read."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A segment on a disk with such pages."""
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(CONTENT)
    fail_pages(monkeypatch, BAD)
    return path


def expected_offsets() -> list[int]:
    """Offsets of the batches that lie in no bad page."""
    starts = [sum(map(len, BATCHES[:number])) for number in range(len(BATCHES))]
    pages = [range(start // PAGE_BYTES, (start + len(BATCHES[0]) - 1) // PAGE_BYTES + 1) for start in starts]
    return [number for number, those in enumerate(pages) if BAD.isdisjoint(those)]


def test_batches_beside_the_bad_pages_are_read(file: Path) -> None:
    with FileBytes.open(file) as source:
        windows = list(read_windows(source))
        stretches = [(each.position, each.skipped, each.found) for each in source.unreadable()]
    sound = [int(offset) for each in windows for offset in each.batches.take(each.batches.valid).base_offset]
    assert sound == expected_offsets()
    assert 8 < len(sound) < len(BATCHES)
    refused = "an input/output error"
    assert stretches == [(3 * PAGE_BYTES, 2 * PAGE_BYTES, refused), (9 * PAGE_BYTES, PAGE_BYTES, refused)]
    assert [each for each in windows[-1].damage if each.found == refused] == list(windows[-1].damage)


def test_a_replay_tells_them_too(file: Path) -> None:
    (result,) = replay_logs([[file]])
    told = {each.position: each.reason for each in result.damage.kept}
    assert told[3 * PAGE_BYTES] == told[9 * PAGE_BYTES] == "the disk cannot read it"
    assert result.batches >= len(expected_offsets())


def test_any_other_refusal_ends_the_reading(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pread(*_: int) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(file_bytes.os, "pread", pread)
    with FileBytes.open(file) as source, pytest.raises(InputError, match="byte 0; stale file handle"):
        list(read_windows(source))


def test_a_file_that_is_cut_meanwhile_ends_there(file: Path) -> None:
    with FileBytes.open(file) as source:
        os.truncate(file, 5000)
        assert source.read(0, 8000) == CONTENT[:5000]
        assert source.unreadable() == ()


REFUSED = [(PAGE_BYTES, "the disk cannot read it", PAGE_BYTES)]


@pytest.mark.parametrize(
    ("ending", "entry"),
    [
        ("index", struct.Struct(">II")),
        ("timeindex", struct.Struct(">qI")),
        ("txnindex", struct.Struct(">hqqqq")),
    ],
)
def test_index_entries_beside_a_bad_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, entry: struct.Struct
) -> None:
    path = tmp_path / f"{0:020}.{ending}"
    count, width = 3 * PAGE_BYTES // entry.size, len(entry.unpack(bytes(entry.size)))
    version = [0] if ending == "txnindex" else []
    numbers = [[*version, *[number] * (width - len(version))] for number in range(1, count + 1)]
    path.write_bytes(b"".join(entry.pack(*each) for each in numbers))
    sound = list(index_rows(path.name, read_small_file(path), "f", []))
    fail_pages(monkeypatch, {1})
    damage: list[Damage] = []
    rows = list(index_rows(path.name, read_small_file(path), str(path), damage))
    assert [(each.position, each.reason, each.skipped) for each in damage] == REFUSED
    beside = [number for number in range(count) if not _touches(number * entry.size, (number + 1) * entry.size)]
    assert 0 < len(beside) < count == len(sound)
    assert [structs.replace(row, file="f") for row in rows] == [sound[number] for number in beside]


def _touches(begin: int, end: int) -> bool:
    """Whether bytes lie in the page that cannot be read."""
    return begin < 2 * PAGE_BYTES and end > PAGE_BYTES


def test_producers_beside_a_bad_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, entry = tmp_path / f"{0:020}.snapshot", struct.Struct(">qhiqiqiq")
    count = 300
    entries = b"".join(entry.pack(number + 1, 0, 0, 0, 0, 0, -1, -1) for number in range(count))
    path.write_bytes(struct.pack(">hIi", 1, 0, count) + entries)  # of a wrong CRC, which nobody can tell now
    for bad, told in (({1}, PAGE_BYTES), ({0}, 0)):
        with monkeypatch.context() as disk:
            fail_pages(disk, bad)
            damage: list[Damage] = []
            rows = list(index_rows(path.name, read_small_file(path), "f", damage))
        assert [each.position for each in damage] == [told]
        starts = [(number, 10 + number * entry.size) for number in range(count)]
        beside = [number + 1 for number, start in starts if not _touches(start, start + entry.size)]
        assert [row.producer_id for row in rows] == (beside if told else [])


def test_lines_of_checkpoints_beside_a_bad_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "replication-offset-checkpoint"
    lines = [f"topic-{number} 0 {number}\n".encode() for number in range(1000)]
    head = b"0\n1000\n"
    path.write_bytes(head + b"".join(lines))
    fail_pages(monkeypatch, {1})
    (home,) = read_log_directories([path], read_small_file)
    ends = [len(head) + sum(map(len, lines[: number + 1])) for number in range(1000)]
    beside = {
        (f"topic-{number}", 0): number for number, end in enumerate(ends) if not _touches(end - len(lines[number]), end)
    }
    assert home.checkpoints[path.name].by_partition() == beside
    first, count = home.damage
    assert [(first.position, first.reason, first.skipped)] == REFUSED
    assert count.reason == "the count of entries is wrong"


@pytest.mark.parametrize(
    "name",
    [
        "meta.properties",
        ".kafka_cleanshutdown",
        "log-start-offset-checkpoint",
        "orders-0/leader-epoch-checkpoint",
        "orders-0/partition.metadata",
        "__cluster_metadata-0/quorum-state",
    ],
)
def test_a_small_file_of_which_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("0\n0\n")
    fail_pages(monkeypatch, {0})
    (home,) = read_log_directories([path], read_small_file)
    assert [(each.file, each.position, each.reason, each.skipped) for each in home.damage] == [
        (str(path), 0, "the disk cannot read it", 4)
    ]
    assert (home.meta, home.checkpoints, home.epochs, home.topic_ids, home.quorum_state) == (None, {}, {}, {}, None)
    assert (home.clean_shutdown is not None) == (name == ".kafka_cleanshutdown")  # the mark alone says it


def test_an_empty_file_is_not_lost() -> None:
    assert not SmallFile(b"").lost
