"""A broker is stopped, and its files say what Kafka's own tools said before: KRaft and ZooKeeper mode."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from real_clusters.views import commit, wait_until_out_of_isrs
from waiting import until

from kreplica.sandbox import Mode, Sandbox

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

STOPPED, WATCHED = 3, 1
RECORDS = 12
ASSIGNMENT = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
TOPIC_LINE = re.compile(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)\s+Replicas: (\S+)\s+Isr: (\S+)")


@pytest.fixture(params=["kraft_cluster", "zookeeper_cluster"])
def cluster(request: pytest.FixtureRequest) -> Sandbox:
    sandbox: Sandbox = request.getfixturevalue(request.param)
    sandbox.create_topic("story", assignment=ASSIGNMENT)
    return sandbox


def kreplica(*arguments: object) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "kreplica", *map(str, arguments), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def log_directory(sandbox: Sandbox, node: int) -> Path:
    """The log directory that says it is of that broker."""
    for path in sorted(sandbox.folder.glob("**/meta.properties")):
        if re.search(rf"^(node|broker)\.id={node}$", path.read_text(), re.M) and list(path.parent.glob("story-*")):
            return path.parent
    raise AssertionError(node)


def write(sandbox: Sandbox) -> None:
    from confluent_kafka import Producer, TopicPartition
    from confluent_kafka.admin import AdminClient

    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    for number in range(RECORDS * len(ASSIGNMENT)):
        producer.produce("story", f"value {number}".encode(), partition=number % len(ASSIGNMENT))
    assert producer.flush(60) == 0
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    (future,) = admin.delete_records([TopicPartition("story", 1, 4)]).values()
    future.result(60)


def consumer(sandbox: Sandbox, group: str, **settings: str) -> Consumer:
    from confluent_kafka import Consumer

    plain = {"bootstrap.servers": sandbox.bootstrap_servers, "group.id": group, "enable.auto.commit": "false"}
    return Consumer({**plain, "auto.offset.reset": "earliest", **{k.replace("_", "."): v for k, v in settings.items()}})


def commit_by_hand(sandbox: Sandbox) -> None:
    """One offset in range, one whose records are deleted, one that the log has not reached."""
    client = consumer(sandbox, "story-by-hand")
    for offsets in ({0: 2, 1: 1, 2: 3}, {0: 7, 1: 2, 2: 100}):
        commit(client, "story", offsets)
    client.close()


def read_as_member(sandbox: Sandbox, group: str, protocol: str) -> None:
    """A member of a group reads a few records and commits how far it got."""
    client = consumer(sandbox, group, group_protocol=protocol)
    client.subscribe(["story"])
    deadline, seen = time.monotonic() + 60, 0
    while seen < 5:
        assert time.monotonic() < deadline
        message = client.poll(1)
        seen += message is not None and message.error() is None
    client.commit(asynchronous=False)
    client.close()


def stay_a_member(sandbox: Sandbox, group: str, protocol: str) -> Consumer:
    """A member that has all partitions, and keeps them."""
    client = consumer(sandbox, group, group_protocol=protocol)
    client.subscribe(["story"])

    def has_all() -> bool:
        client.poll(0.2)
        return len(client.assignment()) == len(ASSIGNMENT)

    until(has_all, f"all partitions to be those of {group}")
    return client


def transactional(sandbox: Sandbox, name: str, offset: int) -> Producer:
    """A transaction that has written a record and an offset of the group story-exactly-once, and is still open."""
    from confluent_kafka import Producer, TopicPartition

    settings = {"transactional.id": name, "transaction.timeout.ms": 600_000}
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, **settings})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("story", name.encode(), partition=0)
    client = consumer(sandbox, "story-exactly-once")
    producer.send_offsets_to_transaction([TopicPartition("story", 0, offset)], client.consumer_group_metadata(), 60)
    client.close()
    assert producer.flush(60) == 0
    return producer


def listed_groups(sandbox: Sandbox) -> dict[tuple[str, str, int], int]:
    found = {}
    for line in sandbox.tool("consumer-groups", "--describe", "--all-groups", "--offsets").splitlines():
        words = line.split()
        if words and words[0].startswith("story-"):
            group, topic, partition, offset = words[:4]
            if offset != "-":
                found[group, topic, int(partition)] = int(offset)
    return found


def listed_states(sandbox: Sandbox) -> dict[str, tuple[str, int]]:
    """State and number of members of each group."""
    text = sandbox.tool("consumer-groups", "--describe", "--all-groups", "--state")
    found = re.findall(r"^(story-\S+) .* (Empty|Stable|Assigning|Reconciling) +(\d+)\s*$", text, re.M)
    return {group: (state, int(members)) for group, state, members in found}


def listed_transactions(sandbox: Sandbox) -> dict[str, tuple[int, str]]:
    rows = [line.split() for line in sandbox.tool("transactions", "list").splitlines()]
    return {row[0]: (int(row[2]), row[3]) for row in rows if row and row[0].startswith("story-")}


def wait_for_transactions(sandbox: Sandbox, expected: dict[str, str]) -> dict[str, tuple[int, str]]:
    """What is listed once every coordinator has written its markers."""
    deadline = time.monotonic() + 60
    while True:
        told = listed_transactions(sandbox)
        if {name: state for name, (_, state) in told.items()} == expected:
            return told
        assert time.monotonic() < deadline, told


def listed_offsets(sandbox: Sandbox, time_asked: int) -> dict[int, int]:
    text = sandbox.tool("get-offsets", "--topic", "story", "--time", str(time_asked))
    return {int(number): int(offset) for _, number, offset in (line.split(":") for line in text.split())}


def listed_partitions(sandbox: Sandbox) -> list[tuple[str, ...]]:
    lines = sandbox.tool("topics", "--describe").splitlines()
    return sorted(match.groups() for line in lines if (match := TOPIC_LINE.search(line)))


def replayed_partitions(log: Path) -> list[tuple[str, ...]]:
    _, document = kreplica("describe", "--dump", log, "--all")
    return sorted(
        (
            row["topic"],
            str(row["partition"]),
            "none" if row["leader"] is None else str(row["leader"]),
            ",".join(map(str, row["replicas"])),
            ",".join(map(str, row["isr"])),
        )
        for row in document["partitions"]
    )


def test_files_of_a_stopped_broker_say_what_the_tools_said(cluster: Sandbox, tmp_path: Path) -> None:
    write(cluster)
    commit_by_hand(cluster)
    read_as_member(cluster, "story-classic", "classic")
    if cluster.settings.mode is Mode.KRAFT:
        read_as_member(cluster, "story-consumer", "consumer")
    protocols = ["classic", *(["consumer"] if cluster.settings.mode is Mode.KRAFT else [])]
    members = {f"story-held-{each}": stay_a_member(cluster, f"story-held-{each}", each) for each in protocols}
    transactional(cluster, "story-committed", 3).commit_transaction(60)
    transactional(cluster, "story-aborted", 5).abort_transaction(60)
    still_open = transactional(cluster, "story-open", 6)
    ended = {"story-committed": "CompleteCommit", "story-aborted": "CompleteAbort", "story-open": "Ongoing"}
    told = wait_for_transactions(cluster, ended)
    groups, states = listed_groups(cluster), listed_states(cluster)
    assert {group: states[group] for group in members} == dict.fromkeys(members, ("Stable", 1))
    start, end = listed_offsets(cluster, -2), listed_offsets(cluster, -1)
    described = cluster.tool("transactions", "describe", "--transactional-id", "story-open").splitlines()[-1].split()
    assert groups["story-exactly-once", "story", 0] == 3
    assert len(groups) >= 5
    counted = len(cluster.metadata().topics["__consumer_offsets"].partitions)  # type: ignore[union-attr]
    cluster.wait_for_healthy()

    cluster.shut_down(STOPPED)
    home = log_directory(cluster, STOPPED)

    the_groups_are_the_same(cluster, home, groups, counted, tmp_path)
    the_states_are_the_same(home, states, counted)
    the_transactions_are_the_same(home, told, described)
    the_logs_are_the_same(home, start, end)
    if cluster.settings.mode is Mode.KRAFT:
        log = log_directory(cluster, WATCHED) / "__cluster_metadata-0"
        cluster.wait_for_isr("story", 0, [1, 2])
        wait_until_out_of_isrs(cluster, STOPPED)
        expected = listed_partitions(cluster)
        assert len(expected) > len(ASSIGNMENT)
        until(lambda: replayed_partitions(log) == expected, "the log of the other node to say it")
        _, history = kreplica("decode", "metadata", log, "--who-led", "story-2")
        assert [change["leader"] for change in history["changes"]][:2] == [3, 1]
    still_open.abort_transaction(60)
    for member in members.values():
        member.close()


def the_groups_are_the_same(
    cluster: Sandbox, home: Path, groups: dict[tuple[str, str, int], int], counted: int, folder: Path
) -> None:
    asked = ("decode", "offsets", home, "--partitions", counted, "--group", "story-.*")
    code, document = kreplica(*asked)
    rows = document["offsets"]
    found = {(row["group"], row["topic"], row["partition"]): row["offset"] for row in rows if not row["pending"]}
    assert (code, found) == (0, groups)
    assert [(row["group"], row["offset"]) for row in rows if row["pending"]] == [("story-exactly-once", 6)]

    contexts = folder / "contexts.toml"
    contexts.write_text(f'[contexts.live]\nbootstrap_servers = "{cluster.live_bootstrap_servers()}"\n')
    code, document = kreplica(*asked, "--against", "live", "--config", contexts)
    standings = {
        row["partition"]: (row["log_start_offset"], row["end_offset"], row["standing"])
        for row in document["offsets"]
        if row["group"] == "story-by-hand"
    }
    # Partition 0 holds three records and two markers of transactions besides.
    expected = {0: (0, RECORDS + 5, "in range"), 1: (4, RECORDS, "below start"), 2: (0, RECORDS, "above end")}
    assert (code, standings) == (1, expected)
    code, document = kreplica(*asked[:-1], "story-exactly-once", "--bootstrap-server", cluster.live_bootstrap_servers())
    assert (code, [row["standing"] for row in document["offsets"]]) == (0, ["in range", "in range"])


def the_states_are_the_same(home: Path, states: dict[str, tuple[str, int]], counted: int) -> None:
    code, document = kreplica("decode", "offsets", home, "--groups", "--partitions", counted, "--group", "story-.*")
    found = {row["group"]: (row["state"], len(row["members"])) for row in document["groups"]}
    assert (code, found) == (0, states)
    held = [row["members"][0]["assignment"] for row in document["groups"] if row["members"]]
    assert [[sorted(each["partitions"]) for each in places] for places in held] == [[[0, 1, 2]]] * len(held)


def the_transactions_are_the_same(home: Path, told: dict[str, tuple[int, str]], described: list[str]) -> None:
    _, document = kreplica("decode", "transactions", home)
    rows = {row["transactional_id"]: row for row in document["transactions"]}
    assert {name: (row["producer_id"], row["state"]) for name, row in rows.items() if name in told} == told
    row = rows["story-open"]
    assert [str(row[name]) for name in ("producer_id", "producer_epoch", "state", "timeout_ms")] == described[2:6]
    assert str(row["start_timestamp"]) == described[6]
    places = [(place["topic"], place["partition"]) for place in row["partitions"]]
    assert ("story", 0) in places
    assert "__consumer_offsets" in dict(places)


def the_logs_are_the_same(home: Path, start: dict[int, int], end: dict[int, int]) -> None:
    code, document = kreplica("decode", "checkpoints", home)
    rows = {row["partition"]: row for row in document["checkpoints"] if row["topic"] == "story"}
    assert code == 0
    assert {number: row["high_watermark"] for number, row in rows.items()} == end
    assert {number: row["recovery_point"] for number, row in rows.items()} == end
    assert {number: row["log_start_offset"] or 0 for number, row in rows.items()} == start
    (directory,) = document["summary"]["log_dirs"]
    assert (directory["node_id"], directory["clean_shutdown"]) == (STOPPED, True)
    code, document = kreplica("decode", "segment", *(home / f"story-{number}" for number in end))
    assert code == 0
    for number, offset in end.items():
        batches = [each for each in document["batches"] if Path(each["file"]).parent.name == f"story-{number}"]
        assert batches[-1]["last_offset"] + 1 == sum(each["count"] for each in batches) == offset
