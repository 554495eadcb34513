"""Wrong files and values are told before a cluster is asked for, and before one that is named is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.store.writing import write_snapshot

SUBCOMMANDS_ON_PLANS = [
    *(["rebalance", name] for name in ("apply", "resume", "rollback", "status", "cancel", "verify", "rehearse")),
    ["roll", "next"],
]


@pytest.fixture
def no_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster is named by anything but the words of a command."""
    monkeypatch.setenv("KREPLICA_CONFIG", str(tmp_path / "no-contexts.toml"))


@pytest.mark.parametrize("words", SUBCOMMANDS_ON_PLANS, ids=" ".join)
@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "no such file"), (b"hello", "not JSON"), (b"{}", "found no schema: not a plan of kreplica")],
    ids=["missing", "text", "JSON"],
)
@pytest.mark.usefixtures("no_contexts")
def test_a_file_that_is_no_plan(kreplica: Any, tmp_path: Path, words: list[str], content: Any, said: str) -> None:
    file = tmp_path / "plan.json"
    if content is not None:
        file.write_bytes(content)
    ended = kreplica(*words, file)
    assert (ended.code, ended.out) == (2, "")
    assert str(file) in ended.err
    assert said in ended.err


WRONG_VALUES = {
    "a pattern": (["describe", "--topic", "["], "'[' is not a regular expression"),
    "a pattern of a failure": (["whatif", "fail", "--broker", "1", "--topic", "["], "'[' is not a regular expression"),
    "accepted topics": (["roll", "plan", "--accept-topic", "["], "'[' is not a regular expression"),
    "brokers of a roll": (["roll", "plan", "--broker", "x"], "--broker 'x' is no broker id"),
    "time between reads": (["safe-to-stop", "1", "--settle", "x"], "--settle x"),
    "patience": (["safe-to-stop", "1", "--wait", "x"], "--wait x"),
    "age of a dump": (["wait", "--for", "in-sync", "--broker", "1", "--max-age", "x"], "--max-age x"),
    "brokers of throttles": (["rebalance", "throttles", "--broker", "x"], "--broker 'x' is no broker id"),
}


@pytest.mark.parametrize(("words", "said"), WRONG_VALUES.values(), ids=WRONG_VALUES)
@pytest.mark.usefixtures("no_contexts")
def test_a_wrong_value(kreplica: Any, words: list[str], said: str) -> None:
    ended = kreplica(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {said}")


NOBODY = ["--bootstrap-server", "127.0.0.1:1", "--timeout", "0.2"]
NEW_FILES = {
    "elections": ["rebalance", "leaders", "--out"],
    "moves": ["rebalance", "replicas", "--rack-aware", "--out"],
    "moves for Kafka's tool": ["rebalance", "replicas", "--rack-aware", "--reassignment-json"],
    "a picture": ["rebalance", "replicas", "--rack-aware", "--svg"],
    "restarts": ["roll", "plan", "--out"],
}


@pytest.mark.parametrize("words", NEW_FILES.values(), ids=NEW_FILES)
def test_a_name_that_is_taken_or_in_no_folder(kreplica: Any, tmp_path: Path, words: list[str]) -> None:
    """Nobody answers there, which is said only where the name is free, or may be taken."""
    taken = tmp_path / "taken"
    taken.touch()
    ended = kreplica(*words, taken, *NOBODY)
    said = f"error: {taken} is there already; it is not overwritten unasked; give --force\n"
    assert (ended.code, ended.err) == (2, said)
    lost = tmp_path / "no-folder" / "file"
    ended = kreplica(*words, lost, *NOBODY)
    assert (ended.code, ended.err) == (2, f"error: cannot write {lost}; no such file or directory\n")
    assert kreplica(*words, tmp_path / "free", *NOBODY).code == 3
    assert kreplica(*words, taken, *NOBODY, "--force").code == 3


@pytest.mark.parametrize("name", ["verify", "rehearse", "throttle"])
def test_a_plan_of_leaders_where_replicas_are_wanted(kreplica: Any, tmp_path: Path, name: str) -> None:
    dump = tmp_path / "dump"
    write_snapshot(snapshot_of([partition("orders", 0, leader=2)], [{"broker": 1}, {"broker": 2}, {"broker": 3}]), dump)
    plan = tmp_path / "plan.json"
    assert kreplica("rebalance", "leaders", "--dump", dump, "--out", plan).code == 0
    ended = kreplica("rebalance", name, plan, *(["--rate", "5MB"] if name == "throttle" else []))
    assert ended.code == 2
    assert ended.err.startswith(f"error: {plan} is no plan of replicas; ")


def test_a_throttle_and_options_of_another_kind_of_plan(kreplica: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    words = ["rebalance", "replicas", "--balance", "leaders", "--dump", "sample-healthy", "--out", plan]
    assert kreplica(*words).code == 0
    for given, said in (
        (["--throttle", "x"], "--throttle x is no size"),
        (["--execute"], "a plan of replicas is carried out under a throttle"),
        (["--batch", "5"], "--batch is not for a plan of replicas"),
    ):
        ended = kreplica("rebalance", "apply", plan, *given)
        assert (ended.code, ended.err.startswith(f"error: {said}")) == (2, True), ended.err
