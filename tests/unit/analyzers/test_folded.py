"""Dumps folded before an audit: which are, and what cannot be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from clusters.generated import partition, snapshot_of

from analyzers.fleet_audit import folded_here
from analyzers.reading.folded import folded, is_foldable
from kreplica.store.selection import Selection, Wanted, select_snapshots
from kreplica.store.writing import write_snapshot

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def selection(tmp_path: Path) -> Selection:
    return stored(tmp_path, [timedelta(hours=hour) for hour in range(4)])


def stored(folder: Path, times: list[timedelta]) -> Selection:
    for place, time in enumerate(times):
        write_snapshot(
            snapshot_of([partition(), partition(leader_epoch=place, number=1)], taken_at=NOON + time), folder
        )
    return select_snapshots([folder], Wanted())


def test_what_stays_the_same_is_one_row_and_the_folder_is_removed_afterwards(selection: Selection) -> None:
    with folded(selection) as fold:
        assert fold is not None
        place = Path(fold.storage.on_disk("."))
        assert (place.is_dir(), fold.partition_rows) == (True, 1 + 4)
    assert not place.exists()


def test_many_rows_of_several_snapshots_of_each_cluster_are_folded(selection: Selection) -> None:
    assert is_foldable(selection, fewest_rows=8)
    assert not is_foldable(selection, fewest_rows=9)
    assert not is_foldable(replace(selection, snapshots=selection.snapshots[:3]), fewest_rows=6)


@pytest.mark.parametrize(
    "place", [{"master": "spark://127.0.0.1:7077"}, {"remote": "sc://127.0.0.1"}, {"master": "local[2]"}, {}]
)
def test_nothing_is_folded_for_spark_elsewhere(
    selection: Selection, place: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzers.fleet_audit.is_foldable", lambda _: True)
    with folded_here(selection, **place) as read:
        assert (read is not selection) == (place in ({"master": "local[2]"}, {}))


def test_small_dumps_are_read_one_by_one(selection: Selection) -> None:
    with folded_here(selection) as read:
        assert read is selection


def test_a_file_that_was_changed_after_it_was_checked_is_left_to_spark(selection: Selection) -> None:
    path = selection.snapshots[1].partitions
    assert path is not None
    Path(path).write_bytes(b"another")
    with folded(selection) as fold:
        assert fold is None


def test_two_snapshots_of_one_millisecond_are_read_one_by_one(tmp_path: Path) -> None:
    """A history knows milliseconds."""
    selection = stored(tmp_path, [timedelta(microseconds=some) for some in (0, 1400, 1200)])
    with folded(selection) as fold:
        assert fold is None
