"""Histories that would lie in one another: refused, with the one that is there already."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.errors import UsageError
from kreplica.history.nesting import refuse_nested
from kreplica.monitoring.snapshots.ingestion import ingest_dumps
from kreplica.monitoring.snapshots.taking import take_snapshots
from kreplica.store.writing import write_snapshot
from kreplica.system.guard import attempt
from kreplica.system.stores.s3 import S3Place


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """A folder with a history beside another folder."""
    for name in ("my history/cluster=a/month=2026-03/manifests", "notes"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("my history/more", "more is inside the history {history}; --into '{history}' adds to it"),
        ("my history/more/and more", "and more is inside the history {history}"),
        ("my history/cluster=a", "cluster=a is inside the history {history}"),
        ("", "{fleet} holds the history {history}; --into '{history}' adds to it"),
    ],
)
def test_a_history_in_a_history_or_around_one_is_refused(fleet: Path, place: str, said: str) -> None:
    words = said.replace("{history}", str(fleet / "my history")).replace("{fleet}", str(fleet))
    with pytest.raises(UsageError) as refused:
        ingest_dumps([fleet / "notes"], fleet / place)
    assert words in str(refused.value)
    assert sorted(path.name for path in fleet.rglob("*")) == [
        "cluster=a",
        "manifests",
        "month=2026-03",
        "my history",
        "notes",
    ]


@pytest.mark.parametrize("place", ["my history", "notes", "notes/more", "other"])
def test_beside_a_history_and_into_it_is_allowed(fleet: Path, place: str) -> None:
    refused = attempt(lambda: refuse_nested(fleet / place))
    assert refused is None


def test_a_history_in_a_dump_directory_is_refused(tmp_path: Path) -> None:
    write_snapshot(snapshot_of([partition()], cluster_id="a"), tmp_path / "dumps")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        UsageError, match="dumps is a dump directory, and no history; a history has a folder of its own"
    ):
        ingest_dumps([tmp_path / "dumps"], tmp_path / "dumps")
    assert sorted(tmp_path.rglob("*")) == before


def test_snapshots_in_a_history_are_refused_unless_some_are_there(fleet: Path) -> None:
    history = fleet / "my history"
    with pytest.raises(UsageError) as refused:
        take_snapshots([], history)
    assert str(refused.value) == (
        f"{history} is a history, and no dump directory; name another folder; "
        f"kreplica audit ingest FOLDER --into '{history}' takes them in"
    )
    write_snapshot(snapshot_of([partition()], cluster_id="a"), history)
    assert attempt(lambda: take_snapshots([], history).rows) == []
    assert attempt(lambda: take_snapshots([], fleet / "notes").rows) == []


def test_in_an_object_store_the_names_of_the_place_tell() -> None:
    refuse_nested(S3Place("fleet", "history"))
    with pytest.raises(UsageError, match="s3://fleet/history/cluster=a/x is inside a history"):
        refuse_nested(S3Place("fleet", "history/cluster=a/x"))
