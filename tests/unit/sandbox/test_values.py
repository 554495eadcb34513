"""Values of the sandbox's options, the exit code of a load, and the removal of a start that was broken off."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from commands.sandbox.answer import assignment, broker_settings, choice, pairs, racks
from kreplica.errors import ExitCode, SandboxError, UsageError
from kreplica.sandbox import LoadResult, LoadSettings, Mode, Sandbox, SandboxSettings, remove, sandbox_names
from kreplica.sandbox.load.ledger import PartitionLoad
from kreplica.sandbox.processes import ProcessState, spawn, state_of
from kreplica.sandbox.servers.nodes import Node, Role, SandboxState, save_state


def test_values_are_read() -> None:
    assert choice(Mode, "KRaft", "--mode") is Mode.KRAFT
    assert racks("a,b,c") == ("a", "b", "c")
    assert racks("2") == ("rack-1", "rack-2")
    assert racks("") == ()
    assert pairs(["a.b=c=d", "e="], "--set") == {"a.b": "c=d", "e": ""}
    assert broker_settings(["a=1", "2:a=3", "2: b.c=d:4", "3:a=", "x:y=z"]) == (
        {"a": "1", "x:y": "z"},
        {2: {"a": "3", "b.c": "d:4"}, 3: {"a": ""}},
    )
    assert assignment("1:2,2:3") == [[1, 2], [2, 3]]
    assert assignment("") == []


@pytest.mark.parametrize("text", ["1:", ",1", "1;2", "a", "1:2,", "-1"])
def test_an_assignment_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--replica-assignment"):
        assignment(text)


def result(pending: int = 0, **counts: int | None) -> LoadResult:
    partition = PartitionLoad(partition=0, sent=9, acknowledged=9, refused=0, **counts)
    return LoadResult(
        partitions=[partition],
        errors={},
        seconds=1.0,
        interrupted=False,
        pending=pending,
        consumed=None,
        vanished=None,
        acknowledge_ms={},
        end_to_end_ms={},
    )


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (result(lost=0, unread=0), ExitCode.OK),
        (result(lost=None, unread=None), ExitCode.OK),
        (result(lost=1, unread=0), ExitCode.FINDINGS),
        (result(lost=1, unread=5), ExitCode.FINDINGS),
        (result(lost=0, unread=5), ExitCode.INCOMPLETE),
        (result(lost=0, unread=0, pending=2), ExitCode.INCOMPLETE),
    ],
)
def test_the_exit_code_of_a_load(found: LoadResult, code: ExitCode) -> None:
    assert found.exit_code == code


@pytest.mark.parametrize(
    "settings",
    [
        LoadSettings(topic="t", rate=0),
        LoadSettings(topic="t", seconds=-1),
        LoadSettings(topic="t", rate=float("nan")),
        LoadSettings(topic="t", rate=1e9, seconds=1e9),
        LoadSettings(topic="t", acks="2"),
        LoadSettings(topic="t", acks="1", idempotent=True),
        LoadSettings(topic="t", size=23),
        LoadSettings(topic="t", size=2_000_000),
    ],
)
def test_a_load_that_cannot_be_is_refused(settings: LoadSettings) -> None:
    with pytest.raises(UsageError):
        settings.validate()


def test_a_start_that_was_broken_off_by_sigkill_is_removed_with_its_processes(tmp_path: Path) -> None:
    folder = tmp_path / "half"
    folder.mkdir()
    process = spawn([sys.executable, "-c", "import time; time.sleep(60)"], folder / "console.log")
    node = Node(id=1, roles=(Role.BROKER,), ports={"PLAINTEXT": 1}, process=process)
    unborn = Node(id=2, roles=(Role.BROKER,), ports={"PLAINTEXT": 2})
    settings = SandboxSettings(name="half", brokers=2)
    state = SandboxState(settings=settings, java="/java", started_at=0.0, nodes={1: node, 2: unborn})
    save_state(folder, state)
    os.kill(process.pid, signal.SIGSTOP)

    assert sandbox_names(tmp_path) == ["half"]
    assert not Sandbox.open("half", tmp_path).state.ready
    remove("half", tmp_path)
    assert state_of(process) is ProcessState.ENDED
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SandboxError, match="no sandbox named 'half'"):
        remove("half", tmp_path)
