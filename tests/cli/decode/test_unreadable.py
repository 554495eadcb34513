"""A segment that cannot be read is damage with its name; all others of a directory say what they say without it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kreplica.formats import file_bytes

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
SEGMENT = "00000000000000000000.log"
CASES = {
    "segment": (GOLDEN / "clean" / "broker-1" / "data", "__consumer_offsets-9", "batches"),
    "segment --records": (GOLDEN / "clean" / "broker-1" / "data", "__consumer_offsets-9", "records"),
    "offsets": (GOLDEN / "clean" / "broker-1" / "data", "__consumer_offsets-9", "offsets"),
    "transactions": (GOLDEN / "killed-all" / "broker-1" / "data", "__transaction_state-47", "transactions"),
}
"""Of each command the log directory, the partition that cannot be read, and the rows of the answer."""


def refuse(monkeypatch: pytest.MonkeyPatch, fault: str, refused: Path) -> None:
    """Has a file refused when it is opened or read, as a system does for another user's file or a lost NFS server."""
    real_open, real_read, numbers = file_bytes.open_file, os.pread, set[int]()

    def open_file(path: Path) -> int:
        if path != refused:
            return real_open(path)
        if fault == "opened":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        numbers.add(number := real_open(path))
        return number

    def pread(number: int, size: int, position: int) -> bytes:
        if number in numbers:
            numbers.discard(number)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real_read(number, size, position)

    monkeypatch.setattr(file_bytes, "open_file", open_file)
    monkeypatch.setattr(file_bytes.os, "pread", pread)


def ageless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows but for the age of a transaction, which is that of the moment."""
    return [{name: value for name, value in row.items() if name != "age_ms"} for row in rows]


@pytest.mark.parametrize(("fault", "reason"), [("opened", "permission denied"), ("read", "stale file handle")])
@pytest.mark.parametrize("words", CASES)
def test_one_of_many(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, fault: str, reason: str
) -> None:
    source, partition, rows = CASES[words]
    data = tmp_path / "data"
    shutil.copytree(source, data)
    refused = data / partition / SEGMENT
    refused.rename(tmp_path / "away")
    without = kreplica("decode", *words.split(), data, "-o", "json").document
    (tmp_path / "away").rename(refused)
    refuse(monkeypatch, fault, refused)
    ended = kreplica("decode", *words.split(), data, "-o", "json")
    assert ended.code == 1
    assert without[rows]
    assert ageless(ended.document[rows]) == ageless(without[rows])
    assert ended.document["summary"]["damaged_places"] == without["summary"]["damaged_places"] + 1
    told = [each for each in ended.document["summary"]["damage"] if each["file"] == str(refused)]
    assert [each["reason"] for each in told] == [f"it cannot be read: {reason}"]
    assert f"{refused}, byte 0: it cannot be read: {reason}" in ended.err


@pytest.mark.parametrize("words", CASES)
def test_the_only_one(kreplica: Any, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    source, partition, _ = CASES[words]
    refused = source / partition / SEGMENT
    refuse(monkeypatch, "opened", refused)
    ended = kreplica("decode", *words.split(), refused)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: cannot read {refused}; permission denied; ")


@pytest.mark.parametrize(("fault", "reason"), [("opened", "permission denied"), ("read", "stale file handle")])
def test_check_says_nothing_more_of_such_a_log(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, fault: str, reason: str
) -> None:
    """Where a log ends is not known then: no checkpoint is beyond it."""
    home = GOLDEN / "clean" / "broker-1"
    assert kreplica("decode", "check", home).code == 0
    refused = home / "data" / "__consumer_offsets-9" / SEGMENT
    refuse(monkeypatch, fault, refused)
    ended = kreplica("decode", "check", home, "-o", "json")
    assert ended.code == 1
    told = [(each["rule"], each["file"], each["message"]) for each in ended.document["findings"]]
    assert told == [("log-damage", str(refused), f"it cannot be read: {reason}")]
