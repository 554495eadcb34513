"""One real cluster in ZooKeeper mode in trouble, seen every way there is: all views say the same; so does compare."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from real_clusters.moves import connection_to, start_move
from real_clusters.views import controller_other_than, wait_until_out_of_isrs
from real_clusters.znodes import encoded, writer

from commands.main import run
from kreplica.config.handle import ClusterHandle
from kreplica.model.comparison import compare
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sandbox import Sandbox
from kreplica.sources import Facet, read_snapshot
from kreplica.store.writing import write_snapshot

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

DOCS = Path(__file__).parents[3] / "docs" / "zookeeper.md"
LINE = re.compile(
    r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: (\S*)"
    r"(?:\tAdding Replicas: (\S*)\tRemoving Replicas: (\S*))?"
)
Truth = Mapping[tuple[str, int], tuple[Any, ...]]


def ids(text: str) -> list[int]:
    return sorted(int(word) for word in text.split(",")) if text else []


def told_by_kafka(text: str) -> Truth:
    """Leader, replicas, ISR, adding and removing as kafka-topics printed them."""
    return {
        (topic, int(number)): (
            -1 if leader == "none" else int(leader),
            [int(replica) for replica in replicas.split(",")],
            ids(isr),
            ids(adding),
            ids(removing),
        )
        for topic, number, leader, replicas, isr, adding, removing in LINE.findall(text)
    }


def told_by(snapshot: ClusterSnapshot, truth: Truth) -> Truth:
    """The same of a snapshot; what it cannot know is taken from the truth."""
    found = {}
    for row in snapshot.partitions.rows():
        key = row["topic"], row["partition"]
        lists = [row[name] for name in ("isr", "adding", "removing")]
        facts = [sorted(one) if isinstance(one, list) else truth[key][2 + at] for at, one in enumerate(lists)]  # type: ignore[index]
        found[key] = (row["leader"], row["replicas"], *facts)
    return found  # type: ignore[return-value]


@pytest.fixture
def trouble(zookeeper_cluster: Sandbox) -> Sandbox:
    """Broker 3 killed: partitions under min ISR, one offline, one stuck in a reassignment to it."""
    cluster = zookeeper_cluster
    cluster.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]], configs={"min.insync.replicas": "3"})
    cluster.create_topic("single", assignment=[[3], [1]], configs={"unclean.leader.election.enable": "true"})
    cluster.create_topic("moving", assignment=[[1, 2], [2, 1]])
    cluster.create_topic("edited", assignment=[[1, 2]])
    # It has to take the reassignment, and to tell of the broker's end.
    connection = connection_to(cluster, controller_other_than(cluster, 3, lambda: zookeeper(cluster).controller))
    # This controller takes no reassignment to a dead broker; a paused one counts as alive for some seconds.
    cluster.pause(3)
    start_move(connection, "moving", 0, [1, 3])
    cluster.kill(3)
    cluster.wait_for_brokers(gone=[3])
    for partition in range(3):
        cluster.wait_for_isr("orders", partition, {1, 2})
    wait_until_out_of_isrs(cluster, 3)
    return cluster


def zookeeper(cluster: Sandbox, wanted: Facet = Facet.HEALTH) -> ClusterSnapshot:
    return read_snapshot(ClusterHandle("zookeeper", zookeeper=cluster.zookeeper_connect, timeout=30), wanted)


def kcat_json(cluster: Sandbox) -> str:
    """What kcat -L -J prints: librdkafka's metadata in kcat's layout (tests/golden/kcat has the real thing)."""
    metadata = cluster.metadata()
    assert metadata is not None
    topics = [
        {
            "topic": name,
            "partitions": [
                {
                    "partition": number,
                    **({"error": "Broker: Leader not available"} if one.leader < 0 else {}),
                    "leader": one.leader,
                    "replicas": [{"id": replica} for replica in one.replicas],
                    "isrs": [{"id": replica} for replica in one.isrs],
                }
                for number, one in topic.partitions.items()
            ],
        }
        for name, topic in metadata.topics.items()
    ]
    brokers = [{"id": one.id, "name": f"{one.host}:{one.port}"} for one in metadata.brokers.values()]
    return json.dumps(
        {"query": {"topic": "*"}, "controllerid": metadata.controller_id, "brokers": brokers, "topics": topics}
    )


def exported(cluster: Sandbox, folder: Path) -> Path:
    """An export made by the script of the documentation, as it stands there."""
    (script,) = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    program, path = folder / "export.py", folder / "znodes.json"
    program.write_text(script)
    with path.open("wb") as file:
        subprocess.run([sys.executable, program, cluster.zookeeper_connect], stdout=file, check=True, timeout=60)
    return path


def test_every_view_of_a_cluster_in_trouble_says_the_same(
    trouble: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = trouble.tool("topics", "--describe")
    (tmp_path / "describe.txt").write_text(described)
    (tmp_path / "kcat.json").write_text(kcat_json(trouble))
    live = read_snapshot(ClusterHandle("live", trouble.live_bootstrap_servers(), timeout=30))
    write_snapshot(live, tmp_path / "parquet")

    def dump(name: str | Path) -> ClusterSnapshot:
        return read_snapshot(ClusterHandle(str(name), dump=str(tmp_path / name)))

    views = {
        "live": live,
        "zookeeper": zookeeper(trouble),
        "text": dump("describe.txt"),
        "kcat": dump("kcat.json"),
        "export": dump(exported(trouble, tmp_path).name),
        "parquet": dump("parquet"),
    }
    truth = told_by_kafka(described)
    assert truth["moving", 0] == (1, [1, 3, 2], [1, 2], [3], [2])
    assert truth["single", 0][0] == -1
    for name, view in views.items():
        assert told_by(view, truth) == truth, name
        assert set(view.racks) <= {1, 2, 3}
    for first, second in combinations(views, 2):
        assert compare(views[first], views[second]).differences == (), (first, second)
    epochs = {
        name: views[name].partitions["leader_epoch"].to_list() for name in ("live", "zookeeper", "export", "parquet")
    }
    assert all(values == epochs["live"] for values in epochs.values())
    assert None not in epochs["live"]
    known = [views[name].partitions["partition_epoch"].to_list() for name in ("zookeeper", "export")]
    assert known[0] == known[1]
    assert {views[name].controller for name in views if name != "text"} == {live.controller}
    assert views["zookeeper"].gaps == ()
    assert_command_line(
        trouble,
        tmp_path,
        capsys,
        set(told_by_kafka(trouble.tool("topics", "--describe", "--under-replicated-partitions"))),
    )


def assert_command_line(
    cluster: Sandbox, folder: Path, capsys: pytest.CaptureFixture[str], under_replicated: set[tuple[str, int]]
) -> None:
    """The same by the commands: describe by ZooKeeper, compare of one broker's view, the cluster's, an old dump."""

    def call(*words: str) -> tuple[int, dict[str, Any]]:
        code = run([*words, "-o", "json", "--timeout", "30"])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return code, found

    by_zookeeper = f"zookeeper:{cluster.zookeeper_connect}"
    brokers = cluster.bootstrap_servers.split(",")
    code, answer = call("describe", "--zookeeper", cluster.zookeeper_connect, "--under-replicated")
    assert code == 1
    assert {(row["topic"], row["partition"]) for row in answer["partitions"]} == under_replicated
    assert {row["causes"][0]["kind"] for row in answer["partitions"]} == {"broker-gone"}
    for other in (f"bootstrap:{brokers[0]}", f"bootstrap:{brokers[1]}", f"bootstrap:{brokers[1]},{brokers[0]}"):
        code, answer = call("compare", by_zookeeper, other)
        assert (code, answer["differences"]) == (0, []), other
        # Reassignments are the controller's: one broker's own view does not have them.
        assert ("adding" in answer["summary"]["not_comparable"]) == ("," not in other)
    assert_stale_broker(cluster, lambda: call("compare", f"bootstrap:{brokers[1]}", by_zookeeper, "--settle", "0.2"))
    before = exported(cluster, folder)
    cluster.start_broker(3)
    cluster.wait_for_isr("orders", 0, {1, 2, 3})
    code, answer = call("compare", f"dump:{before}", by_zookeeper, "--settle", "0.2")
    rows = {(row["topic"], row["partition"], row["broker"], row["field"]): row for row in answer["differences"]}
    assert code == 1
    back = rows["orders", 0, None, "isr"]
    assert (back["left"], back["newer"], back["meaning"].split(":")[0]) == ("1,2", "right", "the left side is stale")
    assert rows[None, None, 3, "alive"]["right"] == "yes"
    assert rows["single", 0, None, "leader"]["left"] == "none"
    cluster.wait_for_healthy()  # the move to broker 3 is over before its topic is deleted


def assert_stale_broker(cluster: Sandbox, compared: Callable[[], tuple[int, dict[str, Any]]]) -> None:
    """A leader that brokers do not hear of: the controller does not watch states that it has not written."""
    path = "/brokers/topics/edited/partitions/0/state"
    with writer(cluster.zookeeper_connect) as client:
        data, _ = client.get(path)
        client.set(path, encoded({**json.loads(data), "leader": 2, "leader_epoch": 40}))
        code, answer = compared()
        client.set(path, data)
    assert code == 1
    assert [(row["field"], row["left"], row["right"], row["newer"]) for row in answer["differences"]] == [
        ("leader", "1", "2", "right"),
        ("leader_epoch", "0", "40", "right"),
    ]
    assert {row["lasting"] for row in answer["differences"]} == {True}
    assert answer["differences"][0]["meaning"] == "the left side is stale: leader epoch 0 there, 40 on the right"
