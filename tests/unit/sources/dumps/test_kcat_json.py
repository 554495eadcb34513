"""kcat's JSON against Kafka's own tool on the same cluster in the same state, and documents that are not whole."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.describe import read_describe_text
from kreplica.sources.dumps.kcat import read_kcat_json
from kreplica.sources.dumps.text import DumpText

GOLDEN = Path(__file__).parents[3] / "golden"
NOW = datetime(2026, 11, 21, 7, 0, tzinfo=UTC)
DOCUMENT = json.loads((GOLDEN / "kcat" / "trouble.json").read_text(encoding="utf-8"))


def parse(document: object) -> ClusterSnapshot:
    text = document if isinstance(document, str) else json.dumps(document)
    return read_kcat_json(DumpText("kcat.json", text, NOW))


def recorded(name: str) -> ClusterSnapshot:
    return parse((GOLDEN / "kcat" / name).read_text(encoding="utf-8"))


def by_key(snapshot: ClusterSnapshot) -> dict[tuple[str, int], dict]:
    return {(row["topic"], row["partition"]): row for row in snapshot.partitions.rows()}


@pytest.mark.parametrize("state", ["healthy", "trouble", "moving"])
def test_partitions_equal_kafkas_own_tool(state: str) -> None:
    text = (GOLDEN / "describe-layouts" / state / "3.9.2.txt").read_text(encoding="utf-8")
    told = by_key(read_describe_text(DumpText("tool", text, NOW)))
    read = by_key(recorded(f"{state}.json"))
    assert read.keys() == told.keys()
    for key, row in read.items():
        assert (row["leader"], row["replicas"]) == (told[key]["leader"], told[key]["replicas"])
        assert set(row["isr"]) == set(told[key]["isr"])


def test_what_kcat_does_not_tell_is_null() -> None:
    unknown = {
        "topic_id", "leader_epoch", "partition_epoch", "elr", "last_known_elr", "adding", "removing",
        "offline_replicas", "recovery_state", "min_isr", "unclean_leader_election", "log_start_offset",
        "high_watermark", "end_offset",
    }  # fmt: skip
    for row in recorded("trouble.json").partitions.rows():
        assert {name for name, value in row.items() if value is None} == unknown


def test_brokers_that_are_not_listed_are_not_alive() -> None:
    """Broker 3 had been killed; 1 was the controller (kcat -L of the same state says so, in kcat/plain.txt)."""
    snapshot = recorded("trouble.json")
    brokers = {row["broker"]: (row["host"], row["port"], row["alive"]) for row in snapshot.brokers.rows()}
    assert brokers == {1: ("127.0.0.1", 21091, True), 2: ("127.0.0.1", 21092, True), 3: (None, None, False)}
    plain = (GOLDEN / "kcat" / "plain.txt").read_text(encoding="utf-8")
    assert "broker 1 at 127.0.0.1:21091 (controller)" in plain
    assert "broker 3" not in plain
    assert snapshot.controller == 1


def test_a_leaderless_partition_is_no_gap() -> None:
    snapshot = recorded("trouble.json")
    assert snapshot.partition("single-copy", 0)["leader"] == -1
    assert snapshot.gaps == ()
    assert snapshot.notes == ()


def test_lines_of_librdkafka_are_left_out_and_counted() -> None:
    snapshot = recorded("stderr.json")
    assert list(snapshot.partitions.rows()) == list(recorded("moving.json").partitions.rows())
    assert snapshot.notes == ("left out 1 line of log output in the dump",)


def test_a_question_for_one_topic_is_noted() -> None:
    snapshot = recorded("one-topic.json")
    assert {key[0] for key in by_key(snapshot)} == {"orders"}
    assert snapshot.notes == ("kcat was asked for topic orders only",)


def test_an_unknown_topic_is_a_failed_request() -> None:
    snapshot = recorded("unknown-topic.json")
    assert len(snapshot.partitions) == 0
    assert [(gap.kind, gap.count) for gap in snapshot.gaps] == [("failed-request", 1)]
    assert "nope (Broker: Unknown topic or partition)" in snapshot.gaps[0].message


def test_topics_one_may_not_describe_are_hidden_topics() -> None:
    document = copy.deepcopy(DOCUMENT)
    for name in "abcd":
        document["topics"].append({"topic": name, "error": "Broker: Topic authorization failed", "partitions": []})
    gaps = parse(document).gaps
    assert [(gap.kind, gap.count) for gap in gaps] == [("hidden-topics", 4)]
    assert gaps[0].message == "no permission to describe a, b, c and 1 more"


def test_replicas_that_an_old_broker_leaves_out_are_a_gap() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["topics"][1]["partitions"][0]["error"] = "Broker: Replica not available"
    document["topics"][1]["partitions"][1]["error"] = "Broker: Unknown server error"
    gaps = parse(document).gaps
    assert [(gap.kind, gap.count) for gap in gaps] == [("failed-request", 1), ("failed-request", 1)]
    assert gaps[0].message == "dead replicas are left out of moving-0"
    assert gaps[1].message == "errors for moving-1 (Broker: Unknown server error)"


def test_older_kcat_tells_no_controller() -> None:
    document = {name: value for name, value in DOCUMENT.items() if name in ("brokers", "topics")}
    assert parse(document).controller is None
    assert parse({**document, "controllerid": -1}).controller is None
    assert parse({**document, "controllerid": 0}).controller == 0


def test_a_cluster_without_topics_is_empty() -> None:
    assert len(parse({**DOCUMENT, "topics": []}).partitions) == 0


def test_ipv6_hosts_keep_their_colons() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["brokers"][0]["name"] = "::1:9092"
    document["brokers"][1]["name"] = "nameless"
    rows = {row["broker"]: (row["host"], row["port"]) for row in parse(document).brokers.rows()}
    assert rows[2] == ("::1", 9092)
    assert rows[1] == ("nameless", None)


def changed(path: list[str | int], value: object) -> dict:
    document = copy.deepcopy(DOCUMENT)
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


PARTITION = ["topics", 2, "partitions", 1]


@pytest.mark.parametrize(
    ("document", "position", "reason"),
    [
        (changed(["brokers"], None), "$", "missing required field `brokers`"),
        (changed(["topics"], None), "$", "missing required field `topics`"),
        (changed(["brokers", 0, "id"], "2"), "$.brokers[0].id", "expected `int`, got `str`"),
        (changed(["brokers", 0, "id"], 1), "$.brokers", "1 stands there twice"),
        (changed(["brokers", 0, "id"], -4), "$.brokers", "-4 is no id"),
        (changed(["topics", 1, "topic"], "orders"), "$.topics", "topic orders stands there twice"),
        (changed([*PARTITION, "leader"], None), "$.topics[2].partitions[1]", "missing required field `leader`"),
        (changed([*PARTITION, "leader"], -2), "$.topics[2].partitions[1].leader", "-2 is neither a broker id nor -1"),
        (changed([*PARTITION, "leader"], 2**31), "$.topics[2].partitions[1].leader", "neither"),
        (changed([*PARTITION, "partition"], 0), "$.topics[2].partitions", "0 stands there twice"),
        (changed([*PARTITION, "replicas"], [1, 2]), "$.topics[2].partitions[1].replicas[0]", "expected `object`"),
        (
            changed([*PARTITION, "isrs"], [{"id": 1}, {"id": 1}]),
            "$.topics[2].partitions[1].isrs",
            "1 stands there twice",
        ),
        (changed([*PARTITION, "isrs"], [{"id": 2**40}]), "$.topics[2].partitions[1].isrs", "is no id of Kafka's"),
    ],
)
def test_a_document_that_kcat_would_not_print_is_refused_with_the_place(
    document: dict, position: str, reason: str
) -> None:
    with pytest.raises(InputError, match=r"cannot read kcat\.json") as caught:
        parse(document)
    assert caught.value.position == position
    assert reason in str(caught.value)


def test_a_document_cut_anywhere_is_refused() -> None:
    text = json.dumps(DOCUMENT)
    for end in range(1, len(text)):
        with pytest.raises(InputError):
            parse(text[:end])


@examples(3)
@given(st.integers(0, 2000), st.integers(0, 20), st.text(max_size=6))
def test_an_edit_raises_nothing_but_input_errors(at: int, removed: int, inserted: str) -> None:
    text = json.dumps(DOCUMENT)
    at %= len(text)
    try:
        parse(text[:at] + inserted + text[at + removed :])
    except InputError:
        return
