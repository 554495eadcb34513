"""The live source against Kafka's own tools on the same damaged cluster, in KRaft and in ZooKeeper mode."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_clusters.moves import connection_to, start_move
from real_clusters.views import commit, controller_other_than, produce, put_in_order, wait_until_out_of_isrs

from kreplica.config.handle import ClusterHandle
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sandbox import Mode, Sandbox
from kreplica.sources import Facet
from kreplica.sources.kafka.snapshot import read_live

pytestmark = pytest.mark.kafka


def read(sandbox: Sandbox, wanted: Facet = Facet.HEALTH, timeout: float = 30.0) -> ClusterSnapshot:
    return read_live(ClusterHandle("test", sandbox.live_bootstrap_servers(), timeout=timeout), wanted)


@pytest.fixture(scope="module", params=["kraft_session", "zookeeper_session"])
def damaged(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Broker 3 killed: partitions under min ISR, offline and stuck in a reassignment; data in ``orders``."""
    sandbox: Sandbox = request.getfixturevalue(request.param)
    sandbox.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]], configs={"min.insync.replicas": "2"})
    sandbox.create_topic("pair", assignment=[[2, 3], [3, 1], [1, 2]], configs={"min.insync.replicas": "2"})
    sandbox.create_topic("single", assignment=[[3], [1]], configs={"unclean.leader.election.enable": "true"})
    sandbox.create_topic("moving", assignment=[[1, 2], [2, 1]])
    produce(sandbox, "orders", 90)
    commit_as(sandbox, "billing", {0: 5, 1: 6, 2: 7})
    if sandbox.settings.mode is Mode.KRAFT:
        sandbox.kill(3)
        sandbox.wait_for_brokers(gone=[3])
        start_move(connection_to(sandbox, 1), "moving", 0, [1, 3])
    else:
        # This controller takes no reassignment to a dead broker; a paused one counts as alive for some seconds.
        controller = controller_other_than(sandbox, 3, lambda: read(sandbox, Facet.PARTITIONS).controller)
        sandbox.pause(3)
        start_move(connection_to(sandbox, controller), "moving", 0, [1, 3])
        sandbox.kill(3)
        sandbox.wait_for_brokers(gone=[3])
    for topic, partition, isr in (("orders", 2, {1, 2}), ("pair", 0, {2}), ("pair", 1, {1})):
        sandbox.wait_for_isr(topic, partition, isr)
    wait_until_out_of_isrs(sandbox, 3)
    yield sandbox
    put_in_order(sandbox)


def commit_as(sandbox: Sandbox, group: str, offsets: dict[int, int]) -> None:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": sandbox.live_bootstrap_servers(), "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(settings)
    commit(consumer, "orders", offsets, metadata="note=1")
    consumer.close()


DESCRIBE_FIELD = re.compile(
    r"\t(Topic|TopicId|Partition|Leader|Replicas|Isr|Elr|LastKnownElr|[A-Z]\w+ Replicas): *([^\t]*)"
)


def described(sandbox: Sandbox) -> dict[tuple[object, object], dict[str, str]]:
    """``kafka-topics --describe`` by topic and partition, and each topic's id."""
    found: dict[tuple[object, object], dict[str, str]] = {}
    topic_ids: dict[str, str] = {}
    for line in sandbox.tool("topics", "--describe").splitlines():
        fields = {name: value.strip() for name, value in DESCRIBE_FIELD.findall("\t" + line.lstrip("\t"))}
        if "Partition" in fields:
            found[fields["Topic"], int(fields["Partition"])] = fields | {"TopicId": topic_ids[fields["Topic"]]}
        elif "Topic" in fields:
            topic_ids[fields["Topic"]] = fields["TopicId"]
    return found


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]


def test_partitions_are_those_of_kafka_topics(damaged: Sandbox) -> None:
    snapshot, tool = read(damaged), described(damaged)

    rows = {(row["topic"], row["partition"]): row for row in snapshot.partitions.rows()}
    assert rows.keys() == tool.keys()
    assert len(rows) >= 10
    for key, row in rows.items():
        expected = tool[key]
        assert row["topic_id"] == expected["TopicId"], key
        assert row["leader"] == (-1 if expected["Leader"] == "none" else int(expected["Leader"])), key
        assert row["replicas"] == numbers(expected["Replicas"]), key
        assert row["isr"] == numbers(expected["Isr"]), key
        assert row["adding"] == numbers(expected.get("Adding Replicas", "")), key
        assert row["removing"] == numbers(expected.get("Removing Replicas", "")), key
        if damaged.settings.mode is Mode.KRAFT:
            assert row["elr"] == numbers(expected["Elr"]), key
            assert row["last_known_elr"] == numbers(expected["LastKnownElr"]), key
        else:
            assert (row["elr"], expected["Elr"]) == (None, "N/A"), key
    assert rows["moving", 0]["adding"] == [3]
    assert rows["single", 0]["leader"] == -1
    assert snapshot.gaps == ()


def test_a_replica_on_the_dead_broker_is_offline_and_no_other(damaged: Sandbox) -> None:
    for row in read(damaged).partitions.rows():
        replicas = row["replicas"]
        assert isinstance(replicas, list)
        assert row["offline_replicas"] == ([3] if 3 in replicas else []), row


def test_leader_epochs_are_those_in_the_leaders_logs(damaged: Sandbox) -> None:
    rows = {(row["topic"], row["partition"]): row for row in read(damaged).partitions.rows()}
    produce(damaged, "orders", 3)
    for partition in range(3):
        leader = rows["orders", partition]["leader"]
        (file,) = damaged.folder.glob(f"broker-{leader}/data*/orders-{partition}/leader-epoch-checkpoint")
        last_epoch = file.read_text().split("\n")[2:][-2].split()[0]
        assert rows["orders", partition]["leader_epoch"] == int(last_epoch)


def test_dead_broker_is_a_fact_and_no_gap(damaged: Sandbox) -> None:
    snapshot = read(damaged)

    brokers = {row["broker"]: row for row in snapshot.brokers.rows()}
    assert [brokers[broker]["alive"] for broker in (1, 2, 3)] == [True, True, False]
    assert [brokers[broker]["rack"] for broker in (1, 2)] == ["rack-a", "rack-b"]
    addresses = dict(enumerate(damaged.bootstrap_servers.split(","), start=1))
    assert [f"{brokers[broker]['host']}:{brokers[broker]['port']}" for broker in (1, 2)] == [addresses[1], addresses[2]]
    if damaged.settings.mode is Mode.KRAFT:
        assert (brokers[3]["fenced"], brokers[3]["rack"]) == (True, "rack-c")
    assert snapshot.cluster_id == damaged.cluster_id
    if damaged.settings.mode is Mode.KRAFT:
        assert snapshot.controller is None, "Metadata names any live broker there"
        whole = read(damaged, Facet.HEALTH | Facet.QUORUM)
        (leader,) = [row["node"] for row in whole.quorum.rows() if row["leader"]]
        assert whole.controller == leader
    else:
        assert snapshot.controller in (1, 2)
    assert snapshot.gaps == ()


def test_log_directories_are_those_of_kafka_log_dirs(damaged: Sandbox) -> None:
    output = damaged.tool("log-dirs", "--describe", "--broker-list", "1,2")
    tool = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    snapshot = read(damaged)

    expected = {
        (directory["logDir"], partition["partition"], broker["broker"]): (
            partition["size"],
            partition["offsetLag"],
            partition["isFuture"],
        )
        for broker in tool["brokers"]
        for directory in broker["logDirs"]
        for partition in directory["partitions"]
    }
    found = {
        (row["log_dir"], f"{row['topic']}-{row['partition']}", row["broker"]): (
            row["size"],
            row["offset_lag"],
            row["future"],
        )
        for row in snapshot.replicas.rows()
    }
    assert {key: value for key, value in found.items() if "__" not in key[1]} == {
        key: value for key, value in expected.items() if "__" not in key[1]
    }
    assert any(size for size, _, _ in found.values())
    for row in snapshot.log_dirs.rows():
        assert Path(str(row["path"])).is_relative_to(damaged.folder)
        assert row["error"] is None
        assert 0 < row["usable_bytes"] <= row["total_bytes"]  # type: ignore[operator]


SETTING = re.compile(r"^  (\S+?)=(.*?) sensitive=(true|false) synonyms=\{(?:([A-Z_]+):)?", re.MULTILINE)
ORIGIN = {
    "DYNAMIC_TOPIC_CONFIG": "topic",
    "DYNAMIC_BROKER_CONFIG": "broker-dynamic",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "cluster-dynamic",
    "STATIC_BROKER_CONFIG": "broker-static",
    "DEFAULT_CONFIG": "default",
    "": "default",
}


def tool_settings(sandbox: Sandbox, *entity: str) -> dict[str, tuple[str | None, str]]:
    output = sandbox.tool("configs", "--describe", "--all", *entity)
    return {
        name: (None if value == "null" else value, ORIGIN[source]) for name, value, _, source in SETTING.findall(output)
    }


def test_topic_settings_are_those_of_kafka_configs(damaged: Sandbox) -> None:
    snapshot = read(damaged, Facet.ALL)

    for topic in ("orders", "single", "moving"):
        found = {
            row["name"]: (row["value"], row["origin"]) for row in snapshot.configs.rows() if row["entity"] == topic
        }
        assert found == tool_settings(damaged, "--topic", topic)
    by_topic = {row["topic"]: row for row in snapshot.partitions.rows()}
    assert (by_topic["orders"]["min_isr"], by_topic["orders"]["unclean_leader_election"]) == (2, False)
    assert (by_topic["single"]["min_isr"], by_topic["single"]["unclean_leader_election"]) == (2, True)


def test_broker_settings_are_those_of_kafka_configs(damaged: Sandbox) -> None:
    snapshot = read(damaged, Facet.BROKER_CONFIGS)

    found = {
        row["name"]: row["value"]
        for row in snapshot.configs.rows()
        if (row["entity_type"], row["entity"]) == ("broker", "1")
    }
    expected = tool_settings(damaged, "--broker", "1")
    assert found == {name: value for name, (value, _) in expected.items()}
    assert len(found) > 100


def test_health_asks_only_for_the_settings_it_needs(damaged: Sandbox) -> None:
    names = {row["name"] for row in read(damaged).configs.rows()}
    throttles = {f"{role}.replication.throttled.replicas" for role in ("leader", "follower")}
    assert names == {"min.insync.replicas", "unclean.leader.election.enable"} | throttles


def test_quorum_is_that_of_kafka_metadata_quorum(damaged: Sandbox) -> None:
    rows = list(read(damaged, Facet.QUORUM).quorum.rows())
    if damaged.settings.mode is Mode.ZOOKEEPER:
        assert rows == []
        return
    lines = damaged.tool("metadata-quorum", "describe", "--replication").splitlines()
    table = [dict(zip(lines[0].split(), line.split(), strict=False)) for line in lines[1:] if line.strip()]
    expected = {int(row["NodeId"]): line for row, line in zip(table, lines[1:], strict=True)}
    assert {row["node"] for row in rows} == set(expected)
    for row in rows:
        assert row["leader"] == ("Leader" in expected[row["node"]])  # type: ignore[index]
        assert row["voter"] == ("Observer" not in expected[row["node"]])  # type: ignore[index]
    ends = {row["node"]: row["log_end_offset"] for row in rows}
    tool_ends = {int(row["NodeId"]): int(row["LogEndOffset"]) for row in table}
    (leader,) = [row["node"] for row in rows if row["leader"]]
    assert 0 < ends[leader] <= tool_ends[leader]  # type: ignore[index,operator]
    # The tool prints -1 for a node that this leader has not heard of.
    assert {node for node, end in ends.items() if end is None} >= {node for node, end in tool_ends.items() if end < 0}


def test_offsets_are_those_of_kafka_get_offsets(damaged: Sandbox) -> None:
    damaged.tool("delete-records", "--offset-json-file", str(delete_to(damaged, "orders", 0, 7)))
    rows = {row["partition"]: row for row in read(damaged, Facet.OFFSETS).partitions.rows() if row["topic"] == "orders"}

    for time_argument, name in (("-1", "high_watermark"), ("-2", "log_start_offset")):
        output = damaged.tool("get-offsets", "--topic", "orders", "--time", time_argument)
        expected = {int(line.split(":")[1]): int(line.split(":")[2]) for line in output.split()}
        assert {partition: row[name] for partition, row in rows.items()} == expected
    assert rows[0]["log_start_offset"] == 7
    assert rows[0]["end_offset"] == rows[0]["high_watermark"]


def delete_to(sandbox: Sandbox, topic: str, partition: int, offset: int) -> Path:
    file = sandbox.folder / "delete-records.json"
    file.write_text(
        json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": partition, "offset": offset}]})
    )
    return file


def test_a_leaderless_partition_has_no_offsets_and_makes_no_gap(damaged: Sandbox) -> None:
    snapshot = read(damaged, Facet.OFFSETS)
    offline = snapshot.partition("single", 0)
    assert (offline["leader"], offline["high_watermark"], offline["end_offset"]) == (-1, None, None)
    assert snapshot.gaps == ()


def test_groups_are_those_of_kafka_consumer_groups(damaged: Sandbox) -> None:
    output = damaged.tool("consumer-groups", "--describe", "--group", "billing")
    columns = [line.split() for line in output.splitlines() if line.startswith("billing")]
    expected = {(topic, int(partition)): int(offset) for _, topic, partition, offset, *_ in columns}

    rows = [row for row in read(damaged, Facet.GROUPS).groups.rows() if row["group"] == "billing"]

    assert {(row["topic"], row["partition"]): row["offset"] for row in rows} == expected
    assert expected == {("orders", 0): 5, ("orders", 1): 6, ("orders", 2): 7}
    assert {row["state"] for row in rows} == {"Empty"}
    # confluent-kafka commits the end of the C string along.
    assert {str(row["metadata"]).rstrip("\0") for row in rows} == {"note=1"}


def test_features_are_those_of_kafka_features(damaged: Sandbox) -> None:
    features = read(damaged, Facet.PARTITIONS).features
    if damaged.settings.mode is Mode.ZOOKEEPER:
        assert features == {}
        return
    levels = re.findall(
        r"^Feature: (\S+)\s.*FinalizedVersionLevel: (\d+)\s", damaged.tool("features", "describe"), re.M
    )
    expected = {name: int(level) for name, level in levels if int(level) > 0}
    assert expected.items() <= features.items()
    assert features["eligible.leader.replicas.version"] == 1


def test_nothing_is_created_by_reading(damaged: Sandbox) -> None:
    before = damaged.tool("topics", "--list").split()
    read(damaged, Facet.ALL)
    assert damaged.tool("topics", "--list").split() == before
