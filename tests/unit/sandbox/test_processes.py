"""Processes: started, paused, resumed, ended, and never mistaken for another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kreplica.sandbox.processes import (
    ProcessIdentity,
    ProcessState,
    send,
    spawn,
    state_of,
    wait_for_end,
    write_class_path,
)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[ProcessIdentity]:
    process = spawn([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"], tmp_path / "out")
    yield process
    send(process, signal.SIGKILL)
    wait_for_end(process, 10)


def becomes(process: ProcessIdentity, state: ProcessState) -> bool:
    deadline = time.monotonic() + 10
    while state_of(process) is not state and time.monotonic() < deadline:
        time.sleep(0.02)
    return state_of(process) is state


def test_a_process_is_paused_resumed_and_ended(sleeper: ProcessIdentity, tmp_path: Path) -> None:
    assert becomes(sleeper, ProcessState.RUNNING)
    assert send(sleeper, signal.SIGSTOP)
    assert becomes(sleeper, ProcessState.PAUSED)
    assert send(sleeper, signal.SIGCONT)
    assert becomes(sleeper, ProcessState.RUNNING)
    assert send(sleeper, signal.SIGKILL)
    assert wait_for_end(sleeper, 10)
    assert state_of(sleeper) is ProcessState.ENDED
    assert not send(sleeper, signal.SIGKILL)


def test_its_output_goes_to_the_console_file(sleeper: ProcessIdentity, tmp_path: Path) -> None:
    deadline = time.monotonic() + 10
    while not (tmp_path / "out").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert (tmp_path / "out").read_text() == "up\n"


def test_it_has_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(sleeper: ProcessIdentity) -> None:
    assert os.getsid(sleeper.pid) == sleeper.pid
    assert os.getsid(sleeper.pid) != os.getsid(0)


def test_a_stranger_with_the_same_id_is_never_signalled() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        recorded = ProcessIdentity(stranger.pid, "the start time of a process that had this id before")
        assert state_of(recorded) is ProcessState.ENDED
        assert not send(recorded, signal.SIGKILL)
        time.sleep(0.1)
        assert stranger.poll() is None
        stranger.kill()


def test_a_name_with_parentheses_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "odd) Z (name"
    program.symlink_to("/bin/sleep")
    process = spawn([str(program), "30"], tmp_path / "out")
    assert becomes(process, ProcessState.RUNNING)
    assert state_of(replace(process, began="0")) is ProcessState.ENDED
    assert send(process, signal.SIGKILL)
    assert wait_for_end(process, 10)


def test_wait_for_end_gives_up(sleeper: ProcessIdentity) -> None:
    begun = time.monotonic()
    assert not wait_for_end(sleeper, 0.2)
    assert time.monotonic() - begun < 15


def test_no_process_has_ended() -> None:
    assert state_of(None) is ProcessState.ENDED


def test_the_argument_file_quotes_paths_and_options(tmp_path: Path) -> None:
    path = write_class_path(tmp_path, (Path("/a b/c.jar"), Path("/d\\e.jar")), ["-XX:SharedArchiveFile=/f g/h.jsa"])
    assert path.read_text(encoding="utf-8").splitlines() == [
        r'-cp "/a b/c.jar:/d\\e.jar"',
        '"-XX:SharedArchiveFile=/f g/h.jsa"',
    ]
