"""Incidents, each planted with an answer worked out by hand; a clean cluster tells nothing."""

from __future__ import annotations

import pytest
from histories.clusters import PlantedCluster
from planted.incidents import larger, restart, start, stop, times_of, told_of

from kreplica.fleet.finding import Certainty
from kreplica.fleet.incidents.incident import Incident
from kreplica.health.rules import Severity
from kreplica.model.snapshot import Gap


@pytest.fixture
def cluster() -> PlantedCluster:
    found = PlantedCluster()
    found.snapshot(6)  # over the end of the month
    return found


def only(cluster: PlantedCluster) -> Incident:
    told = told_of(cluster)
    assert [one.message for one in told.left_over] == []
    (one,) = told.incidents
    return one


def test_a_clean_cluster_tells_nothing(cluster: PlantedCluster) -> None:
    cluster.snapshot(3)
    told = told_of(cluster)
    assert (told.incidents, told.left_over) == ([], [])


def test_what_stood_from_the_first_snapshot_on_is_no_incident() -> None:
    cluster = PlantedCluster()
    cluster.add("single", 0, replicas=[1], isr=[1], leader=1, min_isr=2)
    cluster.snapshot(4)
    told = told_of(cluster)
    assert (told.incidents, told.left_over) == ([], [])


def test_a_broker_that_is_down_is_told_once_with_all_that_follows_from_it(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot(4)
    start(cluster, 2)
    cluster.snapshot(2)
    one = only(cluster)
    assert (one.kind, one.key, one.certainty, one.brokers) == ("broker-down", "broker 2", Certainty.PROVED, (2,))
    assert times_of(one) == (5, 6, 9, 10)
    # orders 0-2 and audit 0-1 have three replicas each: all are under-replicated, and at min.insync.replicas 2. Of the
    # partitions that 2 is preferred to lead there is one, orders-2, which it does not lead.
    assert one.by_rule == {"at-min-isr": 5, "leader-imbalance": 1, "under-replicated": 5, "vanished-broker": 1}
    assert (one.partitions, one.severity) == (5, Severity.WARNING)
    assert (one.left, one.changed, one.before) == ([], [], [])


def test_all_is_as_it_was_although_the_broker_is_down_again(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot(2)
    start(cluster, 2)
    cluster.snapshot(20)
    stop(cluster, 2)
    cluster.snapshot(2)
    first, second = sorted(
        (one for one in told_of(cluster).incidents if one.kind == "broker-down"), key=lambda one: one.valid_from_ms
    )
    assert (first.changed, second.changed, second.compared_ms) == ([], None, None)
    assert first.compared_ms == second.begun_after_ms, "the last snapshot before it went down again"


def leave(cluster: PlantedCluster, broker: int) -> None:
    """The controller takes a broker that shuts down in order out of all ISRs; its heartbeats still arrive."""
    stop(cluster, broker)
    cluster.brokers[broker]["alive"] = True


def test_a_broker_that_shuts_down_in_order_is_one_incident_from_when_it_left(cluster: PlantedCluster) -> None:
    leave(cluster, 2)
    cluster.snapshot()
    stop(cluster, 2)
    cluster.snapshot(4)
    start(cluster, 2)
    cluster.snapshot(2)
    one = only(cluster)
    assert (one.kind, one.key, times_of(one)) == ("broker-down", "broker 2", (5, 6, 10, 11))


def test_brokers_that_register_anew_after_they_were_killed_explain_what_is_offline_before_they_are_fenced(
    cluster: PlantedCluster,
) -> None:
    """As the log of three brokers of Kafka 4.3.1 that were killed has it: out of all ISRs, also as the last member."""
    for topic, number in cluster.partitions:
        cluster.change(topic, number, isr=[], leader=-1, leader_epoch=6, partition_epoch=10)
    cluster.snapshot(every=0.01)
    for broker in cluster.brokers.values():
        broker["alive"] = False
    cluster.snapshot(every=0.99)
    start(cluster, 0, 1, 2)
    cluster.snapshot(2)
    one = only(cluster)
    assert (one.kind, one.key, times_of(one)) == ("brokers-down", "brokers 0, 1, 2", (5, 6, 6.01, 7))
    assert (one.by_rule["offline"], one.by_rule["under-replicated"], one.partitions) == (5, 5, 5)


def test_a_broker_that_registers_for_the_first_time_is_not_down_until_it_knows_the_metadata(
    cluster: PlantedCluster,
) -> None:
    cluster.brokers[3] = {**cluster.brokers[0], "host": "host3", "alive": False}
    cluster.snapshot()
    cluster.brokers[3]["alive"] = True
    cluster.snapshot(2)
    told = told_of(cluster)
    assert (told.incidents, told.left_over) == ([], [])


def test_a_broker_that_registers_and_does_not_come_up_is_down(cluster: PlantedCluster) -> None:
    cluster.brokers[3] = {**cluster.brokers[0], "host": "host3", "alive": False}
    cluster.snapshot(4)
    cluster.brokers[3]["alive"] = True
    cluster.snapshot(2)
    assert only(cluster).key == "broker 3"


def test_a_broker_that_was_out_for_longer_than_a_restart_takes_was_so_for_another_reason(
    cluster: PlantedCluster,
) -> None:
    leave(cluster, 2)
    cluster.snapshot(5)
    stop(cluster, 2)
    cluster.snapshot(2)
    first, second = sorted(told_of(cluster).incidents, key=lambda one: one.valid_from_ms)
    assert (first.kind, first.key, times_of(first)[:2]) == ("broker-out", "broker 2", (5, 6))
    assert (second.kind, second.key, times_of(second)) == ("broker-down", "broker 2", (10, 11, 12, None))


def test_a_broker_that_goes_down_again_before_it_is_in_sync_is_down_twice(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot()
    cluster.brokers[2]["alive"] = True
    cluster.snapshot(every=0.1)
    cluster.brokers[2]["alive"] = False
    cluster.snapshot(2)
    downs = sorted(one.valid_from_ms for one in told_of(cluster).incidents if one.kind == "broker-down")
    assert [one - downs[0] for one in downs] == [0, 3_960_000]


def test_a_broker_that_still_leads_did_not_leave(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.change("orders", 2, leader=2, isr=[2, 0])  # the partition that it is preferred to lead
    cluster.brokers[2]["alive"] = True
    cluster.snapshot()
    stop(cluster, 2)
    cluster.snapshot(4)
    down = next(one for one in told_of(cluster).incidents if one.kind == "broker-down")
    assert times_of(down) == (6, 7, 10, None)


def test_a_broker_that_is_down_still_has_not_come_back(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot(2)
    one = only(cluster)
    assert times_of(one) == (5, 6, 7, None)
    assert one.changed is None
    assert one.left == []


def test_what_a_broker_does_not_get_back_is_named(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot(2)
    start(cluster, 2, preferred=False)
    cluster.brokers[2]["version"] = "4.3.1"
    cluster.change("orders", 1, isr=[1, 0])
    cluster.snapshot(2)
    one = only(cluster)
    assert times_of(one) == (5, 6, 7, 8)
    assert one.changed == ["broker 2 leads 0 of 1 partition that it led, is in sync in 4 of 5"]
    assert {(left.rule, left.topic, left.partition) for left in one.left} == {
        ("at-min-isr", "orders", 1),
        ("leader-imbalance", None, None),
        ("under-replicated", "orders", 1),
    }


def test_an_incident_goes_on_over_a_pause_and_over_what_a_source_does_not_know(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot()
    cluster.snapshot(gaps=(Gap("hidden-topics", "some are hidden", 1),))
    cluster.now += 20
    cluster.snapshot(2)
    start(cluster, 2)
    cluster.snapshot()
    incidents = told_of(cluster).incidents
    assert [(one.kind, times_of(one)) for one in incidents if one.kind == "broker-down"] == [
        ("broker-down", (5, 6, 29, 30))
    ]
    assert {one.kind for one in incidents} == {"broker-down", "no-snapshot"}


def test_the_id_is_of_cluster_cause_key_and_begin(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot(2)
    early = only(cluster)
    start(cluster, 2)
    cluster.snapshot(3)
    late = only(cluster)
    assert early.id == late.id
    assert len(late.id) == 12
    other = PlantedCluster()
    other.snapshot(6)
    stop(other, 1)
    other.snapshot(2)
    assert only(other).id != late.id


def test_a_rack_that_is_down_is_one_incident() -> None:
    cluster = larger()  # brokers 0 and 3 stand in r0
    cluster.snapshot(3)
    stop(cluster, 0, 3)
    cluster.snapshot(2)
    start(cluster, 0, 3)
    cluster.snapshot()
    one = only(cluster)
    assert (one.kind, one.key, one.brokers, one.certainty) == ("rack-down", "rack r0", (0, 3), Certainty.LIKELY)
    assert times_of(one) == (2, 3, 4, 5)
    assert one.by_rule["under-replicated"] == 6  # each partition has one replica in each rack


def test_half_of_the_brokers_across_racks_is_the_network_possibly() -> None:
    cluster = larger()
    cluster.snapshot(3)
    stop(cluster, 0, 1, 2)
    cluster.snapshot()
    start(cluster, 0, 1, 2)
    cluster.snapshot()
    one = only(cluster)
    assert (one.kind, one.key, one.certainty) == ("network-half", "brokers 0, 1, 2", Certainty.POSSIBLE)
    assert one.severity is Severity.CRITICAL  # of partition 0 all three replicas are there, and nobody leads it
    assert one.by_rule["offline"] == 1


def test_two_of_six_brokers_of_different_racks_are_just_down_together() -> None:
    cluster = larger()
    cluster.snapshot(3)
    stop(cluster, 0, 1)
    cluster.snapshot()
    one = only(cluster)
    assert (one.kind, one.key, one.certainty) == ("brokers-down", "brokers 0, 1", Certainty.LIKELY)


def test_two_brokers_that_are_down_one_after_the_other_are_two_incidents_and_the_rack_is_named() -> None:
    cluster = larger()
    cluster.snapshot(3)
    stop(cluster, 0)
    cluster.snapshot(4)
    stop(cluster, 3)
    cluster.snapshot(4)
    first, second = sorted(told_of(cluster).incidents, key=lambda one: one.valid_from_ms)
    assert [(one.kind, one.key, times_of(one)) for one in (first, second)] == [
        ("broker-down", "broker 0", (2, 3, 10, None)),
        ("broker-down", "broker 3", (6, 7, 10, None)),
    ]
    assert first.before == []
    assert "broker-down of broker 0, in the same rack r0" in [change.text for change in second.before]


def test_what_begins_with_the_second_of_two_broken_brokers_is_behind_the_second(cluster: PlantedCluster) -> None:
    for broker in (2, 1):
        stop(cluster, broker)
        cluster.snapshot(2)
    behind = {one.key: one.by_rule for one in told_of(cluster).incidents}
    assert "under-min-isr" in behind["broker 1"]
    assert "under-min-isr" not in behind["broker 2"]


def test_a_rolling_restart_is_named_and_no_incident() -> None:
    cluster = larger()
    cluster.snapshot(3, every=0.25)
    restart(cluster, [3, 0, 1, 2, 5, 4], version="4.3.1")
    cluster.snapshot(2, every=0.25)
    one = only(cluster)
    assert (one.kind, one.is_planned, one.severity) == ("rolling-restart", True, Severity.INFO)
    assert one.key == "brokers 0, 1, 2, 3, 4, 5"
    assert (one.evidence["order"], one.evidence["other_version"]) == ([3, 0, 1, 2, 5, 4], 6)
    assert one.certainty is Certainty.PROVED
    assert times_of(one) == (0.5, 0.75, 3.25, 3.5)


def test_a_broker_that_stays_down_in_a_rolling_restart_is_an_incident() -> None:
    cluster = larger()
    cluster.snapshot(3, every=0.25)
    restart(cluster, [0, 1, 2, 3])
    stop(cluster, 4)
    cluster.snapshot(9, every=0.25)
    start(cluster, 4)
    cluster.snapshot(2, every=0.25)
    roll, down = sorted(told_of(cluster).incidents, key=lambda one: one.valid_from_ms)
    assert (roll.kind, roll.certainty, roll.key) == ("rolling-restart", Certainty.LIKELY, "brokers 0, 1, 2, 3")
    assert (down.kind, down.key) == ("broker-down", "broker 4")
    assert any(change.text.startswith("rolling-restart of brokers 0, 1, 2, 3") for change in down.before)


def test_three_single_restarts_days_apart_are_no_rolling_restart() -> None:
    cluster = larger()
    cluster.snapshot(3)
    for broker in (0, 1, 2, 3):
        restart(cluster, [broker])
        cluster.snapshot(30)
    assert [one.kind for one in told_of(cluster).incidents] == ["broker-down"] * 4


def test_a_setting_that_changed_explains_what_breaks_with_it(cluster: PlantedCluster) -> None:
    cluster.set("topic", "orders", "min.insync.replicas", "3")
    for number in range(3):
        cluster.change("orders", number, min_isr=3)
    cluster.snapshot(2)
    for number in range(3):
        cluster.change("orders", number, min_isr=2)
    cluster.snapshot()
    one = only(cluster)
    assert one.key == "min.insync.replicas 2 -> 3 of orders"
    assert (one.certainty, times_of(one)) == (Certainty.PROVED, (5, 6, 7, 8))
    assert one.by_rule == {"at-min-isr": 3, "min-isr-equals-rf": 1, "min-isr-lowered": 1}


def test_a_change_of_a_setting_that_breaks_nothing_is_none(cluster: PlantedCluster) -> None:
    cluster.change("orders", 1, min_isr=1)
    cluster.snapshot(2)
    told = told_of(cluster)
    assert [one.by_rule for one in told.incidents] == [{"min-isr-lowered": 1}]


def test_a_setting_of_the_table_of_settings_is_not_told_again_behind_its_incident(cluster: PlantedCluster) -> None:
    cluster.set("topic", "audit", "min.insync.replicas", "2")
    cluster.set("topic", "orders", "min.insync.replicas", "2")
    cluster.snapshot()
    cluster.set("topic", "orders", "min.insync.replicas", "3")
    for number in range(3):
        cluster.change("orders", number, min_isr=3)
    cluster.snapshot()
    assert only(cluster).by_rule == {"at-min-isr": 3, "min-isr-equals-rf": 1}


def test_a_log_directory_that_fails_is_told_by_its_path_and_as_full_where_it_was(cluster: PlantedCluster) -> None:
    for usable, kind, certainty in (
        (500, "log-directory-offline", Certainty.PROVED),
        (10, "full-disk", Certainty.LIKELY),
    ):
        broken = PlantedCluster()
        broken.log_dirs[1, "/data"] = {"error": None, "total_bytes": 1000, "usable_bytes": usable}
        broken.snapshot(3)
        broken.log_dirs[1, "/data"] = {"error": "KAFKA_STORAGE_ERROR", "total_bytes": None, "usable_bytes": None}
        broken.change("orders", 0, isr=[0, 2], offline_replicas=[1])
        broken.snapshot(2)
        one = only(broken)
        assert (one.kind, one.key, one.certainty) == (kind, "/data of broker 1", certainty)
        assert times_of(one) == (2, 3, 4, None)
        assert one.by_rule == {"at-min-isr": 1, "under-replicated": 1}


def test_a_broker_that_goes_down_with_a_full_disk(cluster: PlantedCluster) -> None:
    full = PlantedCluster()
    full.log_dirs[2, "/data"] = {"error": None, "total_bytes": 1000, "usable_bytes": 19}
    full.snapshot(3)
    full.log_dirs.clear()
    stop(full, 2)
    full.snapshot(2)
    one = only(full)
    assert (one.kind, one.key, one.certainty) == ("full-disk", "broker 2", Certainty.LIKELY)
    assert one.evidence == {"brokers": 3, "log_dir": "/data", "usable_bytes": 19, "total_bytes": 1000}


def test_what_changed_before_is_told_the_last_first(cluster: PlantedCluster) -> None:
    cluster.set("broker", "2", "num.io.threads", "8", "broker-dynamic")
    cluster.snapshot()
    cluster.change("audit", 0, leader=1, leader_epoch=6)
    cluster.snapshot()
    cluster.brokers[2]["version"] = "4.2.0"
    cluster.set("broker", "2", "num.io.threads", "1", "broker-dynamic")
    cluster.snapshot()
    cluster.brokers[2]["version"] = "4.3.1"
    cluster.snapshot()
    stop(cluster, 2)
    cluster.snapshot()
    one = next(one for one in told_of(cluster).incidents if one.kind == "broker-down")
    assert [(change.kind, change.text) for change in one.before] == [
        ("version", "broker 2 version 4.2.0 -> 4.3.1"),
        ("setting", "broker 2 num.io.threads: 8 -> 1"),
        ("election", "1 partition got another leader"),
    ]


def test_a_controller_that_moves_is_told_unless_its_broker_was_down(cluster: PlantedCluster) -> None:
    moved = PlantedCluster()
    moved.snapshot(3, controller=1)
    moved.snapshot(3, controller=2)
    one = only(moved)
    assert (one.kind, one.key, one.severity) == ("controller-moved", "from 1 to 2", Severity.INFO)
    assert times_of(one) == (2, 3, 3, 3)
    stop(moved, 2)
    moved.snapshot(2, controller=0)
    assert sorted(one.kind for one in told_of(moved).incidents) == ["broker-down", "controller-moved"]


def test_a_follower_that_falls_behind_is_told_by_the_causes_of_describe(cluster: PlantedCluster) -> None:
    for key, row in cluster.partitions.items():
        cluster.change(
            *key, isr=[one for one in row["isr"] if one != 2], leader=row["isr"][0] if row["isr"][0] != 2 else 0
        )
    cluster.snapshot(3)
    one = only(cluster)
    assert (one.kind, one.brokers) == ("broker-out", (2,))
    assert times_of(one) == (5, 6, 8, None)


def test_a_fleet_rule_is_behind_the_incident_that_explains_it(cluster: PlantedCluster) -> None:
    stop(cluster, 2)
    cluster.snapshot()
    cluster.change("orders", 2, leader=2, isr=[2], leader_epoch=9, partition_epoch=11, recovery_state=1)
    cluster.snapshot()
    one = next(one for one in told_of(cluster).incidents if one.kind == "broker-down")
    assert one.by_rule["unclean-election"] == 1
    assert one.severity is Severity.CRITICAL


def test_a_fleet_rule_that_nothing_explains_is_an_incident_of_its_own(cluster: PlantedCluster) -> None:
    for number in range(2):
        cluster.change("audit", number, recovery_state=1, leader_epoch=6, partition_epoch=10)
    cluster.snapshot(2)
    one = only(cluster)
    assert (one.kind, one.key, one.severity) == ("unclean-election", "audit-0 and 1 more", Severity.CRITICAL)
    assert times_of(one) == (5, 6, 6, 6)
    assert len(one.findings) == 2
