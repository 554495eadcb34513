"""kreplica rebalance leaders without a cluster: the dry run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parents[2] / "golden"
BACK = GOLDEN / "kafka-4.3.1" / "3-broker-back"
LINE = re.compile(r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\d+)\tReplicas: (\d+)\S*\tIsr: (\S*)")


@pytest.mark.parametrize("cluster", ["kafka-4.3.1", "kafka-3.9.2", "kafka-3.9.2-ibp-1.1"])
def test_all_leaders_that_a_returned_broker_has_lost_can_be_elected(kreplica: Any, cluster: str) -> None:
    text = GOLDEN / cluster / "3-broker-back" / "topics-describe.txt"
    lost = {
        (topic, int(number), int(leader), int(first))
        for topic, number, leader, first, isr in LINE.findall(text.read_text())
        if leader != first and first in isr.split(",")
    }
    assert lost
    ended = kreplica("rebalance", "leaders", "--dump", text, "-o", "json")
    rows = ended.document["elections"]
    assert {(row["topic"], row["partition"], row["from"], row["to"]) for row in rows} == lost
    assert all(row["electable"] is True and row["done"] is None and row["leader_after"] is None for row in rows)
    summary = ended.document["summary"]
    assert (summary["executed"], summary["electable"], summary["not_electable"]) == (False, len(lost), 0)
    assert ended.code == 0


def test_a_dead_broker_can_lead_nothing(kreplica: Any) -> None:
    ended = kreplica("rebalance", "leaders", "--dump", "sample", "--topic", "orders|single.*")
    assert ended.code == 0
    assert ended.out == (
        "DRY RUN 0 of 4 can be elected now; nothing was changed\n"
        "TOPIC        PARTITION  FROM  TO  ELECTABLE  REASON\n"
        "orders       0          1     3   no         broker 3 is not alive\n"
        "orders       5          1     3   no         broker 3 is not alive\n"
        "single-copy  0          -     3   no         broker 3 is not alive\n"
        "single-copy  2          -     3   no         broker 3 is not alive\n"
    )


def test_a_dry_run_of_a_dump_says_what_would_do_it(kreplica: Any) -> None:
    ended = kreplica("rebalance", "leaders", "--dump", BACK / "topics-describe.txt", "--topic", "orders")
    assert ended.out.startswith("DRY RUN 2 of 2 can be elected now; nothing was changed\n")
    assert ended.out.endswith(
        "next     kreplica rebalance leaders --bootstrap-server HOST:PORT --topic orders --execute\n"
    )


def test_nothing_to_do(kreplica: Any, tmp_path: Path) -> None:
    write_snapshot(snapshot_of([partition()]), tmp_path)
    ended = kreplica("rebalance", "leaders", "--dump", tmp_path)
    assert (ended.code, ended.out) == (0, "BALANCED every partition is led by its preferred leader\n")


def test_what_could_not_be_seen_exits_5(kreplica: Any, tmp_path: Path) -> None:
    write_snapshot(snapshot_of([partition(leader=2)], gaps=(hidden(2),)), tmp_path)
    ended = kreplica("rebalance", "leaders", "--dump", tmp_path)
    assert ended.code == 5
    assert ended.err == "warning: 2 topics are hidden [from you]\n"


def test_one_cluster_at_a_time(kreplica: Any, tmp_path: Path) -> None:
    contexts = tmp_path / "contexts.toml"
    contexts.write_text("".join(f'[contexts.{name}]\nbootstrap_servers = "127.0.0.1:1"\n' for name in ("eu", "us")))
    ended = kreplica("rebalance", "leaders", "--config", contexts, "--context", "*")
    assert ended.code == 2
    assert ended.err == "error: 2 clusters are named; eu, us; a change is made to one cluster at a time\n"
