"""kreplica imbalance: verdicts, what the controller does, several clusters, exit codes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table
from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parents[2] / "golden"
LINE = re.compile(r"\tTopic: \S+\tPartition: \d+\tLeader: (\S+)\tReplicas: (\d+)")
BROKERS = [{"broker": broker, "alive": True, "rack": f"r{broker}"} for broker in (1, 2, 3)]


def dump(folder: Path, *rows: dict[str, Any], **facts: Any) -> Path:
    numbered = [row | {"partition": number} for number, row in enumerate(rows)]
    write_snapshot(snapshot_of(numbered, BROKERS, source="kafka", **facts), folder)
    return folder


@pytest.mark.parametrize("stage", ["1-healthy", "2-broker-killed", "3-broker-back", "5-elected"])
@pytest.mark.parametrize("cluster", ["kafka-4.3.1", "kafka-3.9.2"])
def test_counts_are_those_of_kafkas_own_listing(kreplica: Any, cluster: str, stage: str) -> None:
    text = GOLDEN / cluster / stage / "topics-describe.txt"
    leaders = LINE.findall(text.read_text())
    document = kreplica("imbalance", "--dump", text, "-o", "json").document
    for row in document["brokers"]:
        mine = [leader for leader, preferred in leaders if preferred == str(row["broker"])]
        assert row["preferred_partitions"] == len(mine)
        assert row["non_preferred"] == sum(leader != str(row["broker"]) for leader in mine)
        assert row["leaders"] == sum(leader == str(row["broker"]) for leader, _ in leaders)
    assert document["summary"]["imbalance_count"] == sum(leader != preferred for leader, preferred in leaders)


def test_balanced_and_skewed(kreplica: Any, tmp_path: Path) -> None:
    even = [partition(replicas=[one, one % 3 + 1], isr=[one, one % 3 + 1], leader=one) for one in (1, 2, 3)]
    ended = kreplica("imbalance", "--dump", dump(tmp_path / "even", *even))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("BALANCED all 3 partitions are led by their preferred leader\n")
    ended = kreplica("imbalance", "--dump", dump(tmp_path / "skewed", *[partition()] * 9))
    assert ended.out.startswith("SKEWED all 9 partitions are led by their preferred leader, but brokers are uneven\n")
    assert "skew     leaders: 9 on broker 1, 0 on broker 2, even would be 3\n" in ended.out
    assert "the assignment is skewed: " in ended.out
    assert "next" not in ended.out


def test_what_could_be_elected_and_who_would(kreplica: Any, tmp_path: Path) -> None:
    off = {"name": "auto.leader.rebalance.enable", "value": "false", "origin": "broker-static"}
    configs = Table.from_rows(CONFIGS, [{"entity_type": "broker", "entity": "1"} | off])
    rows = [partition(leader=2), partition(leader=2), partition(leader=2, isr=[2, 3]), partition(leader=3, isr=[3])]
    path = dump(tmp_path / "dump", *rows, configs=configs, controller=1)
    ended = kreplica("imbalance", "--dump", path)
    assert ended.code == 1
    assert kreplica("imbalance", "--dump", path, "--exit-zero").code == 0
    assert ended.out.startswith(
        "IMBALANCED 4 of 4 partitions are not led by their preferred leader; 2 of them could be elected now\n"
    )
    assert "acts     the controller does nothing by itself: auto.leader.rebalance.enable is false\n" in ended.out
    assert "auto.leader.rebalance.enable=false (broker-static)\n" in ended.out
    assert "elect    2 electable now: orders 0,1\n" in ended.out
    assert "2 not now, the replica on broker 1 is not in sync: orders 2,3\n" in ended.out
    assert ended.out.endswith(f"next     kreplica rebalance leaders --dump {path}\n")
    document = kreplica("imbalance", "--dump", path, "-o", "json").document
    first = document["brokers"][0]
    assert (first["non_preferred"], first["ratio"], first["electable"]) == (4, 1.0, 2)
    assert (first["controller_would_act"], first["reason"]) == (False, "auto.leader.rebalance.enable is false")
    assert document["summary"]["non_preferred"][2] == {
        "topic": "orders",
        "partition": 2,
        "leader": 2,
        "preferred": 1,
        "obstacle": "the replica on broker 1 is not in sync",
    }


def test_incomplete(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("imbalance", "--dump", dump(tmp_path / "hidden", partition(), gaps=(hidden(2),)))
    assert (ended.code, ended.out.startswith("INCOMPLETE ")) == (5, True)
    assert "missing  2 topics are hidden [from you]\n" in ended.out
    ended = kreplica("imbalance", "--dump", dump(tmp_path / "unknown", partition(leader=None)))
    assert (ended.code, "the leader of 1 partition is not known" in ended.out) == (5, True)


def test_no_such_topic(kreplica: Any) -> None:
    ended = kreplica("imbalance", "--dump", "sample", "--topic", "nothing")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)


def test_znodes_show_that_the_controller_is_zookeepers(kreplica: Any) -> None:
    ended = kreplica("imbalance", "--dump", GOLDEN / "kafka-3.9.2" / "4-reassigning" / "znodes.json")
    assert "acts     a ZooKeeper controller elects every 300 s those that may lead of brokers whose" in ended.out
    assert "KRaft" not in ended.out
