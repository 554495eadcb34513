"""kreplica compare on recorded dumps and contexts; tests/kafka has it on live clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-3.9.2"
ZNODES = f"dump:{GOLDEN}/2-broker-killed/znodes.json"
TEXT = f"dump:{GOLDEN}/2-broker-killed/topics-describe.txt"
LATER = f"dump:{GOLDEN}/4-reassigning/znodes.json"


def test_views_of_one_moment_agree_and_what_cannot_be_known_is_counted(kreplica: Any) -> None:
    ended = kreplica("compare", ZNODES, TEXT, "-o", "json")
    assert ended.code == 0
    assert ended.document["schema"] == "kreplica/compare/v1"
    assert ended.document["differences"] == []
    assert ended.document["summary"]["partitions"] == 135
    assert ended.document["summary"]["not_comparable"]["leader_epoch"] == 135
    assert [one["source"] for one in ended.document["clusters"]] == ["znode-json", "describe-text"]
    assert kreplica("compare", ZNODES, TEXT).out.startswith("SAME both sides agree on 135 partitions and 3 brokers\n")


def test_a_later_view_is_newer_by_its_epochs(kreplica: Any) -> None:
    ended = kreplica("compare", ZNODES, LATER, "-o", "json")
    assert ended.code == 1
    rows = ended.document["differences"]
    moved = [row for row in rows if (row["topic"], row["partition"], row["field"]) == ("bulk-move", 0, "adding")]
    assert moved == [
        {
            "topic": "bulk-move",
            "partition": 0,
            "broker": None,
            "field": "adding",
            "left": "none",
            "right": "3",
            "newer": moved[0]["newer"],
            "lasting": None,
            "meaning": moved[0]["meaning"],
        }
    ]
    assert {row["newer"] for row in rows if row["field"] == "partition_epoch"} == {"right"}
    screen = kreplica("compare", ZNODES, LATER)
    assert screen.out.startswith("DIFFERENT ")
    assert "; the left side is older\n" in screen.out
    assert "the left side is stale: partition epoch 1 there, 2 on the right" in screen.out


@pytest.mark.parametrize("form", ["csv", "markdown", "jsonl"])
def test_flat_forms(form: str, kreplica: Any) -> None:
    ended = kreplica("compare", ZNODES, LATER, "-o", form)
    assert ended.code == 1
    assert "bulk-move" in ended.out


def test_contexts_and_their_zookeeper(kreplica: Any, tmp_path: Path) -> None:
    contexts = tmp_path / "contexts.toml"
    contexts.write_text(
        '[contexts.both]\nbootstrap_servers = "127.0.0.1:1"\nzookeeper = "127.0.0.1:2/k"\n'
        '[contexts.brokers]\nbootstrap_servers = "127.0.0.1:1"\n'
    )
    shared = ("--config", contexts, "--timeout", "0.5")
    ended = kreplica("compare", "context:both", ZNODES, *shared)
    assert (ended.code, "127.0.0.1:1" in ended.err) == (3, True)
    ended = kreplica("compare", "zookeeper-of:both", ZNODES, *shared)
    assert (ended.code, "ZooKeeper at 127.0.0.1:2 did not answer" in ended.err) == (3, True)
    ended = kreplica("compare", "zookeeper-of:brokers", ZNODES, *shared)
    assert (ended.code, "context brokers names no ZooKeeper" in ended.err) == (2, True)
    ended = kreplica("compare", "context:b*", ZNODES, *shared)
    assert (ended.code, "names 2 clusters; both, brokers" in ended.err) == (2, True)


@pytest.mark.parametrize("spec", ["", "dump", "dump:", "localhost:9092", "Dump:sample"])
def test_a_source_of_no_known_form(spec: str, kreplica: Any) -> None:
    ended = kreplica("compare", "dump:sample", spec)
    assert ended.code == 2
    assert "is no source; write bootstrap:HOST:PORT" in ended.err


def test_two_clusters_and_a_missing_file_are_refused(kreplica: Any) -> None:
    ended = kreplica("compare", "dump:sample", ZNODES, "-o", "json")
    assert (ended.code, json.loads(ended.out)["error"]["what"]) == (2, "these are two clusters")
    assert kreplica("compare", "dump:sample", "dump:nowhere").code == 2
    assert kreplica("compare", "dump:sample").code == 2


def test_a_side_that_could_not_be_read_whole_exits_5(kreplica: Any, tmp_path: Path) -> None:
    kcat = {
        "brokers": [],
        "topics": [{"topic": "hidden", "partitions": [], "error": "Broker: Topic authorization failed"}],
    }
    (tmp_path / "kcat.json").write_text(json.dumps(kcat))
    ended = kreplica("compare", f"dump:{tmp_path}/kcat.json", f"dump:{tmp_path}/kcat.json")
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE what could be read agrees")


def test_many_differences_are_gathered_on_the_screen(kreplica: Any) -> None:
    sources = ("compare", "dump:sample", "dump:sample-healthy", "--settle", "0")
    found = kreplica(*sources, "-o", "json").document["differences"]
    gathered, each = kreplica(*sources), kreplica(*sources, "--all")
    assert gathered.code == each.code == 1
    assert len(each.out.splitlines()) > len(found) > 300 > len(gathered.out.splitlines()) * 10
    told = next(line for line in gathered.out.splitlines() if "leader_epoch" in line)
    stale = [one for one in found if one["field"] == "leader_epoch"]
    assert f"leader, leader_epoch, isr, offline_replicas of {len(stale)} partitions (" in told
    assert told.endswith(stale[0]["meaning"])
    assert all(one["meaning"] in gathered.out for one in found)
