"""Histories and dump directories with folders that may not be read: named, and never taken for empty ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of
from histories.folders import candidate
from histories.observations import observed
from planted.closed_folders import close_directory

from kreplica.errors import InputError
from kreplica.history.ingest import ingest
from kreplica.history.selection import choose, find_cluster, storage_of
from kreplica.monitoring.snapshots.ingestion import ingest_dumps
from kreplica.sources.dumps.dump import read_dump
from kreplica.store.selection import Wanted, dump_directories, select_snapshots
from kreplica.store.writing import write_snapshot
from kreplica.system.stores.storage import NOT_ALLOWED, LocalStorage

REFUSED = f"permission denied; {NOT_ALLOWED}"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Two clusters."""
    for cluster, name in (("Zk5", "prod-eu"), ("Zk6", "prod-us")):
        ingest([candidate(observed(0, {("orders", 0): {"leader": 1}}), cluster, name=name)], LocalStorage(tmp_path))
    return tmp_path


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    write_snapshot(snapshot_of([partition("orders", 0)]), tmp_path / "dumps/one")
    return tmp_path / "dumps/one"


@pytest.mark.parametrize("closed", ["", "cluster=Zk5", "cluster=Zk5/month=2026-03/manifests"])
@pytest.mark.parametrize(
    "read",
    [
        lambda path: choose(storage_of(path)).refuse_damaged(),
        lambda path: find_cluster(storage_of(path), "prod-eu"),
        lambda path: read_dump(f"{path}/cluster=prod-eu"),
    ],
)
def test_a_closed_folder_of_a_history_is_named(
    history: Path, monkeypatch: pytest.MonkeyPatch, closed: str, read: Callable[[Path], Any]
) -> None:
    close_directory(monkeypatch, history / closed)
    with pytest.raises(InputError, match=REFUSED) as raised:
        read(history)
    assert Path(raised.value.source) in (history / closed, history / "cluster=prod-eu")


def test_clusters_beside_a_closed_month_are_read(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = history / "cluster=Zk5/month=2026-03/manifests"
    close_directory(monkeypatch, closed)
    chosen = choose(storage_of(history))
    assert [month.cluster for month in chosen.months] == ["Zk6"]
    assert chosen.warnings == [f"{closed}: permission denied"]
    assert find_cluster(storage_of(history), "prod-us") == "cluster=Zk6"


def test_nothing_is_added_to_a_month_that_cannot_be_read(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = history / "cluster=Zk5/month=2026-03/manifests"
    close_directory(monkeypatch, closed)
    later = candidate(observed(2, {("orders", 0): {"leader": 2}}), "Zk5", name="prod-eu")
    taken = ingest([later], LocalStorage(history))
    assert (taken.total("added"), taken.faults) == (0, 1)
    assert taken.problems[0].endswith(f"not added: cannot read {closed}; {REFUSED}")


@pytest.mark.parametrize("closed", ["", "manifests"])
def test_a_closed_dump_directory_is_named(dump: Path, monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    close_directory(monkeypatch, dump / closed)
    with pytest.raises(InputError, match=REFUSED):
        read_dump(str(dump))
    told = [(dump, "permission denied")]
    assert [(Path(one.path), one.reason) for one in select_snapshots([dump], Wanted()).orphans] == told
    assert [(Path(one.path), one.reason) for one in select_snapshots([dump.parent], Wanted()).orphans] == told


def test_a_dump_directory_in_a_closed_folder_is_refused(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close_directory(monkeypatch, dump.parent)
    with pytest.raises(InputError, match=REFUSED):
        select_snapshots([dump], Wanted())
    with pytest.raises(InputError, match=REFUSED):
        ingest_dumps([dump], dump.parent.parent / "history")


def test_a_closed_dump_is_named_where_paths_say_no_of_what_they_may_not_look_at(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of Python 3.14 do."""
    close_directory(monkeypatch, dump.parent)
    monkeypatch.setattr(Path, "is_dir", os.path.isdir)
    with pytest.raises(InputError, match=REFUSED):
        dump_directories([dump])
