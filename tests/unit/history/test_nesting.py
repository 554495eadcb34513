"""Histories that would lie in one another: refused, with the one that is there already."""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.errors import UsageError
from kreplica.history.nesting import refuse_nested
from kreplica.monitoring.snapshots.ingestion import ingest_dumps
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


def test_in_an_object_store_the_names_of_the_place_tell() -> None:
    refuse_nested(S3Place("fleet", "history"))
    with pytest.raises(UsageError, match="s3://fleet/history/cluster=a/x is inside a history"):
        refuse_nested(S3Place("fleet", "history/cluster=a/x"))
