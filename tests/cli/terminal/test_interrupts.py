"""Ways to end a command from outside: one exit code, at once, and never a traceback."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("kreplica"))
RunCli = Callable[..., subprocess.CompletedProcess[str]]

INTERRUPTED_AT = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv[1:] = ["describe", "--dump", "sample"]
from commands.start import main
main()
"""


@pytest.fixture
def silent() -> Iterator[tuple[str, socket.socket]]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield f"127.0.0.1:{server.getsockname()[1]}", server


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("clusters", [1, 3])
def test_whatever_ends_a_command_ends_it_at_once(
    number: signal.Signals, clusters: int, silent: tuple[str, socket.socket], tmp_path: Path
) -> None:
    servers, listening = silent
    contexts = "".join(f"[contexts.c{one}]\nbootstrap_servers = '{servers}'\ntimeout = 60\n" for one in range(clusters))
    config = tmp_path / "config.toml"
    config.write_text(contexts)
    command = [PROGRAM, "describe", "--config", str(config), "--context", "c*"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    connection, _ = listening.accept()
    with process, connection:
        connection.recv(1)
        began = time.monotonic()
        process.send_signal(number)
        out, told = process.communicate(timeout=30)
    assert time.monotonic() - began < 5, "the clusters have 60 seconds"
    assert (process.returncode, out, told) == (130, "", "interrupted\n")


def test_a_signal_that_is_ignored_stays_ignored(silent: tuple[str, socket.socket]) -> None:
    command = ["nohup", PROGRAM, "describe", "--bootstrap-server", silent[0], "--timeout", "2"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    connection, _ = silent[1].accept()
    with process, connection:
        connection.recv(1)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=30)
    assert process.returncode == 3


@pytest.mark.parametrize("name", ["commands.main", "typer", "commands.describe.command", "numpy"])
def test_ctrl_c_while_the_program_is_loaded_leaves_no_traceback(name: str) -> None:
    code = INTERRUPTED_AT.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("describe", "--dump", "sample", "--exit-zero"), 0),
        (("check", "--dump", "sample"), 1),
        (("describe", "--no-such-option"), 2),
        (("describe", "--dump", "/dev/null/nothing"), 2),
        (("describe", "--bootstrap-server", "127.0.0.1:1"), 3),
    ],
)
def test_a_stderr_that_takes_nothing_changes_no_exit_code(arguments: tuple[str, ...], code: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=full, timeout=60, check=False)
    assert done.returncode == code


@pytest.mark.parametrize("seconds", ["1e308", "inf", "99999999"])
@pytest.mark.parametrize("option", ["--timeout", "--watch"])
def test_a_length_of_time_that_nobody_means_is_refused(option: str, seconds: str, run_cli: RunCli) -> None:
    done = run_cli("describe", "--bootstrap-server", "127.0.0.1:1", option, seconds)
    assert (done.returncode, done.stdout) == (2, "")
    assert "(a year) at most" in done.stderr


@pytest.mark.parametrize(
    "command", [("wait", "--for", "no-under-replicated", "--timeout"), ("safe-to-stop", "1", "--wait")]
)
def test_a_duration_that_nobody_means_is_refused(command: tuple[str, ...], run_cli: RunCli) -> None:
    done = run_cli(*command, "999999w", "--bootstrap-server", "127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "999999w is too long; the most is 366 d" in done.stderr
