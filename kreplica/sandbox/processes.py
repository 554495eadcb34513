"""Server processes that outlive the command that started them, and signals that reach no other process.

A process is known by its id and its start time: an id that the system has given to another process since then is
told apart, and no signal is sent to it.

Command lines of the Java programs: servers and Kafka's own tools.

Free ports on the loopback interface.

A lock between processes, bounded in time; the kernel frees it when its holder dies.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kreplica.errors import SandboxError

POLL_SECONDS = 0.05


class ProcessState(StrEnum):
    """State of one process, as the operating system reports it."""

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


# A practice cluster starts often and lives short: the quick compiler, the small collector, no shared counters.
_LEAN = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true"]
# ZooKeeper 3.4 asks for log4j's JMX beans, which reload4j has not.
_SERVER = ["-XX:+ExitOnOutOfMemoryError", "-Dzookeeper.jmx.log4j.disable=true"]


def write_class_path(folder: Path, jars: tuple[Path, ...], options: Iterable[str] = ()) -> Path:
    """Write the class path as an argument file of ``java``, so that lists of processes stay readable.

    Args:
        folder: Where to.
        jars: The class path.
        options: Further options of every JVM that reads the file.
    """
    path = folder / "class-path.args"
    words = [f"-cp {_quoted(':'.join(map(str, jars)))}", *map(_quoted, options)]
    path.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    return path


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\") + '"'


def server_command(java: Path, class_path: Path, heap_mib: int, logging: str, program: list[str]) -> list[str]:
    """Return the command line of a server; ``program`` is its main class and arguments."""
    return [str(java), f"@{class_path}", f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m", *_LEAN, *_SERVER, logging, *program]


def tool_command(java: Path, class_path: Path, logging: str, program: list[str]) -> list[str]:
    """Return the command line of one of Kafka's tools."""
    return [str(java), f"@{class_path}", "-Xmx256m", *_LEAN, logging, *program]


LOOPBACK = "127.0.0.1"
FIRST_PORT = 20000
# Below the range that the system hands to outgoing connections: none of those can take a port between the look
# and the start of the broker, nor while a killed broker is down.
_LOCAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_DEFAULT_LAST = 32767


def last_port() -> int:
    """Return the highest port below those the system gives to outgoing connections."""
    if not _LOCAL_RANGE.exists():
        return _DEFAULT_LAST
    first_outgoing = int(_LOCAL_RANGE.read_text(encoding="ascii").split()[0])
    return first_outgoing - 1 if first_outgoing > FIRST_PORT + 1000 else _DEFAULT_LAST


def is_free(port: int) -> bool:
    """Tell whether a server could listen on ``port`` of the loopback interface now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose_ports(count: int, taken: Collection[int]) -> list[int]:
    """Choose ``count`` free ports that are not in ``taken``.

    The search begins at a random port: two sandboxes begun at the same time hardly meet.

    Raises:
        SandboxError: There are not as many.
    """
    span = last_port() - FIRST_PORT + 1
    offset = random.randrange(span)
    chosen: list[int] = []
    for step in range(span):
        port = FIRST_PORT + (offset + step) % span
        if port not in taken and is_free(port):
            chosen.append(port)
        if len(chosen) == count:
            return chosen
    raise SandboxError(f"{count} free ports are needed", f"{len(chosen)} are free from {FIRST_PORT} to {last_port()}")


LOCK_POLL_SECONDS = 0.1


@contextmanager
def exclusive(path: Path, timeout: float, purpose: str) -> Iterator[None]:
    """Hold the lock file ``path`` for the length of the block.

    Args:
        path: The lock file; it stays where it is, empty.
        timeout: Seconds to wait for another holder.
        purpose: What the lock guards, for the error.

    Raises:
        SandboxError: Another process holds it for longer than ``timeout``.
    """
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    with path.open("a") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise SandboxError(
                        f"{purpose} is busy",
                        f"another kreplica process has held {path} for {timeout:g} s",
                        "wait for it to finish, or end it",
                    ) from None
                time.sleep(LOCK_POLL_SECONDS)
        yield
