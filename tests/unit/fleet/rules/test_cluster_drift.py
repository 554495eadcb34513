"""Settings of clusters of one group beside each other; expected times are those of the planting."""

from __future__ import annotations

from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, chosen_of, hours

from analyzers.rules.over_time import refuse_without_group
from kreplica.errors import UsageError
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.judging import judge_clusters, newest_ms
from kreplica.fleet.rule import Circumstances

NAMES = ("one", "two", "three")


@pytest.fixture
def clusters() -> list[PlantedCluster]:
    """Three clusters in which all is set alike; each was looked at twice."""
    found = [PlantedCluster(f"id-{name}", name) for name in NAMES]
    for cluster in found:
        for broker in (0, 1, 2):
            cluster.set("broker", str(broker), "num.io.threads", "8", "broker-static")
        cluster.set("topic", "orders", "retention.ms", "1000")
        cluster.snapshot(2)
    return found


def drifts(
    folder: Path, clusters: list[PlantedCluster], groups: dict[str, frozenset[str]] | None = None
) -> list[FleetFinding]:
    for cluster in clusters:
        cluster.snapshot()
    chosen = chosen_of(folder, clusters)
    asked = Circumstances(newest_ms(chosen), None, {"eu": frozenset(NAMES)} if groups is None else groups)
    return [one for one in judge_clusters(chosen, asked) if one.rule == "cluster-drift"]


def threads(cluster: PlantedCluster, value: str | None, *brokers: int, origin: str = "broker-static") -> None:
    for broker in brokers or (0, 1, 2):
        cluster.set("broker", str(broker), "num.io.threads", value, origin)


def test_clusters_that_are_set_alike_do_not_drift(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    assert drifts(tmp_path, clusters) == []


def test_a_cluster_that_is_set_otherwise_is_told_since_when(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    threads(clusters[1], "16")
    for cluster in clusters:
        cluster.snapshot()
    (one,) = drifts(tmp_path, clusters)
    assert (one.cluster, one.topic, one.broker, hours(one)) == ("id-two", None, None, (1, 2, 3, None))
    assert one.message == "num.io.threads of brokers is 16 here, 8 in 2 of 3 clusters of group eu"
    assert one.evidence == {
        "group": "eu",
        "setting": "num.io.threads",
        "entity_type": "broker",
        "topics": [],
        "here": "16",
        "most": "8",
        "alike": ["one", "three"],
    }
    assert (one.snapshots, one.longest_interval_ms, one.in_newest) == (2, 3_600_000, True)


def test_a_setting_of_a_topic_drifts_since_the_topic_is_there_whatever_leads_it(
    tmp_path: Path, clusters: list[PlantedCluster]
) -> None:
    clusters[1].set("topic", "orders", "cleanup.policy", "compact")
    clusters[2].set("topic", "orders", "cleanup.policy", "compact")
    for cluster in clusters:
        cluster.snapshot()
    for number in range(3):
        row = clusters[0].partitions["orders", number]
        clusters[0].change("orders", number, leader=row["replicas"][1], leader_epoch=row["leader_epoch"] + 1)
    (one,) = drifts(tmp_path, clusters)
    assert (one.cluster, hours(one)) == ("id-one", (1, 2, 3, None))  # the others have it since hour 2


def test_a_topic_that_was_made_anew_drifts_since_then(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    clusters[0].set("topic", "orders", "retention.ms", None)
    kept = {key: dict(row) for key, row in clusters[0].partitions.items()}
    for key in [key for key in kept if key[0] == "orders"]:
        del clusters[0].partitions[key]
    clusters[0].snapshot()
    clusters[0].partitions = {key: {**row, "topic_id": "another"} for key, row in kept.items()}
    (one,) = drifts(tmp_path, clusters)
    assert (one.cluster, one.topic, hours(one)) == ("id-one", "orders", (None, 3, 3, None))


def test_it_begins_when_the_others_changed_and_one_was_left_behind(
    tmp_path: Path, clusters: list[PlantedCluster]
) -> None:
    threads(clusters[0], "16")
    clusters[0].snapshot()
    clusters[1].snapshot()
    threads(clusters[1], "16")
    (one,) = drifts(tmp_path, clusters)
    assert (one.cluster, hours(one)) == ("id-three", (2, 3, 3, None))  # at hour 2 it was one that was not like most
    assert one.evidence["alike"] == ["one", "two"]


def test_only_clusters_of_one_group_are_compared(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    threads(clusters[1], "16")
    groups = {"eu": frozenset(("one", "three")), "us": frozenset(("id-two",)), "all": frozenset(("two", "id-three"))}
    (one,) = drifts(tmp_path, clusters, groups)
    assert (one.cluster, one.evidence["group"], one.evidence["most"]) == ("id-three", "all", "16")
    assert one.message == "num.io.threads of brokers is 8 here, 16 in 1 of 2 clusters of group all"


def test_without_a_group_nothing_is_compared(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    threads(clusters[1], "16")
    assert drifts(tmp_path, clusters, {}) == []


def test_settings_of_a_topic_are_compared_where_the_topic_is_there(
    tmp_path: Path, clusters: list[PlantedCluster]
) -> None:
    clusters[0].set("topic", "orders", "retention.ms", None)
    clusters[1].set("topic", "audit", "cleanup.policy", "compact")
    clusters[2].add("payments", 0)
    clusters[2].set("topic", "payments", "retention.ms", "5")
    found = drifts(tmp_path, clusters)
    assert [(one.cluster, one.topic, one.message, hours(one)) for one in found] == [
        (
            "id-one",
            "orders",
            "retention.ms of topic orders is not set here, 1000 in 2 of 3 clusters of group eu",
            (1, 2, 2, None),
        ),
        (
            "id-two",
            "audit",
            "cleanup.policy of topic audit is compact here, not set in 2 of 3 clusters of group eu",
            (1, 2, 2, None),
        ),
    ]


def test_topics_that_are_alike_are_one_finding(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    for topic in ("orders", "audit"):
        for cluster, value in zip(clusters, ("1000", "1000", "2000"), strict=True):
            cluster.set("topic", topic, "retention.ms", value)
    (one,) = drifts(tmp_path, clusters)
    assert (one.topic, one.evidence["topics"]) == (None, ["audit", "orders"])
    assert one.message == "retention.ms of topics audit, orders is 2000 here, 1000 in 2 of 3 clusters of group eu"


def test_a_default_that_one_release_tells_is_no_setting(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    for cluster in clusters:
        threads(cluster, None)
    threads(clusters[0], "8", origin="default")
    assert drifts(tmp_path, clusters) == []


def test_defaults_of_two_releases_differ(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    for cluster, value in zip(clusters, ("8", "8", "12"), strict=True):
        threads(cluster, value, origin="default")
    (one,) = drifts(tmp_path, clusters)
    assert one.evidence["here"] == "12"


def test_one_broker_of_a_cluster_is_not_the_cluster(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    threads(clusters[1], "16", 0)  # config-drift tells it
    assert drifts(tmp_path, clusters) == []


@pytest.mark.parametrize(
    ("kind", "entity", "name", "value"),
    [
        ("broker", "1", "advertised.listeners", "PLAINTEXT://b:9092"),
        ("broker", "1", "controller.quorum.voters", "1@a:9093"),
        ("topic", "orders", "leader.replication.throttled.replicas", "0:1"),
        ("broker", "1", "sasl.jaas.config", None),
    ],
)
def test_what_is_each_clusters_own_or_not_shown_is_not_compared(
    tmp_path: Path, clusters: list[PlantedCluster], kind: str, entity: str, name: str, value: str | None
) -> None:
    for cluster in clusters[:2]:
        cluster.set(kind, entity, name, "other", "topic" if kind == "topic" else "broker-static")
    clusters[2].configs[kind, entity, name] = {
        "value": value,
        "origin": "topic" if kind == "topic" else "broker-static",
    }
    assert drifts(tmp_path, clusters) == []


def test_a_cluster_whose_settings_nobody_tells_is_left_out(tmp_path: Path, clusters: list[PlantedCluster]) -> None:
    clusters[2].configs.clear()
    clusters[2].taken.clear()
    threads(clusters[1], "16")
    (one,) = drifts(tmp_path, clusters)
    assert one.message.endswith("in 1 of 2 clusters of group eu")


def test_the_rule_alone_without_a_group_is_refused() -> None:
    with pytest.raises(UsageError, match="cluster-drift compares the clusters of a group"):
        refuse_without_group(["offline", "cluster-drift"], [])
    refuse_without_group(["cluster-drift"], ["eu"])
    refuse_without_group(["offline"], [])
