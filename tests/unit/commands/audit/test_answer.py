"""Notes of audit beside its findings: snapshots that it left out, and files that it could not use."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from clusters.generated import NOON, hidden, partition, snapshot_of

from analyzers.fleet_audit import MOST_NAMED, Audited
from commands.audit.answer import answer_to
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot


def warnings_of(*folders: Path) -> list[str]:
    audited = Audited(select_snapshots(folders, Wanted()), cast("Any", None), [], [])
    return list(answer_to(audited, None, counts_only=True).warnings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three snapshots of one cluster, an hour apart."""
    for hours in range(3):
        snapshot = snapshot_of([partition()], [{"broker": 1}], taken_at=NOON + timedelta(hours=hours))
        write_snapshot(snapshot, tmp_path / "dumps")
    return tmp_path / "dumps"


def test_whole_snapshots_are_nothing_to_warn_of(folder: Path) -> None:
    assert warnings_of(folder) == []


def test_snapshots_of_damaged_files_are_left_out_and_said_to_be(folder: Path) -> None:
    first, second, _ = sorted(folder.rglob("partitions/**/*.parquet"))
    first.write_bytes(first.read_bytes()[:-5])
    found = warnings_of(folder)
    assert found[0].startswith(f"{first}: damaged: ")
    assert found[1:] == ["1 snapshot left out because of damaged files"]
    second.write_bytes(b"")
    assert warnings_of(folder)[2:] == ["2 snapshots left out because of damaged files"]


def test_a_copy_of_a_snapshot_is_counted_once_and_said_to_be(folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    assert warnings_of(folder, copy) == ["3 copies of snapshots left out: each is counted once"]


def test_of_many_strange_files_some_are_named(folder: Path) -> None:
    place = next(folder.rglob("partitions/**/*.parquet")).parent
    for number in range(MOST_NAMED + 2):
        (place / f"orphan-{number:02}.parquet").write_bytes(b"x")
    found = warnings_of(folder)
    assert [": foreign: " in line for line in found] == [True] * MOST_NAMED + [False]
    assert found[-1] == "2 more foreign files: -o json names them in summary.foreign_files"


def test_what_the_newest_snapshot_of_a_cluster_could_not_see_is_said(folder: Path) -> None:
    later = NOON + timedelta(hours=5)
    write_snapshot(snapshot_of([partition()], [{"broker": 1}], taken_at=later, gaps=(hidden(3),)), folder)
    (line,) = warnings_of(folder)
    assert "3 topics are hidden [from you]" in line
