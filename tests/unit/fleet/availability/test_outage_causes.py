"""Causes of outages: what the timeline tells of them is what the cluster as of that moment tells."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from histories.clusters import PlantedCluster, ingest_into
from planted.incidents import larger, start, stop

from kreplica.fleet.availability import outage_causes
from kreplica.fleet.availability.outage_causes import OutageCauses
from kreplica.fleet.availability.outages import WRITES, Outages
from kreplica.fleet.availability.timeline import Timeline, timelines_of
from kreplica.history.moments.as_of import cluster_as_of
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

Looks = list[datetime | None]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    """Moments for which the history is asked again."""
    found: Looks = []

    def looked(storage: Any, cluster: Any, moment: datetime | None, decoded: Any) -> Any:
        found.append(moment)
        return cluster_as_of(storage, cluster, moment, decoded)

    monkeypatch.setattr(outage_causes, "cluster_as_of", looked)
    return found


def causes_of(folder: Path, wanted: Wanted = Wanted(), *, asked: bool = False) -> dict[Any, str]:  # noqa: B008
    timeline = Timeline(timelines_of(LocalStorage(folder), wanted).months)
    found = OutageCauses(LocalStorage(folder), timeline, since=wanted.since is not None)
    if asked:
        found._is_told = lambda _: False  # type: ignore[method-assign]
    return found.of(Outages(timeline).of(WRITES))


def kept(folder: Path, cluster: PlantedCluster) -> Path:
    ingest_into(LocalStorage(folder), [cluster])
    return folder


def fallen() -> PlantedCluster:
    """Of six brokers two are down in hours 3 and 4, one of them again in hour 7 with its rack."""
    cluster = larger()
    cluster.snapshot(3)
    stop(cluster, 0, 1)
    cluster.snapshot(2)
    start(cluster, 0, 1)
    cluster.snapshot(2)
    stop(cluster, 0, 3, 4)
    cluster.snapshot(2)
    return cluster


def test_brokers_that_are_down_are_told_without_the_rest_of_the_cluster(tmp_path: Path, looks: Looks) -> None:
    folder = kept(tmp_path, fallen())
    alone = causes_of(folder)
    assert looks == []
    assert alone == causes_of(folder, asked=True)
    assert len(looks) == len({begin for *_, begin in alone}) == 2
    assert {cause.split()[0] for cause in alone.values()} == {"broker-gone"}


def test_a_broker_that_is_out_is_told_by_comparison_with_the_others(tmp_path: Path, looks: Looks) -> None:
    cluster = larger(partitions=12)
    cluster.snapshot(2)
    stop(cluster, 2)
    cluster.brokers[2]["alive"] = True  # it answers, but no leader has it in sync
    for number in range(12):
        cluster.change("orders", number, min_isr=3)
    cluster.snapshot(2)
    folder = kept(tmp_path, cluster)
    found = causes_of(folder)
    assert looks == []
    assert found == causes_of(folder, asked=True)
    assert set(found.values()) == {"broker-out 2"}


def test_what_was_told_before_the_time_that_is_wanted_counts(tmp_path: Path, looks: Looks) -> None:
    cluster = fallen()
    since = cluster.taken[4].taken_at
    folder = kept(tmp_path, cluster)
    found = causes_of(folder, Wanted(since=since))
    assert found == causes_of(folder, Wanted(since=since), asked=True)
    # Log directories and settings are not told of in this history, so that older snapshots might have told of them.
    assert set(looks) == {datetime.fromtimestamp(begin / 1000, since.tzinfo) for *_, begin in found}


def test_the_same_where_log_directories_are_told(tmp_path: Path, looks: Looks) -> None:
    cluster = larger()
    for broker in range(6):
        cluster.set("broker", str(broker), "follower.replication.throttled.rate", "1000", "broker")
        cluster.log_dirs[broker, "/data"] = {"error": None, "total_bytes": 100, "usable_bytes": 50}
    cluster.snapshot(2)
    for number in range(6):
        row = cluster.partitions["orders", number]
        if 1 in row["replicas"]:
            left = [one for one in row["replicas"] if one != 1]
            cluster.change("orders", number, isr=left, leader=left[0], offline_replicas=[1], min_isr=3)
    cluster.log_dirs[1, "/data"]["error"] = "KAFKA_STORAGE_ERROR"
    cluster.snapshot(2)
    folder = kept(tmp_path, cluster)
    since = cluster.taken[1].taken_at
    found = causes_of(folder, Wanted(since=since))
    assert looks == []
    assert set(found.values()) == {"log-directory-offline 1"}
    assert found == causes_of(folder, Wanted(since=since), asked=True)
