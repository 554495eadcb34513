"""Fleet rules on what histories keep samples of; expected times are those of the planting.

Snapshots begin at 20:00, and the first one of each day is sampled: those of hours 0, 4, 28, 52 and so on.
"""

from __future__ import annotations

import pytest
from histories.clusters import PlantedCluster, hours, judged

from kreplica.fleet.finding import Certainty

GIB = 2**30


@pytest.fixture
def cluster() -> PlantedCluster:
    return PlantedCluster()


# unclean-election


def test_a_high_watermark_that_went_back_is_a_sign_of_its_own(cluster: PlantedCluster) -> None:
    cluster.snapshot(5, every=4)
    cluster.change("orders", 1, high_watermark=90)
    cluster.snapshot(4, every=4)
    (one,) = judged(cluster, "unclean-election")
    assert (one.topic, one.partition, one.certainty, one.severity) == ("orders", 1, Certainty.LIKELY, "critical")
    assert hours(one) == (4, 28, 28, 28)
    assert one.message == "likely unclean: the high watermark went back from 100 to 90"


def test_a_topic_that_was_created_anew_begins_at_0(cluster: PlantedCluster) -> None:
    cluster.change("audit", 1, topic_id=None)  # nobody can tell
    cluster.snapshot(5, every=4)
    cluster.change("orders", 1, high_watermark=0, topic_id="another")
    cluster.change("audit", 1, high_watermark=0)
    cluster.snapshot(4, every=4)
    assert judged(cluster, "unclean-election") == []


def test_another_topic_that_stays_says_nothing_of_one_that_was_created_anew(cluster: PlantedCluster) -> None:
    cluster.snapshot(5, every=4)
    cluster.change("orders", 1, high_watermark=0, topic_id="another")
    cluster.snapshot(4, every=4)
    assert judged(cluster, "unclean-election") == []


def test_it_makes_a_possible_election_a_likely_one(cluster: PlantedCluster) -> None:
    cluster.change("orders", 1, isr=[1], unclean_leader_election=True)
    cluster.snapshot(5, every=4)
    cluster.change("orders", 1, leader=2, isr=[2], leader_epoch=9, partition_epoch=15)
    cluster.snapshot(2, every=4)
    (one,) = judged(cluster, "unclean-election")
    assert one.certainty is Certainty.POSSIBLE
    cluster.change("orders", 1, high_watermark=90)
    cluster.snapshot(2, every=4)
    (one,) = judged(cluster, "unclean-election")
    assert (one.certainty, one.severity, hours(one)) == (Certainty.LIKELY, "critical", (16, 20, 20, 20))
    assert one.evidence["high_watermark_after"] == 90


# disk-filling


def fill(cluster: PlantedCluster, days: float, left: float, a_day: float) -> None:
    """Space goes down evenly to what is left."""
    steps = round(days * 24)
    for step in range(steps + 1):
        usable = round((left + a_day * (steps - step) / 24) * GIB)
        cluster.log_dirs[0, "/data"] = {"total_bytes": 1000 * GIB, "usable_bytes": usable}
        cluster.snapshot()


def test_a_disk_that_fills_is_told_with_the_days_that_are_left(cluster: PlantedCluster) -> None:
    fill(cluster, 2, left=50, a_day=10)
    (one,) = judged(cluster, "disk-filling")
    assert (one.broker, one.severity, hours(one)) == (0, "warning", (None, 0, 48, None))
    assert one.message == "/data is full in 5.0 days if it goes on as in the days before"
    assert one.evidence["days"] == 5


def test_days_that_are_left_are_told_to_the_hundredth(cluster: PlantedCluster) -> None:
    fill(cluster, 2, left=40, a_day=12)
    assert [one.evidence["days"] for one in judged(cluster, "disk-filling")] == [3.33]


def test_two_weeks_are_the_first_that_are_told(cluster: PlantedCluster) -> None:
    fill(cluster, 2, left=336, a_day=24)
    assert [one.evidence["days"] for one in judged(cluster, "disk-filling")] == [14]


def test_two_days_are_critical(cluster: PlantedCluster) -> None:
    fill(cluster, 1.5, left=20, a_day=10)
    assert [one.severity.word for one in judged(cluster, "disk-filling")] == ["critical"]


@pytest.mark.parametrize(("days", "left", "a_day"), [(2, 150, 10), (2, 50, 0), (2, 50, -10), (0.9, 5, 10)])
def test_a_disk_with_time_left_says_nothing(cluster: PlantedCluster, days: float, left: float, a_day: float) -> None:
    fill(cluster, days, left, a_day)
    assert judged(cluster, "disk-filling") == []


@pytest.mark.one_python
def test_only_the_week_before_counts(cluster: PlantedCluster) -> None:
    fill(cluster, 4, left=50, a_day=100)
    cluster.snapshot(7 * 24)
    assert judged(cluster, "disk-filling") == []


# group-stopped, group-offsets-back, dead-group


def commit(cluster: PlantedCluster, *offsets: int, ends: tuple[int, ...]) -> None:
    """A day for each offset."""
    for offset, end in zip(offsets, ends, strict=True):
        cluster.groups["billing", "orders", 0] = {"state": "Stable", "offset": offset}
        cluster.change("orders", 0, high_watermark=end)
        cluster.snapshot(every=24)


def test_a_group_that_stopped_is_told_since_its_last_commit(cluster: PlantedCluster) -> None:
    commit(cluster, 50, 60, 60, 60, ends=(100, 110, 120, 130))
    (one,) = judged(cluster, "group-stopped")
    assert (one.group, one.topic, hours(one)) == ("billing", "orders", (None, 24, 72, None))
    assert one.message == "billing has not committed for 2 d or longer in 1 partition, although records were written"


def test_a_log_that_does_not_move_on_needs_no_commit(cluster: PlantedCluster) -> None:
    commit(cluster, 50, 60, 60, 60, ends=(100, 110, 110, 110))
    assert judged(cluster, "group-stopped") == []


def test_a_group_that_commits_again_has_not_stopped(cluster: PlantedCluster) -> None:
    commit(cluster, 60, 60, 60, 61, ends=(100, 110, 120, 130))
    assert judged(cluster, "group-stopped") == []


def test_offsets_that_went_back_are_an_event(cluster: PlantedCluster) -> None:
    commit(cluster, 50, 60, 20, 30, ends=(100, 100, 100, 100))
    (one,) = judged(cluster, "group-offsets-back")
    assert (one.group, one.topic, hours(one)) == ("billing", "orders", (24, 48, 48, 48))
    assert one.message == "committed offsets of billing went back in 1 partition, by 40 in all"


def test_offsets_that_stay_or_grow_are_none(cluster: PlantedCluster) -> None:
    commit(cluster, 50, 50, 60, 60, ends=(100, 100, 100, 100))
    assert judged(cluster, "group-offsets-back") == []


@pytest.mark.parametrize(("days", "told"), [(7, 1), (6, 0)])
def test_a_group_without_members_for_a_week_is_dead(cluster: PlantedCluster, days: int, told: int) -> None:
    cluster.groups["billing", "orders", 0] = {"state": "Stable"}
    cluster.snapshot()
    cluster.groups["billing", "orders", 0] = {"state": "Empty"}
    cluster.snapshot(days + 1, every=24)
    found = judged(cluster, "dead-group")
    assert [(one.group, one.message) for one in found] == [("billing", "billing has had no member for 7 d")] * told
    cluster.groups["billing", "orders", 0] = {"state": "Stable"}
    cluster.snapshot()
    assert judged(cluster, "dead-group") == []
