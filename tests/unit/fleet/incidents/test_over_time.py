"""Findings from scene to scene: the same as judging the whole cluster at every scene anew."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, chosen_of
from planted.incidents import larger, start, stop

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.incidents.packed import PackedFindings, Summary
from kreplica.fleet.incidents.scenes import findings_over_time, scenes_of
from kreplica.health.findings import Finding, find
from kreplica.health.rules import Severity
from kreplica.history.moments.as_of import cluster_as_of
from kreplica.system.stores.storage import LocalStorage

Key = tuple[object, ...]


def history_of(cluster: PlantedCluster) -> ClusterHistory:
    with tempfile.TemporaryDirectory() as folder:
        history = ClusterHistory(chosen_of(Path(folder), [cluster]).months)
        for table in (history.partitions, history.brokers, history.configs, history.log_dirs):
            assert table.runs is not None  # read while the folder is there
        return history


def troubled(seed: int) -> PlantedCluster:
    """A cluster in which brokers fail and vanish, partitions shrink, settings change and topics come and go."""
    drawn = random.Random(seed)
    cluster = larger(brokers=5, racks=3, partitions=8)
    cluster.add("few", 0, replicas=[0], isr=[0], leader=0, min_isr=1)
    cluster.snapshot(2)
    for _ in range(14):
        broker = drawn.randrange(5)
        match drawn.choice(["stop", "start", "shrink", "setting", "vanish", "rack", "topic", "replicas", "none"]):
            case "stop":
                stop(cluster, *({broker} & set(cluster.brokers)))
            case "start":
                start(cluster, *cluster.brokers, preferred=drawn.random() < 0.5)
            case "shrink":
                row = cluster.partitions["orders", 3]
                cluster.change("orders", 3, isr=row["replicas"][: drawn.randrange(1, 3)])
            case "setting":
                value = drawn.choice([1, 2, 3, 4, None])
                cluster.change("orders", drawn.randrange(8), min_isr=value, unclean_leader_election=value == 1)
            case "vanish":
                held = cluster.brokers.pop(4, None)
                if held is None:
                    cluster.brokers[4] = {"host": "host4", "port": 9092, "rack": "r1", "alive": True}
            case "rack":
                cluster.brokers[0]["rack"] = drawn.choice(["r0", "r1", None])
            case "topic":
                if ("few", 0) in cluster.partitions:
                    del cluster.partitions["few", 0]
                else:
                    cluster.add("few", 0, replicas=[1], isr=[1], leader=1, min_isr=2)
            case "replicas":
                cluster.change("orders", 5, replicas=[0, 3], isr=[0], leader=0)
        cluster.snapshot()
    return cluster


def key_of(one: Finding | FleetFinding) -> Key:
    return one.rule, one.topic, one.partition, one.broker


@pytest.mark.parametrize("seed", range(6))
def test_findings_over_time_are_those_of_each_scene(seed: int) -> None:
    history = history_of(troubled(seed))
    scenes = scenes_of(history)
    at_each = [{key_of(one): one for one in find(scene.snapshot)} for scene in scenes]
    expected: dict[tuple[Key, int], list[Finding]] = {}
    for place, now in enumerate(at_each):
        for key, one in now.items():
            begin = place
            while begin > 0 and key in at_each[begin - 1]:
                begin -= 1
            expected.setdefault((key, begin), []).append(one)
    found = {(key_of(one.finding), one.scene): one for one in findings_over_time(history, scenes)}
    assert set(found) == set(expected)
    assert len({key[0] for key, _ in expected}) >= 5  # rules
    for (key, begin), told in expected.items():
        one, worst = found[key, begin], max(told, key=lambda finding: finding.severity.rank)
        end = begin + len(told)
        ended = -1 if end == len(scenes) else scenes[end].number
        assert (one.span.first, one.span.ended) == (scenes[begin].number, ended)
        words = (one.finding.severity, one.finding.message, one.finding.evidence)
        assert words == (worst.severity, worst.message, worst.evidence)


def finding(rule: str, severity: Severity, partition: int | None) -> FleetFinding:
    return FleetFinding(
        "c1", rule, severity, Certainty.PROVED, None, 1, 2, None, 2, 1, True, "words", "orders", partition
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_scene_is_the_cluster_as_of_its_moment(seed: int, tmp_path: Path) -> None:
    history = ClusterHistory(chosen_of(tmp_path, [troubled(seed)]).months)
    scenes = scenes_of(history)
    assert len(scenes) > 5
    for scene in scenes:
        told, read = scene.snapshot, cluster_as_of(LocalStorage(tmp_path), None, scene.snapshot.taken_at)
        assert int(read.taken_at.timestamp() * 1000) == history.times[scene.number]
        for name in ("partitions", "brokers", "configs", "log_dirs"):
            # What a snapshot does not know is null as of its moment, and as it was told before in a scene.
            for own, row in zip(getattr(told, name).rows(), getattr(read, name).rows(), strict=True):
                assert {**own, **{column: value for column, value in row.items() if value is not None}} == own
        assert (told.cluster_id, told.name, told.source) == (read.cluster_id, read.name, read.source)


def test_packed_findings_are_the_findings_and_know_what_is_asked_most() -> None:
    every = [finding("offline", Severity.CRITICAL, 0), finding("rf-one", Severity.WARNING, None)] * 2
    packed = PackedFindings(every)
    assert (list(packed), len(packed), packed[1], packed[1:3]) == (every, 4, every[1], every[1:3])
    assert packed.summary == Summary(Severity.CRITICAL, {"offline": 2, "rf-one": 2}, 1)
    assert Summary.of(packed) is packed.summary


def test_no_findings_are_packed() -> None:
    packed = PackedFindings([])
    assert (list(packed), len(packed), packed.summary) == ([], 0, Summary(None, {}, 0))
