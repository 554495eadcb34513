"""Fleet rules, each on a planted case, a clean one and one at its edge; expected times are those of the planting."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, hours, ingest_into, judged
from histories.logs import slice_of
from histories.observations import HOUR

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.judging import FLEET_RULES, judge_cluster, newest_ms
from kreplica.fleet.rule import Circumstances
from kreplica.health.rules import ALL_RULES, Severity
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.history.selection import choose
from kreplica.model.snapshot import Gap
from kreplica.system.stores.storage import LocalStorage

TORN = (Gap("torn-read", "changed meanwhile", 1),)


@pytest.fixture
def cluster() -> PlantedCluster:
    found = PlantedCluster()
    found.snapshot(6)  # over the end of the month
    return found


def test_a_clean_cluster_says_nothing(cluster: PlantedCluster) -> None:
    cluster.snapshot(3)
    assert judged(cluster) == []


def test_names_are_told_apart() -> None:
    names = [rule.name for rule in (*FLEET_RULES, *ALL_RULES)]
    assert len(set(names)) == len(names)


# no-snapshot


def test_a_cluster_that_no_snapshot_comes_of_any_more_is_told(cluster: PlantedCluster) -> None:
    (one,) = judged(cluster, "no-snapshot", now=8.5)
    assert hours(one) == (5, 5, 8.5, None)
    assert one.in_newest
    assert one.message == "no snapshot for 3 h 30 min, one in 1 h is usual here"
    assert judged(cluster, "no-snapshot", now=8) == []  # three times the usual interval is no pause


def test_a_pause_that_is_over_is_told_as_over(cluster: PlantedCluster) -> None:
    cluster.now = 10
    cluster.snapshot(2)
    (one,) = judged(cluster, "no-snapshot")
    assert hours(one) == (5, 5, 10, 10)
    assert not one.in_newest


def test_snapshots_are_due_as_often_as_the_user_says() -> None:
    cluster = PlantedCluster()
    cluster.snapshot()
    assert judged(cluster, "no-snapshot", now=50) == []  # of one snapshot nobody knows how often they are taken
    (one,) = judged(cluster, "no-snapshot", now=50, every_ms=24 * HOUR)
    assert one.message == "no snapshot for 2 d 2 h, one in 1 d is expected"
    assert judged(cluster, "no-snapshot", now=36, every_ms=24 * HOUR) == []
    assert len(judged(cluster, "no-snapshot", now=36.1, every_ms=24 * HOUR)) == 1


def test_a_now_before_the_newest_snapshot_makes_nothing_late(cluster: PlantedCluster) -> None:
    assert judged(cluster, "no-snapshot", now=0) == []


# unclean-election


def lose_in_sync(cluster: PlantedCluster, **after: object) -> None:
    """Only 0 is in sync, then 1 leads."""
    cluster.change("orders", 0, isr=[0], leader_epoch=6, partition_epoch=10)
    cluster.snapshot()
    cluster.change("orders", 0, leader=1, isr=[1], **after)
    cluster.snapshot()


def test_one_step_of_the_partition_epoch_proves_an_unclean_election(cluster: PlantedCluster) -> None:
    lose_in_sync(cluster, leader_epoch=7, partition_epoch=11)
    (one,) = judged(cluster, "unclean-election")
    assert (one.topic, one.partition, one.severity, one.certainty) == ("orders", 0, "critical", Certainty.PROVED)
    assert hours(one) == (6, 7, 7, 7)
    assert one.is_event
    assert one.evidence["proof"] == "partition-epoch"
    assert one.message == "proved unclean: broker 1 leads after 0, in sync before: 0"


def test_two_steps_leave_room_for_a_clean_one(cluster: PlantedCluster) -> None:
    lose_in_sync(cluster, leader_epoch=7, partition_epoch=12, unclean_leader_election=True)
    (one,) = judged(cluster, "unclean-election")
    assert (one.certainty, one.severity) == (Certainty.POSSIBLE, Severity.WARNING)


def test_a_leader_that_may_have_joined_is_not_told_where_unclean_elections_are_off(cluster: PlantedCluster) -> None:
    lose_in_sync(cluster, leader_epoch=7, partition_epoch=12)
    assert judged(cluster, "unclean-election") == []


def test_recovering_proves_it_whatever_the_epochs_say(cluster: PlantedCluster) -> None:
    lose_in_sync(cluster, leader_epoch=9, partition_epoch=20, recovery_state=1)
    (one,) = judged(cluster, "unclean-election")
    assert (one.certainty, one.evidence["proof"]) == (Certainty.PROVED, "recovery-state")


def test_nobody_joins_a_partition_without_a_leader(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, leader=-1, isr=[0], leader_epoch=6, partition_epoch=None)
    cluster.snapshot()
    cluster.change("orders", 0, leader=1, isr=[1], leader_epoch=7)
    cluster.snapshot()
    (one,) = judged(cluster, "unclean-election")
    assert (one.certainty, one.severity) == (Certainty.LIKELY, Severity.CRITICAL)
    assert one.message == "likely unclean: broker 1 leads after nobody, in sync before: 0"
    cluster.change("orders", 0, leader=-1, isr=[1], leader_epoch=8)
    cluster.snapshot()
    cluster.change("orders", 0, leader=2, isr=[2], leader_epoch=10)
    cluster.snapshot()
    assert len(judged(cluster, "unclean-election")) == 1  # 1 may have led in between, and 2 joined it


def test_a_clean_election_is_none(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, leader=1, isr=[1, 2], leader_epoch=6, partition_epoch=10)
    cluster.snapshot()
    assert judged(cluster, "unclean-election") == []


def test_eligible_leader_replicas_are_clean_leaders(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, isr=[0], elr=[1], leader_epoch=6, partition_epoch=10)
    cluster.snapshot()
    cluster.change("orders", 0, leader=1, isr=[1], elr=[], leader_epoch=7, partition_epoch=11)
    cluster.snapshot()
    assert judged(cluster, "unclean-election") == []


def test_where_nobody_tells_eligible_replicas_the_epoch_proves_less(cluster: PlantedCluster) -> None:
    cluster.features = {"metadata.version": 27, "eligible.leader.replicas.version": 1}
    lose_in_sync(cluster, leader_epoch=7, partition_epoch=11)
    (one,) = judged(cluster, "unclean-election")
    assert one.certainty is Certainty.LIKELY


def test_a_topic_that_was_created_anew_had_no_election(cluster: PlantedCluster) -> None:
    lose_in_sync(cluster, leader_epoch=0, partition_epoch=11, topic_id="another")
    assert judged(cluster, "unclean-election") == []


def with_log(cluster: PlantedCluster, tmp_path: Path, begin: int, end: int) -> list[FleetFinding]:
    """Findings where a metadata log tells what some of the snapshots do, beside all of them but those in its middle."""
    states, storage = cluster.taken, LocalStorage(tmp_path)
    logged = slice_of(states[begin:end])
    cluster.taken = [*states[: begin + 1], *states[end - 1 :]]
    ingest_into(storage, [cluster])
    ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(logged))], storage)
    chosen = choose(storage, logs=True)
    return judge_cluster(ClusterHistory(chosen.months), Circumstances(newest_ms(chosen)), ["unclean-election"])


def test_a_record_proves_what_snapshots_around_it_leave_open(cluster: PlantedCluster, tmp_path: Path) -> None:
    lose_in_sync(cluster, leader_epoch=7, partition_epoch=11, unclean_leader_election=True)
    cluster.change("orders", 0, isr=[1, 2], partition_epoch=12)
    cluster.snapshot(2)
    (one,) = with_log(cluster, tmp_path, 5, 10)
    assert (one.topic, one.partition, one.certainty, one.severity) == ("orders", 0, Certainty.PROVED, "critical")
    assert (hours(one), one.exact) == ((7, 7, 7, 7), True)


def test_records_clear_what_looks_unclean_from_outside(cluster: PlantedCluster, tmp_path: Path) -> None:
    cluster.change("orders", 0, isr=[0], partition_epoch=10, unclean_leader_election=True)
    cluster.snapshot(2)
    cluster.change("orders", 0, isr=[0, 1], partition_epoch=11)
    cluster.snapshot()
    cluster.change("orders", 0, leader=1, isr=[1], leader_epoch=7, partition_epoch=12)
    cluster.snapshot(2)
    assert with_log(cluster, tmp_path, 7, 10) == []
    (one,) = judged(cluster, "unclean-election")
    assert one.certainty is Certainty.POSSIBLE  # by the snapshots alone


def test_two_records_of_one_millisecond_leave_room_for_a_clean_election(
    cluster: PlantedCluster, tmp_path: Path
) -> None:
    lose_in_sync(cluster, leader_epoch=7, partition_epoch=12, unclean_leader_election=True)
    cluster.snapshot(2)
    (one,) = with_log(cluster, tmp_path, 5, 10)
    assert (one.certainty, one.evidence["proof"]) == (Certainty.POSSIBLE, "leader")


# vanished-topic, vanished-broker


def test_a_topic_that_is_gone_is_told(cluster: PlantedCluster) -> None:
    for number in range(3):
        del cluster.partitions["orders", number]
    cluster.snapshot(2)
    (one,) = judged(cluster, "vanished-topic")
    assert (one.topic, one.partition, hours(one)) == ("orders", None, (5, 6, 7, None))
    assert one.message == "the topic is not there any more"
    assert one.in_newest


def test_a_topic_that_came_back_is_told_with_its_new_id(cluster: PlantedCluster) -> None:
    gone = [cluster.partitions.pop(("orders", number)) for number in range(3)]
    cluster.snapshot(2)
    for number, row in enumerate(gone):
        cluster.partitions["orders", number] = {**row, "topic_id": "another"}
    cluster.snapshot()
    (one,) = judged(cluster, "vanished-topic")
    assert hours(one) == (5, 6, 7, 8)
    assert one.message == "the topic was not there, and was created anew since"
    assert not one.in_newest


def test_what_a_torn_read_lacks_is_not_gone(cluster: PlantedCluster) -> None:
    gone = [cluster.partitions.pop(("orders", number)) for number in range(3)]
    cluster.snapshot(2, gaps=TORN)
    assert judged(cluster, "vanished-topic") == []
    cluster.partitions.update({("orders", number): row for number, row in enumerate(gone)})
    cluster.snapshot()
    assert judged(cluster, "vanished-topic") == []


def test_a_topic_with_fewer_partitions_is_there(cluster: PlantedCluster) -> None:
    del cluster.partitions["orders", 2]
    cluster.snapshot()
    assert judged(cluster, "vanished-topic") == []


def test_a_topic_that_vanishes_where_the_month_ends_is_told() -> None:
    cluster = PlantedCluster()
    cluster.snapshot(4)  # the next one is of April
    for number in range(3):
        del cluster.partitions["orders", number]
    cluster.snapshot(2)
    (one,) = judged(cluster, "vanished-topic")
    assert hours(one) == (3, 4, 5, None)


@pytest.mark.parametrize("listed", [True, False])
def test_a_broker_that_stopped_is_told_however_the_source_says_it(cluster: PlantedCluster, *, listed: bool) -> None:
    row = cluster.brokers.pop(1)
    if listed:
        cluster.brokers[1] = {**row, "alive": False}
    cluster.snapshot(2)
    cluster.brokers[1] = row
    cluster.snapshot()
    (one,) = judged(cluster, "vanished-broker")
    assert (one.broker, hours(one), one.severity) == (1, (5, 6, 7, 8), "warning")
    assert one.message == "the broker was not there; 5 partitions still placed on it"
    assert one.evidence["rack"] == "r1"


def away(cluster: PlantedCluster, hours_away: float, broker: int = 1) -> None:
    """A broker is not alive for so long, in two looks of the controller at it."""
    cluster.brokers[broker]["alive"] = False
    cluster.snapshot(2, every=hours_away / 2)
    cluster.brokers[broker]["alive"] = True
    cluster.snapshot()


def test_brokers_that_are_restarted_did_not_vanish(cluster: PlantedCluster) -> None:
    for broker in (0, 1, 2):
        away(cluster, 0.1, broker)  # six minutes
    cluster.brokers[1]["alive"] = False
    cluster.snapshot()  # one of the hourly snapshots alone shows it: it may have been away for a minute
    cluster.brokers[1]["alive"] = True
    cluster.snapshot()
    assert judged(cluster, "vanished-broker") == []


def test_the_longest_restart_takes_half_an_hour(cluster: PlantedCluster) -> None:
    away(cluster, 1.0)  # half an hour lies between the two snapshots that show it
    assert judged(cluster, "vanished-broker") == []
    away(cluster, 1.001)
    (one,) = judged(cluster, "vanished-broker")
    assert (hours(one)[1], hours(one)[3], one.certainty) == (8, 9.001, Certainty.PROVED)


def test_a_broker_that_has_just_stopped_may_be_about_to_come_back(cluster: PlantedCluster) -> None:
    cluster.brokers[1]["alive"] = False
    cluster.snapshot(2, every=0.5)
    (one,) = judged(cluster, "vanished-broker")
    assert (hours(one), one.certainty, one.severity) == ((5, 6, 6.5, None), Certainty.POSSIBLE, "warning")
    cluster.snapshot()
    (one,) = judged(cluster, "vanished-broker")
    assert (hours(one), one.certainty) == ((5, 6, 7, None), Certainty.PROVED)


def test_a_broker_without_replicas_may_go(cluster: PlantedCluster) -> None:
    cluster.brokers[3] = {**cluster.brokers[2], "host": "host3"}
    cluster.snapshot(2)
    del cluster.brokers[3]
    cluster.snapshot(2)
    (one,) = judged(cluster, "vanished-broker")
    assert (one.broker, one.severity, hours(one)) == (3, "info", (7, 8, 9, None))


# replication-factor-lowered, min-isr-lowered


def test_a_lowered_replication_factor_is_told_from_the_first_step(cluster: PlantedCluster) -> None:
    for number in (0, 1):
        replicas = cluster.partitions["orders", number]["replicas"]
        cluster.change("orders", number, removing=replicas[2:], partition_epoch=10)
    cluster.snapshot()
    for number in (0, 1):
        replicas = cluster.partitions["orders", number]["replicas"]
        cluster.change("orders", number, replicas=replicas[:2], isr=replicas[:2], removing=[], partition_epoch=11)
    cluster.snapshot()
    (one,) = judged(cluster, "replication-factor-lowered")
    assert (one.topic, hours(one)) == ("orders", (5, 6, 7, None))
    assert one.message == "replicas lowered from 3 to 2 in 2 partitions"
    assert one.evidence["partitions"] == [0, 1]


def test_a_move_lowers_nothing(cluster: PlantedCluster) -> None:
    cluster.brokers[3] = {**cluster.brokers[2], "host": "host3"}
    cluster.change("orders", 0, replicas=[3, 0, 1, 2], adding=[3], removing=[2])
    cluster.snapshot()
    cluster.change("orders", 0, replicas=[3, 0, 1], isr=[0, 1, 3], adding=[], removing=[])
    cluster.snapshot()
    assert judged(cluster, "replication-factor-lowered") == []


def test_replicas_of_both_sides_of_a_move_that_one_snapshot_shows_are_no_higher_factor(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, replicas=[0, 3, 1, 2], isr=[0, 1, 2])  # the move itself was over when it was asked for
    cluster.snapshot()
    cluster.change("orders", 0, replicas=[0, 3, 1], isr=[0, 3, 1])
    cluster.snapshot()
    assert judged(cluster, "replication-factor-lowered") == []


def test_a_factor_that_was_raised_for_longer_and_lowered_is_told(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, replicas=[0, 3, 1, 2], isr=[0, 1, 2])
    cluster.snapshot(2)
    cluster.change("orders", 0, replicas=[0, 3, 1], isr=[0, 3, 1])
    cluster.snapshot()
    (one,) = judged(cluster, "replication-factor-lowered")
    assert one.message == "replicas lowered from 4 to 3 in 1 partition"


def test_fewer_than_before_a_move_that_one_snapshot_shows_are_told(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, replicas=[0, 3, 1, 2], isr=[0, 1, 2])
    cluster.snapshot()
    cluster.change("orders", 0, replicas=[0, 3], isr=[0, 3])
    cluster.snapshot()
    (one,) = judged(cluster, "replication-factor-lowered")
    assert (one.evidence["before"], one.evidence["after"]) == (3, 2)


def test_a_factor_that_was_raised_again_ends_it(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, replicas=[0, 1], isr=[0, 1])
    cluster.snapshot(2)
    cluster.change("orders", 0, leader=1)
    cluster.snapshot()
    cluster.change("orders", 0, replicas=[0, 1, 2], isr=[0, 1, 2])
    cluster.snapshot()
    (one,) = judged(cluster, "replication-factor-lowered")
    assert hours(one) == (5, 6, 8, 9)


@pytest.mark.parametrize("told", [(2, None, None, 1), (2, None, 1, 1)])
def test_a_snapshot_that_does_not_tell_the_value_is_no_bound(told: tuple[int | None, ...]) -> None:
    cluster = PlantedCluster()
    for value in told:
        for key in cluster.partitions:
            cluster.change(*key, min_isr=value)
        cluster.snapshot()
    found = judged(cluster, "min-isr-lowered")
    assert [hours(one) for one in found] == [(0, told.index(1), 3, None)] * 2


def test_a_lowered_min_isr_is_told_once_for_a_topic(cluster: PlantedCluster) -> None:
    for number in range(3):
        cluster.change("orders", number, min_isr=1)
    cluster.change("audit", 0, min_isr=3)
    cluster.snapshot(2)
    (one,) = judged(cluster, "min-isr-lowered")
    assert (one.topic, hours(one)) == ("orders", (5, 6, 7, None))
    assert one.message == "min.insync.replicas lowered from 2 to 1 in 3 partitions"


def test_a_min_isr_that_was_not_known_was_not_lowered(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, min_isr=None)
    cluster.snapshot()
    cluster.change("orders", 0, min_isr=2, leader=1)
    cluster.snapshot()
    assert judged(cluster, "min-isr-lowered") == []
    assert cluster.taken[-1].taken_at - cluster.taken[0].taken_at == timedelta(hours=7)
