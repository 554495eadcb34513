"""Fleet rules on brokers beside each other; expected times are those of the planting."""

from __future__ import annotations

import pytest
from histories.clusters import PlantedCluster, hours, judged


@pytest.fixture
def cluster() -> PlantedCluster:
    found = PlantedCluster()
    for number in range(3, 6):
        found.add("orders", number)
    found.add("audit", 2)  # three partitions each begin at every broker
    for broker in (0, 1, 2):
        found.set("broker", str(broker), "num.io.threads", "8", "broker-static")
        found.set("broker", str(broker), "broker.id", str(broker), "broker-static")
        found.set("broker", str(broker), "advertised.listeners", f"PLAINTEXT://host{broker}:9092", "broker-static")
    found.snapshot(2)
    return found


# config-drift


def test_a_broker_that_is_set_otherwise_is_told(cluster: PlantedCluster) -> None:
    cluster.set("broker", "1", "num.io.threads", "16", "broker-dynamic")
    cluster.snapshot(3)
    (one,) = judged(cluster, "config-drift")
    assert hours(one) == (1, 2, 4, None)
    assert one.message == "num.io.threads is 8 on most brokers, and not on broker 1"
    assert one.evidence == {"setting": "num.io.threads", "most": "8", "others": {"1": "16"}}
    cluster.set("broker", "1", "num.io.threads", "8", "broker-static")
    cluster.snapshot()
    (one,) = judged(cluster, "config-drift")
    assert hours(one) == (1, 2, 4, 5)


def test_what_is_each_brokers_own_does_not_drift(cluster: PlantedCluster) -> None:
    assert judged(cluster, "config-drift") == []


def test_a_setting_that_changes_on_all_brokers_does_not_drift(cluster: PlantedCluster) -> None:
    for broker in (0, 1, 2):
        cluster.set("broker", str(broker), "num.io.threads", "16", "broker-static")
    cluster.snapshot(2)
    assert judged(cluster, "config-drift") == []


def test_a_value_that_is_not_shown_is_not_compared(cluster: PlantedCluster) -> None:
    cluster.configs["broker", "1", "num.io.threads"] = {"value": None, "origin": "broker-static"}
    cluster.snapshot(2)
    assert judged(cluster, "config-drift") == []


# skewed-brokers


def lead_all(cluster: PlantedCluster, broker: int) -> None:
    for key in cluster.partitions:
        cluster.change(*key, leader=broker)


def test_a_broker_that_leads_far_more_for_a_day_is_told(cluster: PlantedCluster) -> None:
    lead_all(cluster, 1)
    cluster.snapshot(25)
    (one,) = judged(cluster, "skewed-brokers")
    assert (one.broker, hours(one)) == (1, (1, 2, 26, None))
    assert one.message == "leaders uneven for 1 d: 9 on this broker, 3.0 would be even"


def test_leaders_that_are_uneven_for_less_than_a_day_are_not_told(cluster: PlantedCluster) -> None:
    lead_all(cluster, 1)
    cluster.snapshot(24)
    for topic, number in cluster.partitions:
        cluster.change(topic, number, leader=number % 3)
    cluster.snapshot(2)
    assert judged(cluster, "skewed-brokers") == []


def test_a_broker_that_is_down_has_no_share(cluster: PlantedCluster) -> None:
    cluster.brokers[1]["alive"] = False
    for topic, number in cluster.partitions:
        cluster.change(topic, number, leader=0 if number % 2 else 2)
    cluster.snapshot(30)
    assert judged(cluster, "skewed-brokers") == []  # five and four of nine


def test_replicas_and_bytes_are_measured_as_well(cluster: PlantedCluster) -> None:
    cluster.brokers[3] = {
        **cluster.brokers[2],
        "host": "host3",
    }  # without a replica: 6.75 would be even, but 2.25 leaders, less than one below 3
    for broker, size in ((0, 100), (1, 110), (2, 100), (3, 100)):
        cluster.replicas["orders", 0, broker] = {"log_dir": "/data", "size": size, "future": False}
    cluster.snapshot(3, every=24)
    found = judged(cluster, "skewed-brokers")
    assert [one.evidence["measure"] for one in found] == ["replicas"]
    cluster.replicas["orders", 0, 1]["size"] = 160
    cluster.snapshot(2, every=24)
    found = judged(cluster, "skewed-brokers")
    assert [one.evidence["measure"] for one in found] == ["replicas", "bytes"]
    assert [(one.broker, hours(one)) for one in found][1] == (1, (50, 74, 98, None))


# setting-changed


def test_a_setting_that_changed_is_told_with_both_values(cluster: PlantedCluster) -> None:
    cluster.set("topic", "orders", "retention.ms", "1000")
    cluster.snapshot(2)
    cluster.set("topic", "orders", "retention.ms", "2000")
    cluster.snapshot(2)
    cluster.set("topic", "orders", "retention.ms", None)
    cluster.snapshot()
    found = judged(cluster, "setting-changed")
    assert [(one.topic, hours(one), one.message) for one in found] == [
        ("orders", (1, 2, 2, 2), "retention.ms of topic orders: set to 1000"),
        ("orders", (3, 4, 4, 4), "retention.ms of topic orders: 1000 -> 2000"),
        ("orders", (5, 6, 6, 6), "retention.ms of topic orders: no longer set, was 2000"),
    ]
    assert [(one.evidence["before"], one.evidence["after"]) for one in found] == [
        (None, "1000"),
        ("1000", "2000"),
        ("2000", None),
    ]
    assert [one.in_newest for one in found] == [False, False, True]


def test_a_setting_that_changed_alike_on_several_brokers_is_one_finding(cluster: PlantedCluster) -> None:
    for broker in (0, 1, 2):
        cluster.set("broker", str(broker), "num.io.threads", "16", "broker-static")
    cluster.set("broker-default", "", "log.retention.ms", "1000", "cluster-dynamic")
    cluster.snapshot()
    one, other = judged(cluster, "setting-changed")
    assert one.message == "log.retention.ms of broker default: set to 1000"
    assert (other.message, other.broker) == ("num.io.threads of brokers 0, 1, 2: 8 -> 16", None)


def test_a_value_that_was_not_shown_is_no_other_value(cluster: PlantedCluster) -> None:
    """A broker tells a sensitive setting by its name alone (KIP-226)."""
    key = "broker", "0", "ssl.key.password"
    for value in ("1", None, "2"):
        cluster.configs[key] = {"value": value, "origin": "broker-static"}
        cluster.snapshot()
    assert [one.message for one in judged(cluster, "setting-changed")] == [
        "ssl.key.password of broker 0: set to 1"  # with the first of the three, after the snapshots before
    ]


def test_settings_that_come_and_go_with_a_topic_or_broker_did_not_change(cluster: PlantedCluster) -> None:
    cluster.add("new", 0)
    cluster.set("topic", "new", "retention.ms", "1000")
    cluster.brokers[3] = {**cluster.brokers[2], "host": "host3"}
    cluster.set("broker", "3", "num.io.threads", "8", "broker-static")
    cluster.snapshot()
    cluster.change("new", 0, topic_id="id-anew")  # deleted and created anew between two snapshots
    cluster.set("topic", "new", "retention.ms", "2000")
    cluster.snapshot()
    del cluster.partitions["new", 0], cluster.brokers[3]
    cluster.set("topic", "new", "retention.ms", None)
    cluster.set("broker", "3", "num.io.threads", None)
    cluster.snapshot()
    assert judged(cluster, "setting-changed") == []


def test_throttles_of_a_move_and_defaults_of_a_version_are_no_changes(cluster: PlantedCluster) -> None:
    cluster.set("topic", "orders", "leader.replication.throttled.replicas", "0:1")
    cluster.set("broker", "0", "share.session.timeout.ms", "1000", "default")
    cluster.snapshot()
    assert judged(cluster, "setting-changed") == []
