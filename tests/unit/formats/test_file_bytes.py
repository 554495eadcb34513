"""A disk that does not give all of a file: what it refuses is told, and the rest is read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from record_batches import PlainRecord, batch_bytes

from kreplica.errors import InputError
from kreplica.formats import file_bytes
from kreplica.formats.batch_windows import read_windows
from kreplica.formats.file_bytes import PAGE_BYTES, FileBytes
from kreplica.formats.offset_logs import replay_logs

BATCHES = [batch_bytes([PlainRecord(0, 0, b"k", bytes(3000))], base_offset=offset) for offset in range(20)]
CONTENT = b"".join(BATCHES)
BAD = {3, 4, 9}
"""Pages that the disk cannot read."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A segment on a disk with such pages."""
    real = os.pread

    def pread(descriptor: int, size: int, position: int) -> bytes:
        if any(position < (page + 1) * PAGE_BYTES and position + size > page * PAGE_BYTES for page in BAD):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, size, position)

    path = tmp_path / f"{0:020}.log"
    path.write_bytes(CONTENT)
    monkeypatch.setattr(file_bytes.os, "pread", pread)
    return path


def expected_offsets() -> list[int]:
    """Offsets of the batches that lie in no bad page."""
    starts = [sum(map(len, BATCHES[:number])) for number in range(len(BATCHES))]
    pages = [range(start // PAGE_BYTES, (start + len(BATCHES[0]) - 1) // PAGE_BYTES + 1) for start in starts]
    return [number for number, those in enumerate(pages) if BAD.isdisjoint(those)]


def test_batches_beside_the_bad_pages_are_read(file: Path) -> None:
    with FileBytes.open(file) as source:
        windows = list(read_windows(source))
        stretches = [(each.position, each.skipped, each.found) for each in source.unread()]
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
