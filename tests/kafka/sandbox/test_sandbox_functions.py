"""Functions of the sandbox against the JSON of its commands, on real processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest

from commands.main import run
from kreplica.sandbox import LoadSettings, ProcessState, Sandbox, remove, run_load, sandbox_names
from kreplica.sandbox.rows import load_rows, server_rows, topic_rows

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

EACH_HAS_ITS_OWN = {"sandbox", "pid", "endpoints", "log"}
"""Fields of a server that differ from sandbox to sandbox."""


@pytest.fixture(autouse=True)
def _home(sandbox_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KREPLICA_SANDBOX_HOME", str(sandbox_folder))


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a subcommand and returns its JSON."""

    def call(*words: str) -> dict[str, Any]:
        assert run(["sandbox", *words, "-o", "json"]) == 0, capsys.readouterr().err
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return call


def plain(rows: Sequence[object]) -> Any:
    return json.loads(msgspec.json.encode(rows))


def test_a_cluster_is_started_and_stopped_alike(answer: Any, sandbox_factory: Any, sandbox_folder: Path) -> None:
    by_command = answer("start", "--name", "by-command", "--brokers", "1", "--racks", "a")
    try:
        by_function = plain(server_rows(sandbox_factory(name="by-function", brokers=1, racks=("a",))))
        kept = by_function[0].keys() - EACH_HAS_ITS_OWN
        assert len(kept) == 5
        assert [{name: row[name] for name in kept} for row in by_command["servers"]] == [
            {name: row[name] for name in kept} for row in by_function
        ]
        status = answer("status")
        assert [cluster["name"] for cluster in status["clusters"]] == sandbox_names()
        rows = [row for name in sandbox_names() for row in plain(server_rows(Sandbox.open(name)))]
        assert status["servers"] == rows
    finally:
        answer("stop", "--name", "by-command")
    remove("by-function")
    assert {"by-command", "by-function"}.isdisjoint(sandbox_names(sandbox_folder))


def test_servers_are_steered_alike(answer: Any, kraft_cluster: Sandbox) -> None:
    of = ("--name", kraft_cluster.name)
    steps = [
        ("pause", ProcessState.PAUSED, kraft_cluster.pause),
        ("resume", ProcessState.RUNNING, kraft_cluster.resume),
        ("kill", ProcessState.ENDED, kraft_cluster.kill),
        ("start-broker", ProcessState.RUNNING, kraft_cluster.start_broker),
    ]
    for command, state, function in steps:
        (row,) = (row for row in answer(command, "3", *of)["servers"] if row["id"] == 3)
        assert row["state"] == str(state), command
        if command == "pause":
            kraft_cluster.resume(3)
        elif command == "resume":
            kraft_cluster.pause(3)
        elif command == "kill":
            kraft_cluster.start_broker(3)
        else:
            kraft_cluster.kill(3)
        function(3)
        (same,) = (one for one in plain(server_rows(kraft_cluster)) if one["id"] == 3)
        kept = same.keys() - {"pid", "registered"}
        assert {name: same[name] for name in kept} == {name: row[name] for name in kept}, command


def test_a_topic_is_made_loaded_and_told_of_alike(
    answer: Any, kraft_cluster: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    of = ("--name", kraft_cluster.name)
    created = answer("topic", "by-command", "--replica-assignment", "3:1,1:2", *of)
    kraft_cluster.create_topic("by-function", assignment=[[3, 1], [1, 2]])
    rows = plain(topic_rows(kraft_cluster, "by-function"))
    assert [{**row, "topic": "by-function"} for row in created["partitions"]] == rows

    loaded = answer("load", "--topic", "by-command", "--rate", "50", "--seconds", "1", "--idempotent", *of)
    settings = LoadSettings(topic="by-function", rate=50, seconds=1, idempotent=True)
    result = run_load(kraft_cluster.client_settings(), settings, Event())
    assert (result.exit_code, loaded["summary"]["acknowledged"]) == (0, result.total("acknowledged"))
    found = [{**row, "topic": "by-function"} for row in loaded["partitions"]]
    assert found == plain(load_rows(result, "by-function"))

    assert run(["sandbox", "tool", *of, "topics", "--list"]) == 0
    assert capsys.readouterr().out == kraft_cluster.run_tool("topics", "--list").stdout
