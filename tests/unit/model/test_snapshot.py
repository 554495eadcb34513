"""ClusterSnapshot: views of one cluster at one moment."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from clusters.generated import NOON, partition, snapshot_of

from kreplica.model.snapshot import ClusterSnapshot, controller_of, utc_now
from kreplica.model.tables.schema import BROKERS, QUORUM, TABLES
from kreplica.model.tables.table import Table
from kreplica.store.manifest import read_manifest


def test_a_partition_is_found_by_its_place() -> None:
    snapshot = snapshot_of([partition("b", 1, leader=3), partition("a", 1, leader=2)])
    assert snapshot.partition("b", 1)["leader"] == 3
    with pytest.raises(KeyError):
        snapshot.partition("b", 0)


def test_a_selection_has_views_of_its_own() -> None:
    snapshot = snapshot_of([partition("a", 0), partition("b", 0), partition("b", 1)])
    assert snapshot.partition("a", 0)["topic"] == "a"
    selected = snapshot.select(np.array([1, 2]))
    assert (selected.topic_count, snapshot.topic_count) == (1, 2)
    with pytest.raises(KeyError):
        selected.partition("a", 0)
    assert snapshot.without_partitions().topic_count == 0
    assert len(snapshot.without_partitions().partitions) == 0


def test_racks_leave_out_brokers_without_one() -> None:
    snapshot = snapshot_of([], [{"broker": 1, "rack": "a"}, {"broker": 2}])
    assert snapshot.racks == {1: "a"}


def test_the_label_is_the_cluster_id_where_it_is_known() -> None:
    assert snapshot_of([]).label == "cluster-id"
    assert snapshot_of([], cluster_id=None).label == "test"


def test_every_table_is_there() -> None:
    snapshot = snapshot_of([])
    for schema in TABLES:
        assert snapshot.table(schema).schema is schema


def test_a_moment_without_zone_and_another_table_are_refused() -> None:
    with pytest.raises(AssertionError, match="zone"):
        snapshot_of([], taken_at=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(AssertionError, match="partitions"):
        ClusterSnapshot("id", "name", NOON, "test", partitions=Table.empty(BROKERS))


def test_columns_are_read_by_what_they_hold() -> None:
    snapshot = snapshot_of([partition()])
    for read, name in ((snapshot.strings, "leader"), (snapshot.integers, "isr"), (snapshot.lists, "topic")):
        with pytest.raises(AssertionError):
            read(name)


def test_now_fits_into_milliseconds() -> None:
    assert utc_now().microsecond % 1000 == 0
    assert utc_now().utcoffset() is not None


QUORUM_LEADERS = {
    "20261121T070354.458Z": 1,
    "20261121T070554.474Z": 1,
    "20261121T070620.427Z": 1,
    "20261121T070653.287Z": 1,
    "20261121T070801.102Z": 1,
    "20261121T070847.183Z": 2,
}
"""leader_id of describe_metadata_quorum in tests/golden/kafka-4.3.1/*/api-responses.json, by the time of its answer."""


@pytest.mark.parametrize(("stamp", "leader"), QUORUM_LEADERS.items())
def test_packaged_kraft_snapshots_name_the_leader_of_the_quorum(root: Path, stamp: str, leader: int) -> None:
    (manifest,) = (root / "kreplica/data/fleet/manifests").glob(f"{stamp}-*.json")
    assert read_manifest(manifest).snapshot.controller == leader


@pytest.mark.parametrize(
    ("named", "features", "leaders", "expected"),
    [
        (2, {}, [], 2),
        (None, {}, [], None),
        (2, {"metadata.version": 7}, [], None),
        (2, {"metadata.version": 7}, [False, True], 11),
        (2, {}, [True, False], 10),
        (2, {"metadata.version": 7}, [False, False], None),
    ],
)
def test_the_controller_of_kraft_is_the_leader_of_the_quorum(
    named: int | None, features: dict[str, int], leaders: list[bool], expected: int | None
) -> None:
    rows = [{"node": 10 + place, "voter": True, "leader": leader} for place, leader in enumerate(leaders)]
    assert controller_of(named, features, Table.from_rows(QUORUM, rows)) == expected
