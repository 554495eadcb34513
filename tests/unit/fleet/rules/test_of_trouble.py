"""Fleet rules on what goes on for long, or again and again; expected times are those of the planting."""

from __future__ import annotations

import numpy as np
import pytest
from histories.clusters import PlantedCluster, hours, judged
from hypothesis import given
from hypothesis import strategies as st

from kreplica.fleet.windows import often


@pytest.fixture
def cluster() -> PlantedCluster:
    found = PlantedCluster()
    found.snapshot(2)
    return found


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 3)), max_size=8), st.integers(1, 5))
def test_windows_are_those_of_plain_counting(events: list[tuple[int, int, int]], most: int) -> None:
    expected = [
        any(
            begin <= time <= begin + 4
            and sum(by for k, t, by in events if k == key and begin <= t <= begin + 4) >= most
            for k2, begin, _ in events
            if k2 == key
        )
        for key, time, _ in events
    ]
    columns = [np.array([event[at] for event in events], np.int64) for at in range(3)]
    assert often(*columns, most, 4).tolist() == expected


# stuck-reassignment


def test_a_reassignment_of_a_day_is_stuck(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, replicas=[3, 0, 1, 2], adding=[3], removing=[2])
    cluster.snapshot(20)
    cluster.change("orders", 0, leader=1)  # not what it is about
    cluster.snapshot(5)
    (one,) = judged(cluster, "stuck-reassignment")
    assert (one.topic, one.partition, hours(one)) == ("orders", 0, (1, 2, 26, None))
    assert one.message == "reassignment for 1 d: adding 3, of which in sync none, removing 2"


def test_a_reassignment_that_is_over_within_a_day_is_none(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, replicas=[3, 0, 1, 2], adding=[3], removing=[2])
    cluster.snapshot(24)
    cluster.change("orders", 0, replicas=[3, 0, 1], isr=[0, 1, 3], adding=[], removing=[])
    cluster.snapshot()
    assert judged(cluster, "stuck-reassignment") == []


def test_several_reassignments_in_a_row_are_not_one(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, replicas=[3, 0, 1, 2], adding=[3], removing=[2])
    cluster.snapshot(20)
    cluster.change("orders", 0, replicas=[4, 0, 1, 2], adding=[4], removing=[2])
    cluster.snapshot(20)
    assert judged(cluster, "stuck-reassignment") == []


# orphaned-throttle


def throttle(cluster: PlantedCluster, value: str | None = "0:1") -> None:
    cluster.set("topic", "orders", "leader.replication.throttled.replicas", value)
    cluster.set("topic", "audit", "retention.ms", "1000")


def test_a_throttle_without_a_move_is_left_over(cluster: PlantedCluster) -> None:
    throttle(cluster)
    cluster.change("orders", 0, replicas=[3, 0, 1, 2], adding=[3], removing=[2])
    cluster.snapshot(3)
    cluster.change("orders", 0, replicas=[3, 0, 1], isr=[0, 1, 3], adding=[], removing=[])
    cluster.snapshot(4)
    (one,) = judged(cluster, "orphaned-throttle")
    assert (one.topic, hours(one)) == ("orders", (4, 5, 8, None))
    assert one.message == "replicas throttled for 3 h in which nothing was moved"
    throttle(cluster, None)
    cluster.snapshot()
    (one,) = judged(cluster, "orphaned-throttle")
    assert hours(one) == (4, 5, 8, 9)


def test_a_throttle_began_after_the_last_snapshot_of_all_settings_without_it(cluster: PlantedCluster) -> None:
    throttle(cluster, None)  # but another setting is told
    cluster.snapshot()
    throttle(cluster)
    cluster.snapshot(2)
    (one,) = judged(cluster, "orphaned-throttle")
    assert hours(one) == (2, 3, 4, None)


def test_a_throttle_of_a_move_is_none(cluster: PlantedCluster) -> None:
    throttle(cluster)
    cluster.change("audit", 0, adding=[3])
    cluster.snapshot(4)
    assert judged(cluster, "orphaned-throttle") == []


@pytest.mark.parametrize("value", ["", None])
def test_no_replica_is_no_throttle(cluster: PlantedCluster, value: str | None) -> None:
    throttle(cluster, value)
    cluster.snapshot(4)
    assert judged(cluster, "orphaned-throttle") == []


def test_where_moves_are_not_known_no_throttle_is_left_over(cluster: PlantedCluster) -> None:
    throttle(cluster)
    cluster.change("audit", 0, adding=None, topic_id="another")
    cluster.snapshot(4)
    assert judged(cluster, "orphaned-throttle") == []


# isr-flapping


def leave(cluster: PlantedCluster, times: int, away: float = 1.0) -> None:
    for _ in range(times):
        cluster.change("orders", 0, isr=[0, 1])
        cluster.snapshot()
        cluster.change("orders", 0, isr=[0, 1, 2])
        cluster.snapshot(every=away)


def test_a_broker_that_leaves_three_times_a_day_flaps(cluster: PlantedCluster) -> None:
    leave(cluster, 3)
    (one,) = judged(cluster, "isr-flapping")
    assert (one.broker, hours(one)) == (2, (1, 2, 6, None))
    assert one.message == "left the in-sync replicas 3 times, of 1 partition"
    cluster.now = 31.0
    cluster.snapshot(2)
    (one,) = judged(cluster, "isr-flapping")
    assert hours(one) == (1, 2, 6, 31)


def test_two_restarts_within_a_day_are_no_flapping(cluster: PlantedCluster) -> None:
    leave(cluster, 2)
    assert judged(cluster, "isr-flapping") == []
    cluster.now = 26.5  # the first was at 2
    leave(cluster, 1)
    assert judged(cluster, "isr-flapping") == []


def test_a_move_is_no_flapping_of_several_brokers(cluster: PlantedCluster) -> None:
    for gone in (0, 1, 2):
        cluster.change("orders", 0, isr=[one for one in (0, 1, 2) if one != gone])
        cluster.snapshot()
        cluster.change("orders", 0, isr=[0, 1, 2])
        cluster.snapshot()
    assert judged(cluster, "isr-flapping") == []


# leader-epoch-churn


def test_epochs_tell_of_leaders_that_no_snapshot_saw(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, leader_epoch=11)
    cluster.snapshot()
    cluster.change("orders", 0, leader_epoch=15)
    cluster.snapshot(3)
    (one,) = judged(cluster, "leader-epoch-churn")
    assert (one.topic, hours(one)) == ("orders", (1, 2, 3, None))
    assert one.message == "leader epochs of 1 partition rose by 10, by 10 or more of one within a day"
    assert one.evidence == {"rises": 10, "partitions": [0]}


def test_of_churn_only_the_partitions_of_its_topic_that_have_it_are_told(cluster: PlantedCluster) -> None:
    cluster.add("paid", 0, leader_epoch=5)
    cluster.snapshot()
    cluster.change("orders", 0, leader_epoch=20)
    cluster.change("orders", 1, leader_epoch=6)
    cluster.change("paid", 0, leader_epoch=30)
    cluster.snapshot()
    found = {one.topic: one.evidence for one in judged(cluster, "leader-epoch-churn")}
    assert found == {"orders": {"rises": 15, "partitions": [0]}, "paid": {"rises": 25, "partitions": [0]}}


def test_nine_epochs_a_day_are_no_churn(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, leader_epoch=14)
    cluster.change("orders", 1, leader_epoch=14)
    cluster.snapshot(every=24.5)
    cluster.change("orders", 0, leader_epoch=23)
    cluster.snapshot()
    assert judged(cluster, "leader-epoch-churn") == []


def test_a_topic_that_was_created_anew_has_no_churn(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, leader_epoch=50, topic_id="another")
    cluster.snapshot()
    assert judged(cluster, "leader-epoch-churn") == []


# controller-changes


def test_a_controller_that_moved_is_an_event(cluster: PlantedCluster) -> None:
    cluster.snapshot(controller=1)
    cluster.snapshot(controller=None)
    cluster.snapshot(controller=2)
    (one,) = judged(cluster, "controller-changes")
    assert (one.broker, one.severity, hours(one)) == (2, "info", (2, 4, 4, 4))
    assert one.message == "the controller moved from 1 to 2"


def test_four_moves_a_day_are_a_warning(cluster: PlantedCluster) -> None:
    for controller in (1, 2, 1, 2):
        cluster.snapshot(controller=controller)
    assert {one.severity.word for one in judged(cluster, "controller-changes")} == {"info"}
    cluster.snapshot(controller=1)
    assert [one.severity.word for one in judged(cluster, "controller-changes")] == ["warning"] * 4


def test_what_metadata_names_as_the_controller_in_kraft_is_none(cluster: PlantedCluster) -> None:
    for controller in (1, 2, 1, 2, 1):
        cluster.snapshot(controller=controller, features={"metadata.version": 20})
    assert judged(cluster, "controller-changes") == []
