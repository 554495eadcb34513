"""Exports of real ZooKeeper trees, against what Kafka's tools printed of the same clusters at the same time."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kreplica.errors import InputError
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import predicate
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.dump import read_dump

GOLDEN = Path(__file__).parents[3] / "golden"
RECORDED = [
    "kafka-3.9.2/2-broker-killed",
    "kafka-3.9.2/4-reassigning",
    "kafka-3.9.2-ibp-1.1/2-broker-killed",
    "kafka-3.9.2-ibp-0.10.0/2-broker-killed",
]
LINE = re.compile(
    r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: (\S*)"
    r"(?:\tAdding Replicas: (\S*)\tRemoving Replicas: (\S*))?"
)
HEADER = re.compile(r"^Topic: (\S+)\tTopicId: (\S+)\t", re.MULTILINE)
OVERRIDE = re.compile(r"^  (\S+?)=(.*?) sensitive=false synonyms=\{DYNAMIC_TOPIC_CONFIG:")


def ids(text: str | None) -> list[int]:
    return [int(word) for word in text.split(",")] if text else []


def described(folder: str, name: str = "topics-describe") -> dict[tuple[str, int], tuple[Any, ...]]:
    """What kafka-topics printed: leader, replicas, ISR, adding and removing by partition."""
    text = (GOLDEN / folder / f"{name}.txt").read_text()
    return {
        (topic, int(partition)): (
            -1 if leader == "none" else int(leader),
            ids(replicas),
            ids(isr),
            ids(adding),
            ids(removing),
        )
        for topic, partition, leader, replicas, isr, adding, removing in LINE.findall(text)
    }


def keys(snapshot: ClusterSnapshot, name: str) -> set[tuple[object, object]]:
    column = Evaluator(snapshot).boolean(predicate(name).expression)
    rows = snapshot.select(column.is_true().nonzero()[0]).partitions.rows()
    return {(row["topic"], row["partition"]) for row in rows}


@pytest.mark.parametrize("folder", RECORDED)
def test_it_says_what_kafka_topics_said(folder: str) -> None:
    snapshot = read_dump(str(GOLDEN / folder / "znodes.json"))
    expected = described(folder)
    assert expected
    found = {
        (row["topic"], row["partition"]): tuple(
            row[name] for name in ("leader", "replicas", "isr", "adding", "removing")
        )
        for row in snapshot.partitions.rows()
    }
    assert found == expected
    for filter_name, listing in (
        ("under_replicated", "under-replicated"),
        ("unavailable", "unavailable"),
    ):
        assert keys(snapshot, filter_name) == set(described(folder, f"topics-{listing}-partitions")), listing
    topic_ids = dict(
        zip(snapshot.partitions["topic"].to_list(), snapshot.partitions["topic_id"].to_list(), strict=True)
    )
    text = (GOLDEN / folder / "topics-describe.txt").read_text()
    assert {topic: topic_id for topic, topic_id in topic_ids.items() if topic_id} == dict(HEADER.findall(text))


@pytest.mark.parametrize("folder", RECORDED)
def test_it_says_what_the_brokers_answered_an_admin_client(folder: str) -> None:
    snapshot = read_dump(str(GOLDEN / folder / "znodes.json"))
    answers = json.loads((GOLDEN / folder / "api-responses.json").read_text())
    cluster = answers["describe_cluster"]
    assert snapshot.cluster_id == cluster["cluster_id"]
    assert snapshot.controller == cluster["controller_id"]
    alive = {
        row["broker"]: (row["host"], row["port"], row["rack"])
        for row in snapshot.brokers.rows()
        if row["alive"] is True
    }
    assert alive == {one["broker_id"]: (one["host"], one["port"], one["rack"]) for one in cluster["brokers"]}
    epochs = {
        (topic["name"], one["partition_index"]): one["leader_epoch"]
        for topic in answers["describe_topics"]
        for one in topic["partitions"]
    }
    assert {(row["topic"], row["partition"]): row["leader_epoch"] for row in snapshot.partitions.rows()} == epochs
    assert snapshot.controller_epoch == 1
    assert snapshot.gaps == ()


def test_settings_of_topics_and_their_part_in_health() -> None:
    snapshot = read_dump(str(GOLDEN / "kafka-3.9.2/2-broker-killed/znodes.json"))
    expected: dict[tuple[str, str], str] = {}
    topic = ""
    for line in (GOLDEN / "kafka-3.9.2/2-broker-killed/configs-topics.txt").read_text().splitlines():
        if heading := re.match(r"Dynamic configs for topic (\S+) are:", line):
            topic = heading[1]
        elif setting := OVERRIDE.match(line):
            expected[topic, setting[1]] = setting[2]
    rows = [row for row in snapshot.configs.rows() if row["entity"] != "to-be-deleted"]
    assert {(row["entity"], row["name"]): row["value"] for row in rows} == expected
    assert {(row["entity_type"], row["origin"]) for row in rows} == {("topic", "topic")}
    assert snapshot.partition("audit.log", 0)["min_isr"] == 3
    assert snapshot.partition("orders", 0)["min_isr"] is None
    assert snapshot.partition("__transaction_state", 0)["unclean_leader_election"] is False
    note = (
        "min.insync.replicas is not known for 83 of 135 partitions: nobody set it dynamically, and brokers' files are"
        " not in ZooKeeper"
    )
    assert note in snapshot.notes


def test_a_topic_that_is_being_deleted_is_left_out_as_brokers_leave_it_out() -> None:
    snapshot = read_dump(str(GOLDEN / "kafka-3.9.2/2-broker-killed/znodes.json"))
    assert "to-be-deleted" not in snapshot.partitions["topic"].to_list()
    assert "1 topic marked for deletion, left out: to-be-deleted" in snapshot.notes


def test_versions_of_states_are_partition_epochs() -> None:
    folder = GOLDEN / "kafka-3.9.2/2-broker-killed"
    snapshot = read_dump(str(folder / "znodes.json"))
    exported = json.loads((folder / "znodes.json").read_text())
    for row in snapshot.partitions.rows():
        one = exported[f"/brokers/topics/{row['topic']}/partitions/{row['partition']}/state"]
        assert row["partition_epoch"] == one["stat"]["version"]
        assert row["leader_epoch"] == json.loads(one["data"])["leader_epoch"]
        assert (row["recovery_state"], row["offline_replicas"], row["elr"]) == (0, None, None)


def test_notifications_of_an_old_protocol_are_counted() -> None:
    folder = GOLDEN / "kafka-3.9.2-ibp-0.10.0"
    exported = json.loads((folder / "2-broker-killed/znodes.json").read_text())
    seen = json.loads((folder / "isr-change-notifications.json").read_text())
    exported |= {one["path"]: {"data": one["data"], "stat": {"version": 0}} for one in seen}
    count = len({one["path"] for one in seen})
    assert count > 1
    snapshot = read(exported)
    assert f"{count} ISR change notifications waiting for the controller" in snapshot.notes


Document = dict[str, Any]
_folder: list[Path] = []


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    _folder[:] = [tmp_path]
    return tmp_path


def read(document: Document | str) -> ClusterSnapshot:
    path = _folder[0] / "znodes.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return read_dump(str(path))


def znode(value: object, version: int = 0) -> dict[str, object]:
    return {"data": value if isinstance(value, str) else json.dumps(value), "stat": {"version": version}}


def cluster(**more: object) -> Document:
    """Two brokers, one topic ``t`` of one partition; ``more`` by path with __ for /."""
    document: Document = {
        "/brokers/ids": {"data": None, "stat": {"version": 0}},
        "/brokers/ids/1": znode({"version": 1, "host": "one", "port": 9092, "jmx_port": -1}),
        "/brokers/ids/2": znode(
            {"version": 3, "host": None, "port": -1, "endpoints": ["SSL://[::1]:9093"], "rack": "b"}
        ),
        "/brokers/topics": {"data": None, "stat": {"version": 0}},
        "/brokers/topics/t": znode({"version": 1, "partitions": {"0": [1, 2]}}),
        "/brokers/topics/t/partitions/0/state": znode({"leader": 1, "leader_epoch": 4, "isr": [1], "version": 1}, 9),
        "/controller": znode({"version": 1, "brokerid": 2, "timestamp": "0"}),
    }
    for path, value in more.items():
        document[path.replace("__", "/")] = value
    return document


def test_every_version_of_a_broker_has_its_address() -> None:
    brokers = {row["broker"]: (row["host"], row["port"], row["rack"]) for row in read(cluster()).brokers.rows()}
    assert brokers == {1: ("one", 9092, None), 2: ("::1", 9093, "b")}


def test_a_reassignment_before_kafka_2_4_is_seen_by_its_target() -> None:
    target = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 1]}]}
    snapshot = read(cluster(__admin__reassign_partitions=znode(target)))
    row = snapshot.partition("t", 0)
    assert (row["adding"], row["removing"]) == (None, [2])
    assert keys(snapshot, "reassigning") == {("t", 0)}
    assert "1 partition in /admin/reassign_partitions" in snapshot.notes
    still = read(cluster()).partition("t", 0)
    assert (still["adding"], still["removing"]) == ([], [])


def test_dynamic_settings_of_brokers_hold_where_the_topic_has_none() -> None:
    def setting(value: str) -> dict[str, object]:
        return znode({"version": 1, "config": {"min.insync.replicas": value, "ssl.key.password": "s3cret"}})

    document = cluster()
    document["/config/brokers/<default>"] = setting("2")
    assert read(document).partition("t", 0)["min_isr"] == 2
    document["/config/brokers/1"] = setting("3")
    assert read(document).partition("t", 0)["min_isr"] == 3
    document["/config/topics/t"] = setting("4")
    snapshot = read(document)
    assert snapshot.partition("t", 0)["min_isr"] == 4
    found = {
        (row["entity_type"], row["entity"], row["name"], row["value"], row["origin"]) for row in snapshot.configs.rows()
    }
    assert ("broker-default", "", "min.insync.replicas", "2", "cluster-dynamic") in found
    assert ("broker", "1", "ssl.key.password", None, "broker-dynamic") in found
    assert "s3cret" not in str(found)


def test_a_partition_without_a_state_has_no_leader_and_is_named() -> None:
    document = cluster()
    document["/brokers/topics/t"] = znode({"version": 1, "partitions": {"0": [1, 2], "1": [2, 1]}})
    snapshot = read(document)
    row = snapshot.partition("t", 1)
    assert (row["leader"], row["leader_epoch"], row["partition_epoch"], row["isr"]) == (-1, None, None, [])
    assert "1 partition without a state znode, being created: t-1" in snapshot.notes


def test_a_missing_controller_and_a_move_to_kraft_are_told() -> None:
    document = cluster()
    del document["/controller"]
    assert any("no broker is the controller" in note for note in read(document).notes)
    document["/controller"] = znode({"version": 2, "brokerid": 3000, "kraftControllerEpoch": 5})
    assert any("has moved to KRaft" in note for note in read(document).notes)


def test_a_recovering_partition_and_finalized_features() -> None:
    state = {"leader": 1, "leader_epoch": 4, "isr": [1], "leader_recovery_state": 1}
    document = cluster()
    document["/brokers/topics/t/partitions/0/state"] = znode(state)
    document["/feature"] = znode({"version": 2, "status": 1, "features": {"a": 3, "b": {"max_version_level": 7}}})
    snapshot = read(document)
    assert snapshot.partition("t", 0)["recovery_state"] == 1
    assert snapshot.features == {"a": 3, "b": 7}


def test_a_chroot_is_found_and_brokers_that_are_not_listed_are_not_called_dead() -> None:
    document = {f"/kafka/eu{path}": one for path, one in cluster().items()}
    assert read(document).partition("t", 0)["partition_epoch"] == 9
    without = {path: one for path, one in cluster().items() if not path.startswith("/brokers/ids")}
    assert {row["alive"] for row in read(without).brokers.rows()} == {None}


def test_gzip_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "znodes.json.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(cluster()).encode()))
    assert read_dump(str(path)).source == "znode-json"


def without(path: str) -> Callable[[Document], None]:
    return lambda document: document.__delitem__(path)


def with_(path: str, value: object) -> Callable[[Document], None]:
    return lambda document: document.__setitem__(path, value)


BROKEN: dict[str, tuple[Callable[[Document], None], str]] = {
    "no topics": (without("/brokers/topics"), "no Kafka cluster is in it"),
    "no states": (without("/brokers/topics/t/partitions/0/state"), "it has topics and no partition state"),
    "two clusters": (with_("/b/brokers/topics", znode("")), "it holds several clusters, below /, /b"),
    "no version": (with_("/x", {"data": "", "stat": {}}), "object missing required field `version`"),
    "a state cut short": (
        with_("/brokers/topics/t/partitions/0/state", znode('{"leader":1')),
        "state; not what Kafka writes there: input data was truncated",
    ),
    "an empty state": (with_("/brokers/topics/t/partitions/0/state", znode("")), "it is empty"),
    "a leader in words": (
        with_("/brokers/topics/t/partitions/0/state", znode({"leader": "one", "leader_epoch": 0, "isr": []})),
        "expected `int`, got `str`",
    ),
    "a partition that is no number": (
        with_("/brokers/topics/t", znode({"partitions": {"0": [1], "x": [1]}})),
        "/brokers/topics/t; not what Kafka writes there: partition 'x' is no number",
    ),
    "a broker that is no number": (with_("/brokers/ids/one", znode({})), "its name is no broker id"),
    "a replica beyond all ids": (with_("/brokers/topics/t", znode({"partitions": {"0": [2**31]}})), "<= 2147483647"),
    "an epoch in words": (with_("/controller_epoch", znode('"x"')), "/controller_epoch; not what Kafka writes there"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_damaged_export_is_refused_with_the_place(case: str) -> None:
    document = cluster()
    change, reason = BROKEN[case]
    change(document)
    with pytest.raises(InputError) as caught:
        read(document)
    assert reason in str(caught.value)
    assert "znodes.json" in str(caught.value)


def test_an_export_cut_off_anywhere_is_refused() -> None:
    text = json.dumps(cluster())
    for end in range(4, len(text), 7):
        with pytest.raises(InputError):
            read(text[:end])


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["partitions", "0", "isr"]), inner),
    max_leaves=5,
)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_a_znode_is_read_or_refused(data: st.DataObject) -> None:
    """Nothing that a znode may hold is a defect of kreplica: no other exception comes out."""
    document = cluster(__admin__reassign_partitions=znode({"version": 1, "partitions": []}))
    document |= {
        "/config/topics/t": znode({"version": 1, "config": {}}),
        "/feature": znode({"status": 1, "features": {}}),
    }
    path = data.draw(st.sampled_from(sorted(document)))
    value = json.loads(str(document[path]["data"])) if document[path]["data"] else {}
    if value and data.draw(st.booleans()):
        value[data.draw(st.sampled_from(sorted(value)))] = data.draw(ANY_JSON)
    else:
        value = data.draw(ANY_JSON)
    document[path] = znode(value, data.draw(st.integers(0, 2**31 - 1)))
    with contextlib.suppress(InputError):
        assert len(read(document).partitions) <= 2
