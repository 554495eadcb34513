"""kreplica decode indexes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from log_files.failing_disk import fail_pages

PARTITION = Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "clean" / "broker-1" / "data" / "payments-2"


def test_all_kinds_of_a_partition(kreplica: Any) -> None:
    ended = kreplica("decode", "indexes", PARTITION, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    rows = ended.document["entries"]
    assert {row["kind"] for row in rows} == {"time", "transaction", "producer"}
    (producer,) = [row for row in rows if row["kind"] == "producer"]
    assert (producer["producer_id"], producer["last_offset"], producer["current_txn_first_offset"]) == (1, 16, None)
    text = kreplica("decode", "indexes", PARTITION).out
    assert text.splitlines()[0].split()[:2] == ["FILE", "KIND"]
    assert {line.split()[0] for line in text.splitlines()[1 : len(rows) + 1]} == {
        Path(row["file"]).name for row in rows
    }
    assert text.endswith(f"folder   {PARTITION}\n")
    assert f"OK {len(rows)} entries in {ended.document['summary']['files']} files" in text


def test_damage_is_exit_1(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.index").write_bytes(b"\0\0\0\5\0\0\0\x64abc")
    ended = kreplica("decode", "indexes", tmp_path)
    assert ended.code == 1
    assert "byte 8: an entry cut off, expected 8 bytes, found 3 bytes; 3 bytes skipped" in ended.err
    assert "DAMAGED 1 damaged place; 1 entry in 1 file" in ended.out


def test_nothing_to_read_is_exit_2(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("decode", "indexes", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: no index files in {tmp_path}; their names are a number of 20 digits")


@pytest.mark.parametrize("command", ["indexes", "checkpoints", "segment --timeindex", "check", "metadata"])
def test_what_a_failing_disk_does_not_give_is_damage(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    name, *more = command.split()
    path = PARTITION.parents[3] / "killed-all" / "broker-1" / "data" if name == "metadata" else PARTITION
    fail_pages(monkeypatch, {0})
    ended = kreplica("decode", name, path, *more, "-o", "json")
    assert ended.code == 1
    assert "the disk cannot read it" in (ended.out if name == "check" else ended.err)
