"""kreplica rebalance rehearse as a user runs it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from commands.main import run
from kreplica.execution.digest import write_document
from kreplica.sources.dumps.dump import read_sample

HEALTHY = ["--dump", "sample-healthy"]
LOSING = [*HEALTHY, "--set", "acks=1", "--runs", "3", "--seed", "3"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two partitions leave broker 1."""
    file = str(tmp_path_factory.mktemp("plans") / "moves.json")
    words = ["--drain", "1", "--topic", "two-copies", *HEALTHY, "--out", file, "-o", "json"]
    assert run(["rebalance", "replicas", *words]) == 0
    return file


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["rebalance", "rehearse", *words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_plan_that_loses_nothing_holds(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    code, out, _ = ask(capsys, plan, *HEALTHY, "--runs", "2", "-o", "json")
    document = json.loads(out)
    summary = document["summary"]
    assert (code, document["schema"], summary["verdict"]) == (0, "kreplica/rebalance-rehearse/v1", "HOLDS")
    assert (summary["runs"], summary["failing"], summary["wrong"]) == (2, 0, {})
    moves = {(row["topic"], row["partition"]): (row["from"], row["to"]) for row in document["moves"]}
    assert moves == {("two-copies", 0): ([3, 1], [3, 2]), ("two-copies", 1): ([1, 2], [3, 2])}
    assert summary["brokers"] == [1, 2, 3], "those of the moves"
    kinds = {one["kind"]: (one["moves"], one["played"]) for one in summary["kinds"]}
    min_isr = {
        row["min_isr"] for row in read_sample("sample-healthy").partitions.rows() if row["topic"] == "two-copies"
    }
    assert min_isr == {2}
    assert kinds == {"replaces-one": (2, 2), "leader": (1, 1), "min-isr-is-rf": (2, 2), "other-racks": (2, 2)}


def test_the_run_that_shows_a_loss_is_named_and_replayed(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    code, out, _ = ask(capsys, plan, *LOSING, "-o", "json")
    document = json.loads(out)
    worst = document["summary"]["worst"]
    assert (code, document["summary"]["verdict"]) == (1, "FAILS")
    row = next(one for one in document["moves"] if one["partition"] == worst["partition"])
    assert (row["lost"], row["worst_seed"]) == (len(worst["lost"]), worst["seed"])
    assert row["runs_lost"] == document["summary"]["wrong"]["lost"] == document["summary"]["failing"]
    assert worst["lost"][0] in worst["why"]
    assert [one["time_ms"] for one in worst["story"]] == sorted(one["time_ms"] for one in worst["story"])
    told = [one["what"] for one in worst["story"]]
    assert any(what.startswith(f"reassign: two-copies-{worst['partition']} to") for what in told)
    program, *words = shlex.split(worst["replay"])
    assert program == "kreplica"
    assert run([*words, "-o", "json"]) == 1
    again = json.loads(capsys.readouterr().out)["summary"]["worst"]
    assert again == worst


def test_the_screen_has_the_verdict_first_and_the_command_that_replays_last(
    capsys: pytest.CaptureFixture[str], plan: str
) -> None:
    code, out, _ = ask(capsys, plan, *LOSING)
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("FAILS ")
    assert " of 3 runs: acknowledged records lost in " in lines[0]
    assert lines[-1].startswith(
        f"next     kreplica rebalance rehearse {plan} --dump sample-healthy --set acks=1 --runs 1"
    )
    assert len(lines) < 20


def test_the_same_seed_gives_the_same_bytes(capsys: pytest.CaptureFixture[str], plan: str) -> None:
    words = [plan, *HEALTHY, "--runs", "2", "--seed", "5"]
    assert ask(capsys, *words)[1] == ask(capsys, *words)[1]


def test_another_number_of_failures_and_another_version_are_played_and_replayed(
    capsys: pytest.CaptureFixture[str], plan: str
) -> None:
    words = [plan, *HEALTHY, "--runs", "2", "--failures", "3", "--kafka-version", "3.9"]
    _, out, _ = ask(capsys, *words, "-o", "json")
    summary = json.loads(out)["summary"]
    assert (summary["version"], summary["failures"]) == ("3.9", 3)
    assert "--failures 3 --kafka-version 3.9 --runs 1" in summary["worst"]["replay"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "acks"], "--set acks is no setting"),
        (["--set", "no.such.setting=1"], "no.such.setting"),
        (["--kafka-version", "3.9-zebra"], "'3.9-zebra' is no version of Kafka"),
        (["--runs", "0"], "--runs"),
        (["--failures", "21"], "--failures"),
    ],
)
def test_bad_options_are_refused(capsys: pytest.CaptureFixture[str], plan: str, words: list[str], told: str) -> None:
    code, out, err = ask(capsys, plan, *HEALTHY, *words)
    assert (code, out) == (2, "")
    assert told in err


def test_a_plan_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str) -> None:
    leaders = tmp_path / "leaders.json"
    assert run(["rebalance", "leaders", "--dump", "sample", "--out", str(leaders)]) == 0
    text = Path(plan).read_text(encoding="utf-8")
    edited = tmp_path / "edited.json"
    edited.write_text(text.replace('"two-copies"', '"two-copses"'), encoding="utf-8")
    noise = tmp_path / "noise.json"
    noise.write_bytes(bytes(range(256)) * 100)
    for file in (leaders, edited, noise, tmp_path / "missing.json", tmp_path):
        code, out, err = ask(capsys, str(file), *HEALTHY)
        assert (code, out) == (2, ""), file
        assert err.startswith("error: "), file
        assert len(err.splitlines()) == 1, file


def test_a_plan_of_another_cluster_or_of_replicas_that_are_gone_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str
) -> None:
    document = json.loads(Path(plan).read_text(encoding="utf-8"))
    document.pop("digest")
    cases: dict[str, tuple[Any, str]] = {
        "other": ({**document, "cluster_id": "another"}, "the plan belongs to another cluster"),
        "gone": (json.loads(json.dumps(document).replace("two-copies", "no-copies")), "no move of the plan can begin"),
        "nothing": ({**document, "changes": [], "made_from": [], "inverse": []}, "no move of the plan can begin"),
    }
    for name, (content, told) in cases.items():
        file = tmp_path / f"{name}.json"
        write_document(content, file, replace=False)
        code, out, err = ask(capsys, str(file), *HEALTHY)
        assert (code, out) == (2, ""), name
        assert told in err


def test_a_cluster_that_does_not_answer_is_unreachable(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, plan: str
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=PLAINTEXT\n", encoding="utf-8")
    words = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "1", "--command-config", str(properties)]
    assert ask(capsys, plan, *words)[:2] == (3, "")


def test_ctrl_c_gives_what_was_played_so_far(terminal: Any, plan: str) -> None:
    child = terminal("rebalance", "rehearse", plan, *HEALTHY, "--runs", "5000")
    child.expect("of 5000 runs played, 0 failing")
    child.sendintr()
    child.expect("what is being played ends first")
    child.expect("INCOMPLETE")
    child.expect("of 5000 runs played")
    told = child.read()
    child.close()
    assert child.exitstatus == 5
    assert "Traceback" not in told
