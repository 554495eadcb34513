"""Server processes that outlive the command that started them, and signals that never reach a stranger.

A process is known by its id and its start time: an id that the system has given to another process since then is
told apart, and no signal is sent to it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

POLL_SECONDS = 0.05


class ProcessState(StrEnum):
    """What the operating system says about one process."""

    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process id and when that process began, as the system tells it (opaque text)."""

    pid: int
    began: str


def spawn(command: list[str], console: Path) -> ProcessIdentity:
    """Start ``command`` in a session of its own, its output going to the file ``console``.

    Args:
        command: Program (an absolute path) and arguments.
        console: Standard output and error; replaced.

    Raises:
        OSError: The program cannot be started.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    # posix_spawn rather than Popen: the server belongs to the sandbox, not to this interpreter.
    pid = os.posix_spawn(
        command[0],
        command,
        dict(os.environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(console), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=(),  # held signals are inherited
    )
    return ProcessIdentity(pid, _began(pid))


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def state_of(process: ProcessIdentity | None) -> ProcessState:
    """Return what has become of a process; one whose id was given to another has ended."""
    if process is None:
        return ProcessState.ENDED
    _reap(process.pid)
    letter = _state_letter(process.pid)
    if letter in ("", "Z", "X") or _began(process.pid) != process.began:
        return ProcessState.ENDED
    return ProcessState.PAUSED if letter in ("T", "t") else ProcessState.RUNNING


def send(process: ProcessIdentity, number: signal.Signals) -> bool:
    """Send a signal unless the process has ended; tell whether it was sent."""
    if state_of(process) is ProcessState.ENDED:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)
        return True
    return False


def wait_for_end(process: ProcessIdentity, timeout: float) -> bool:
    """Wait until the process has ended; tell whether it did within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while state_of(process) is not ProcessState.ENDED:
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _reap(pid: int) -> None:
    # A child that ended stays a zombie until it is waited for; a process of another command is not our child.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _state_letter(pid: int) -> str:
    if Path("/proc/self/stat").exists():
        fields = _stat_fields(pid)
        return fields[0] if fields else ""
    return _ps(pid, "state")[:1]


def _began(pid: int) -> str:
    if Path("/proc/self/stat").exists():
        fields = _stat_fields(pid)
        return f"{_boot_id()}/{fields[19]}" if fields else ""
    return _ps(pid, "lstart")


def _stat_fields(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the third (state) on; none if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The second field is the program's name in parentheses and may hold anything.
    return text[text.rindex(")") + 2 :].split()


def _boot_id() -> str:
    # Start times count from the boot: after a restart of the machine the same pair could come again.
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip() if path.exists() else ""


def _ps(pid: int, field: str) -> str:
    command = ["ps", "-o", f"{field}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
