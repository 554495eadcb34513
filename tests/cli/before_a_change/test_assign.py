"""kreplica assign as a user runs it."""

from __future__ import annotations

import json

import pytest

from commands.main import run
from kreplica.planner.topic_placement import seed_of

SIX = ["--partitions", "6", "--replication-factor", "3"]
HEALTHY = ["--dump", "sample-healthy"]


def test_the_command_creates_the_topic_with_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", "invoices", *SIX, *HEALTHY, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    replicas = [row["replicas"] for row in document["partitions"]]
    assert document["summary"]["replica_assignment"] == ",".join(":".join(map(str, one)) for one in replicas)
    assert all(sorted(row["racks"]) == ["r1", "r2", "r3"] for row in document["partitions"])
    assert (document["summary"]["algorithm"], document["summary"]["seed"]) == ("striped", seed_of("invoices"))
    assert [(one["leaders"], one["replicas"]) for one in document["summary"]["brokers"]] == [(2, 6)] * 3


def test_the_screen_ends_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", "invoices", "--partitions", "1", "--replication-factor", "1", *HEALTHY]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert "kafka-topics.sh --bootstrap-server HOST:PORT --create --topic invoices --replica-assignment " in last


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["orders", *SIX, *HEALTHY], "topic orders exists"),
        (["in voices", *SIX, *HEALTHY], "in voices is no name of a topic"),
        (["invoices", "--partitions", "6", "--replication-factor", "4", *HEALTHY], "the cluster has 3 registered"),
        (["invoices", "--partitions", "0", "--replication-factor", "3", *HEALTHY], "--partitions"),
        (["invoices", *SIX, "--algorithm", "rack-aware", "--dump", "sample"], "the cluster has 2 live brokers"),
    ],
)
def test_what_cannot_be_placed_ends_with_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assign", *words]) == 2
    assert said in capsys.readouterr().err


def test_brokers_that_a_text_names_may_be_dead(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "Topic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    dump = tmp_path_factory.mktemp("dump") / "describe.txt"
    dump.write_text(text, encoding="utf-8")
    words = ["assign", "invoices", "--partitions", "2", "--replication-factor", "2", "--dump", str(dump)]
    assert run(words) == 5
    out = capsys.readouterr().out
    assert out.startswith("INCOMPLETE ")
    assert "missing  whether brokers 1, 2 can take replicas is not known" in out
