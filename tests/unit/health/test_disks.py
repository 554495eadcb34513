"""Disks: what lies where is counted against a plain reading of the rows; forecasts against arithmetic by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from clusters.generated import NOON, hidden, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.health.disks import DiskReport, LogDirectory, StrayReason, Trend, disk_report
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import CONFIGS, REPLICAS
from kreplica.model.tables.table import Table

GIB = 2**30


def replica(topic: str, number: int, broker: int, **fields: Any) -> dict[str, Any]:
    named = {"topic": topic, "partition": number, "broker": broker, "log_dir": "/a", "size": 100, "offset_lag": 0}
    return {**named, "future": False, **fields}


def log_dir(broker: int = 1, path: str = "/a", total: int | None = 100 * GIB, usable: int | None = 40 * GIB) -> Any:
    return {"broker": broker, "path": path, "total_bytes": total, "usable_bytes": usable}


def cluster(
    partitions: list[Any], log_dirs: list[Any], replicas: list[Any], configs: Any = (), **facts: Any
) -> ClusterSnapshot:
    brokers = facts.pop("brokers", [{"broker": broker} for broker in (1, 2, 3)])
    stored = Table.from_rows(REPLICAS, replicas)
    return snapshot_of(
        partitions, brokers, log_dirs, replicas=stored, configs=Table.from_rows(CONFIGS, configs), **facts
    )


IDS = st.sampled_from([1, 2, 3, 2_147_483_647])
REPLICA = st.builds(
    replica,
    st.sampled_from(["orders", "gone", "__cluster_metadata"]),
    st.integers(0, 3),
    IDS,
    log_dir=st.sampled_from(["/a", "/b"]),
    size=st.integers(0, 5),
    future=st.booleans(),
)


@given(
    assignments=st.lists(st.lists(IDS, unique=True, max_size=3), max_size=3),
    replicas=st.lists(REPLICA, max_size=12, unique_by=lambda row: (row["topic"], row["partition"], row["broker"])),
    brokers=st.sets(IDS),
    top=st.integers(0, 5),
)
def test_what_lies_where_is_what_a_plain_count_says(
    assignments: list[list[int]], replicas: list[Any], brokers: set[int], top: int
) -> None:
    placed = {("orders", number): set(ids) for number, ids in enumerate(assignments)}
    rows = [partition("orders", number, replicas=ids, isr=[]) for number, ids in enumerate(assignments)]
    dirs = [log_dir(broker, path) for broker in (1, 2, 3) for path in ("/a", "/b")]
    report = disk_report(cluster(rows, dirs, replicas), brokers=brokers, top=top)

    seen = [row for row in replicas if not brokers or row["broker"] in brokers]
    strays = [
        row
        for row in seen
        if row["topic"] != "__cluster_metadata"
        and row["broker"] not in placed.get((row["topic"], row["partition"]), set())
    ]
    found = {(one.topic, one.partition, one.broker, one.log_dir) for one in report.strays}
    assert found == {(row["topic"], row["partition"], row["broker"], row["log_dir"]) for row in strays}
    for one in report.strays:
        known = one.topic == "orders" and one.partition < len(assignments)
        expected = StrayReason.NOT_ASSIGNED if known else StrayReason.UNKNOWN_PARTITION
        none_listed = one.topic != "orders" or not assignments
        assert one.reason is (StrayReason.UNKNOWN_TOPIC if none_listed else expected)
    for directory in report.directories:
        inside = [row for row in seen if (row["broker"], row["log_dir"]) == (directory.broker, directory.path)]
        assert (directory.replicas, directory.kafka_bytes) == (len(inside), sum(row["size"] for row in inside))
        assert directory.strays == sum(row in strays for row in inside)
        assert directory.futures == sum(row["future"] for row in inside)
    check_largest(report, seen, top)


def check_largest(report: DiskReport, seen: list[Any], top: int) -> None:
    sizes: dict[tuple[str, int], list[int]] = {}
    for row in seen:
        sizes.setdefault((row["topic"], row["partition"]), []).append(row["size"])
    expected = sorted(sizes, key=lambda key: (-max(sizes[key]), key))[:top]
    assert [max(sizes[key]) for key in expected] == [one.bytes for one in report.largest]
    for one in report.largest:
        copies = sizes[one.topic, one.partition]
        assert (one.bytes, one.all_bytes) == (max(copies), sum(copies))
        holders = {row["broker"] for row in seen if (row["topic"], row["partition"]) == (one.topic, one.partition)}
        assert one.brokers == tuple(sorted(holders))


def test_replicas_of_unlisted_topics_are_no_strays_while_topics_are_hidden() -> None:
    replicas = [replica("secret", 0, 1), replica("orders", 0, 3)]
    told = disk_report(cluster([partition(replicas=[1, 2])], [log_dir()], replicas, gaps=(hidden(1),)))
    assert [(one.topic, one.reason) for one in told.strays] == [("orders", StrayReason.NOT_ASSIGNED)]
    assert told.unlisted == 1
    assert (
        disk_report(cluster([partition()], [log_dir()], [replica("secret", 0, 1)], gaps=(hidden(1),)))
        .directories[0]
        .strays
        == 0
    )
    open_to_all = disk_report(cluster([partition(replicas=[1, 2])], [log_dir()], replicas))
    assert [one.topic for one in open_to_all.strays] == ["orders", "secret"]
    assert open_to_all.unlisted == 0


def test_a_replica_being_added_is_no_stray() -> None:
    moving = partition(replicas=[1, 2, 3], isr=[1, 2], adding=[3])
    assert disk_report(cluster([moving], [log_dir(3)], [replica("orders", 0, 3)])).strays == ()


def test_a_future_replica_stands_beside_the_one_it_replaces() -> None:
    replicas = [
        replica("orders", 0, 1, size=500),
        replica("orders", 0, 1, log_dir="/b", size=200, offset_lag=30, future=True),
        replica("orders", 0, 2, log_dir="/z", size=500),
    ]
    report = disk_report(cluster([partition()], [log_dir(1, "/a"), log_dir(1, "/b")], replicas))
    (future,) = report.futures
    assert (future.broker, future.from_dir, future.to_dir) == (1, "/a", "/b")
    assert (future.bytes, future.of_bytes, future.lag) == (200, 500, 30)
    assert report.strays == ()


def test_each_future_replica_stands_beside_its_own_current_one() -> None:
    current = [
        replica(topic, number, broker, log_dir=f"/{topic}{number}", size=10 * number + broker)
        for topic in ("a", "b")
        for number in (1, 2)
        for broker in (1, 2)
    ]
    moving = [replica("a", 2, 1, log_dir="/new", future=True), replica("b", 1, 2, log_dir="/new", future=True)]
    alone = replica("c", 0, 1, log_dir="/new", future=True)
    report = disk_report(cluster([partition()], [log_dir()], [*current, *moving, alone]))
    found = [(one.topic, one.partition, one.broker, one.from_dir, one.of_bytes) for one in report.futures]
    assert found == [("a", 2, 1, "/a2", 21), ("b", 1, 2, "/b1", 12), ("c", 0, 1, None, None)]


def test_an_offline_directory_tells_nothing_of_what_is_in_it() -> None:
    offline = {"broker": 1, "path": "/a", "error": "KAFKA_STORAGE_ERROR"}
    (directory,) = disk_report(cluster([partition()], [offline], [])).directories
    assert (directory.kafka_bytes, directory.replicas, directory.strays, directory.futures) == (None,) * 4
    assert directory.usable_percent is None


@pytest.mark.parametrize(
    ("directories", "hosts", "volumes"),
    [
        ([log_dir(1, "/a"), log_dir(1, "/b")], {}, [(100, 40)]),  # one broker, equal numbers
        ([log_dir(1, "/a"), log_dir(1, "/b", usable=int(40.05 * GIB))], {}, [(100, 40)]),  # read moments apart
        ([log_dir(1, "/a"), log_dir(1, "/b", usable=41 * GIB)], {}, [(100, 40), (100, 41)]),  # two equal disks
        ([log_dir(1, "/a"), log_dir(1, "/b", total=99 * GIB)], {}, [(100, 40), (99, 40)]),
        ([log_dir(1, "/a"), log_dir(2, "/a")], {}, [(100, 40), (100, 40)]),  # hosts not known: two machines
        ([log_dir(1, "/a"), log_dir(2, "/a")], {1: "h", 2: "h"}, [(100, 40)]),  # two brokers of one machine
        ([log_dir(1, "/a"), log_dir(2, "/a")], {1: "h", 2: "g"}, [(100, 40), (100, 40)]),
        ([log_dir(1, "/a", None, None), log_dir(1, "/b", None, None)], {}, []),  # before Kafka 3.3
    ],
)
def test_a_volume_that_may_be_shared_counts_once(directories: list[Any], hosts: Any, volumes: list[Any]) -> None:
    brokers = [{"broker": broker, "host": hosts.get(broker)} for broker in (1, 2)]
    report = disk_report(cluster([], directories, [], brokers=brokers))
    found = [((one.total_bytes or 0) // GIB, (one.usable_bytes or 0) // GIB) for one in report.volumes()]
    assert found == volumes
    shared = len(report.volumes()) == 1
    assert all(one.may_share_volume is shared for one in report.directories)


def grown(now: Any, then: Any, stored: tuple[int, int] = (0, 0), hours: float = 12) -> LogDirectory:
    sizes = [[replica("orders", 0, 1, size=size)] for size in stored]
    later = cluster([partition()], [now], sizes[0])
    before = cluster([partition()], [then], sizes[1], taken_at=NOON - timedelta(hours=hours))
    (directory,) = disk_report(later, earlier=before).directories
    return directory


def test_days_until_full_are_the_usable_space_divided_by_its_loss_a_day() -> None:
    # 40 GiB are left, 5 GiB went in half a day, so 10 GiB go in a day: four days.
    growth = grown(log_dir(usable=40 * GIB), log_dir(usable=45 * GIB), (300, 100)).growth
    assert growth is not None
    assert growth.trend is Trend.FILLING
    assert growth.days_until_full == pytest.approx(4.0)
    assert (growth.filled_bytes, growth.kafka_bytes) == (5 * GIB, 200)
    assert growth.since == NOON - timedelta(hours=12)


@pytest.mark.parametrize(
    ("now", "then", "trend"),
    [
        (log_dir(usable=45 * GIB), log_dir(usable=45 * GIB), Trend.NOT_GROWING),
        (log_dir(usable=46 * GIB), log_dir(usable=45 * GIB), Trend.NOT_GROWING),
        (log_dir(usable=40 * GIB), log_dir(total=90 * GIB, usable=45 * GIB), Trend.RESIZED),
        (log_dir(usable=None, total=None), log_dir(), Trend.NOT_KNOWN),
        (log_dir(), log_dir(usable=None, total=None), Trend.NOT_KNOWN),
        (log_dir(), log_dir(path="/other"), Trend.NEW),
        ({"broker": 1, "path": "/a", "error": "KAFKA_STORAGE_ERROR"}, log_dir(), Trend.OFFLINE),
        (log_dir(), {"broker": 1, "path": "/a", "error": "KAFKA_STORAGE_ERROR"}, Trend.OFFLINE),
    ],
)
def test_no_forecast_where_the_volume_does_not_fill_or_cannot_be_compared(now: Any, then: Any, trend: Trend) -> None:
    growth = grown(now, then).growth
    assert growth is not None
    assert (growth.trend, growth.days_until_full) == (trend, None)


def test_one_snapshot_gives_no_forecast() -> None:
    (directory,) = disk_report(cluster([], [log_dir()], [])).directories
    assert directory.growth is None


def test_a_full_volume_is_full_now() -> None:
    growth = grown(log_dir(usable=0), log_dir(usable=GIB)).growth
    assert growth is not None
    assert growth.days_until_full == 0


def test_retention_is_that_of_the_largest_topics_only() -> None:
    configs = [
        {"entity_type": kind, "entity": entity, "name": name, "value": value, "origin": origin}
        for kind, entity, name, value, origin in [
            ("topic", "orders", "retention.ms", "1000", "topic"),
            ("topic", "orders", "cleanup.policy", "compact", "default"),
            ("topic", "orders", "min.insync.replicas", "2", "default"),
            ("topic", "small", "retention.ms", "5", "topic"),
            ("broker", "orders", "retention.bytes", "7", "broker-static"),
        ]
    ]
    replicas = [replica("orders", 0, 1, size=9), replica("small", 0, 1, size=1)]
    rows = [partition("orders"), partition("small")]
    (largest,) = disk_report(cluster(rows, [log_dir()], replicas, configs), top=1).largest
    assert largest.topic == "orders"
    assert largest.retention == {"retention.ms": ("1000", "topic"), "cleanup.policy": ("compact", "default")}


def test_no_log_directory_known() -> None:
    assert disk_report(cluster([partition()], [], [])) == DiskReport((), (), (), ())
