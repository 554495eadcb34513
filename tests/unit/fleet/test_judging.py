"""A fleet judged by several processes, and at the time of the newest snapshot of all its clusters."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, ingest_into
from histories.folders import moment
from histories.observations import HOUR, MARCH

from kreplica.fleet import judging
from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.incidents.fleet import incidents_in
from kreplica.fleet.judging import judge_clusters, newest_ms
from kreplica.fleet.rule import Circumstances
from kreplica.history.newest import newest_ms_in
from kreplica.history.selection import choose
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage


def planted(label: str, hours: int) -> PlantedCluster:
    cluster = PlantedCluster(label, label)
    cluster.snapshot(2)
    cluster.change("orders", 0, min_isr=1)
    cluster.snapshot(hours - 2)
    return cluster


@pytest.fixture
def history(tmp_path: Path) -> LocalStorage:
    """Two clusters whose last snapshot is of midnight, and one that went on for six hours."""
    storage = LocalStorage(tmp_path)
    ingest_into(storage, [planted("c1", 5), planted("c2", 5), planted("c3", 11)])
    return storage


def test_processes_that_share_the_clusters_find_what_one_finds(history: LocalStorage) -> None:
    chosen = choose(history)
    asked = Circumstances(newest_ms(chosen))
    alone = judge_clusters(chosen, asked)
    assert [(one.rule, one.cluster) for one in alone] == [
        *(("min-isr-lowered", "c1"), ("no-snapshot", "c1"), ("min-isr-lowered", "c2"), ("no-snapshot", "c2")),
        ("min-isr-lowered", "c3"),
    ]
    assert judge_clusters(chosen, asked, processes=3) == alone
    told = incidents_in(history, processes=3)
    assert (told.rows, told.names, told.snapshots) == (
        incidents_in(history).rows,
        {"c1": "c1", "c2": "c2", "c3": "c3"},
        21,
    )
    assert len(told.rows) == 5


def test_no_more_than_one_cluster_is_held_at_a_time(history: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    class Counted(ClusterHistory):
        alive = 0

        def __init__(self, months: object) -> None:
            super().__init__(months)  # type: ignore[arg-type]
            Counted.alive += 1
            held.append(Counted.alive)

        def __del__(self) -> None:
            Counted.alive -= 1

    monkeypatch.setattr(judging, "ClusterHistory", Counted)
    judge_clusters(choose(history), Circumstances(0), ["min-isr-lowered"])
    assert held == [1, 1, 1]


def test_the_newest_snapshot_is_that_of_any_cluster_up_to_a_moment(history: LocalStorage) -> None:
    assert newest_ms_in(history) == MARCH + 10 * HOUR
    assert newest_ms_in(history, moment(MARCH + 7 * HOUR + 1)) == MARCH + 7 * HOUR
    assert newest_ms_in(history, moment(MARCH + 3 * HOUR)) == MARCH + 3 * HOUR  # in March
    assert newest_ms_in(history, datetime(2000, 1, 1, tzinfo=UTC)) is None


def test_a_cluster_that_is_asked_for_alone_is_late_by_the_others(history: LocalStorage) -> None:
    found = incidents_in(history, Wanted(("c1",)))
    assert [one.kind for one in found.incidents] == ["setting", "no-snapshot"]
    assert [one.id for one in found.incidents] == [
        one.id for one in incidents_in(history).incidents if one.cluster == "c1"
    ]


def test_an_audit_judges_at_the_newest_snapshot_of_the_time_that_is_wanted(
    history: LocalStorage, tmp_path: Path
) -> None:
    from analyzers.fleet_audit import judge_over_time, select_fleet

    def late(**wanted: object) -> list[str]:
        selection = select_fleet([tmp_path], Wanted(**wanted))  # type: ignore[arg-type]
        rows = judge_over_time(selection, ["no-snapshot"], processes=2)
        return [f"{row.cluster} {row.last_seen}" for row in rows]

    told = "2026-04-01T06:00:00+00:00"
    assert late() == [f"c1 {told}", f"c2 {told}"]
    assert late(clusters=("c1",)) == [f"c1 {told}"]
    assert late(clusters=("c3",)) == []
    assert late(clusters=("c1",), until=moment(MARCH + 7 * HOUR)) == []  # three times the usual interval is no pause
    assert late(clusters=("c1",), until=moment(MARCH + 8 * HOUR)) == ["c1 2026-04-01T04:00:00+00:00"]
