"""kreplica rebalance replicas as a user runs it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from commands.main import run
from kreplica.sources.dumps.dump import read_sample

HEALTHY = ["--dump", "sample-healthy"]


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run(["rebalance", "replicas", *words, "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_leaders_are_spread_evenly_without_a_move(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = ask(capsys, "--balance", "leaders", *HEALTHY)
    assert code == 0
    assert (document["summary"]["moves"], document["summary"]["bytes"]) == (0, 0)
    led: Counter[int] = Counter()
    changed = {(row["topic"], row["partition"]): row["to_replicas"] for row in document["moves"]}
    partitions = read_sample("sample-healthy").partitions
    for row in partitions.rows():
        led[changed.get((row["topic"], row["partition"]), row["replicas"])[0]] += 1
    assert max(led.values()) - min(led.values()) <= 1


def test_a_repair_names_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = ask(capsys, "--repair", "3", "--dump", "sample")
    assert code == 1
    planned = [row for row in document["moves"] if row["planned"]]
    assert [(row["topic"], row["adding"], row["removing"]) for row in planned] == [("two-copies", [2], [3])]
    assert all(row["reason"] for row in document["moves"] if not row["planned"])
    assert document["summary"]["leaderless"] == ["single-copy-0", "single-copy-2"]


def test_the_file_for_kafkas_tool_comes_back_as_the_same_plan(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "moves.json"
    _, first = ask(capsys, "--balance", "leaders", *HEALTHY, "--reassignment-json", str(file))
    assert json.loads(file.read_text(encoding="utf-8"))["version"] == 1
    code, second = ask(capsys, "--from-reassignment-json", str(file), *HEALTHY)
    assert code == 0
    assert second["moves"] == first["moves"]
    assert run(["rebalance", "replicas", "--rack-aware", *HEALTHY, "--reassignment-json", str(file)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert run(["rebalance", "replicas", "--rack-aware", *HEALTHY, "--reassignment-json", str(file), "--force"]) == 0
    assert json.loads(file.read_text(encoding="utf-8"))["partitions"] == []


def test_the_same_question_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "rebalance",
        "replicas",
        "--balance",
        "leaders",
        "--balance",
        "count",
        *HEALTHY,
        "--seed",
        "3",
        "-o",
        "csv",
    ]
    answers = []
    for _ in range(2):
        run(words)
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def test_limits_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--balance", "leaders", *HEALTHY, "--max-leader-changes", "2", "--max-moves", "0", "--max-bytes", "0"]
    code, document = ask(capsys, *words)
    assert (code, document["summary"]["leader_changes"]) == (1, 2)
    reasons = {row["reason"] for row in document["moves"] if not row["planned"]}
    assert reasons == {"above --max-leader-changes 2"}


def test_topics_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = ask(capsys, "--balance", "leaders", *HEALTHY, "--topic", "__.*", "--exclude-topic", ".*offsets")
    assert {row["topic"] for row in document["moves"]} <= {"__transaction_state", "__share_group_state"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no reason to move replicas is given"),
        (["--drain", "9"], "no broker 9"),
        (["--drain", "1,2,3"], "no broker may receive a replica"),
        (["--add", "x"], "--add"),
        (["--rack-aware", "--to", "7"], "no broker 7"),
        (["--rack-aware", "--exclude-broker", "8"], "no broker 8"),
        (["--rack-aware", "--topic", "nothing"], "no topic is left"),
        (["--replication-factor", "0"], "--replication-factor"),
        (["--balance", "colour"], "--balance"),
        (["--rack-aware", "--from-reassignment-json", "no-such-file"], "exclude each other"),
        (["--from-reassignment-json", "no-such-file"], "cannot read no-such-file"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rebalance", "replicas", *words, *HEALTHY]) == 2
    assert said in capsys.readouterr().err


def test_a_file_with_an_unknown_broker_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "moves.json"
    partition = {"topic": "orders", "partition": 0, "replicas": [1, 9]}
    file.write_text(json.dumps({"version": 1, "partitions": [partition]}), encoding="utf-8")
    assert run(["rebalance", "replicas", "--from-reassignment-json", str(file), *HEALTHY]) == 2
    assert "no broker 9" in capsys.readouterr().err


def test_a_proof_says_that_nothing_less_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--drain", "3", "--topic", "two-copies", *HEALTHY, "--prove"]
    code, document = ask(capsys, *words, "--out", str(tmp_path / "plan.json"))
    assert code == 0
    certificate = document["summary"]["certificate"]
    drained = sum(3 in row["from_replicas"] for row in document["moves"])
    bounds = [(one["quantity"], one["value"], one["lower_bound"], one["gap"]) for one in certificate["bounds"]]
    size = document["summary"]["bytes"]
    assert drained > 0
    assert bounds == [("moves", drained, drained, 0), ("bytes", size, size, 0)]
    assert certificate["optimal"] is True
    assert f'"lower_bound":{drained}' in (tmp_path / "plan.json").read_text(encoding="utf-8").replace(" ", "")
    assert run(["rebalance", "replicas", *words]) == 0
    assert "proof" in capsys.readouterr().out


def test_a_replication_factor_that_cannot_be_had_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rebalance", "replicas", "--replication-factor", "4", *HEALTHY]) == 2
    assert "replication factor 4 is more than the 3 brokers" in capsys.readouterr().err
    assert run(["rebalance", "replicas", "--replication-factor", "1", "--topic", "two-copies", *HEALTHY]) == 2
    assert "below min.insync.replicas" in capsys.readouterr().err
