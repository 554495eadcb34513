"""Runs command lines of the program, each in a process of its own with bounds of memory and time.

As a program it takes a JSON list of runs on standard input and prints what came of each. It imports the program once
and forks: a process for each of a hundred lines costs little then.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

MOST_BYTES = 4 << 30
"""Address space: more than the limit of what is resident, since libraries reserve what they never touch."""
SECONDS = 60.0
"""When a process counts as hanging; the machine may be busy."""
AT_ONCE = 2
IMPORTED = (
    "commands",
    "kreplica.sources",
    "kreplica.store",
    "kreplica.formats",
    "kreplica.execution",
    "kreplica.scenarios",
)


@dataclass(frozen=True)
class Bounded:
    """One command line; ``stdin`` is a path, ``env`` is added."""

    words: list[str]
    stdin: str = "/dev/null"
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How it ended; ``code`` is None where it was killed because it did not end."""

    code: int | None
    out: str
    err: str
    resident: int
    seconds: float


def run_bounded(runs: list[Bounded], folder: Path) -> list[Ended]:
    """What came of each, in order."""
    environment = {**os.environ, "KREPLICA_CONFIG": os.devnull, "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps([asdict(each) for each in runs]),
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=SECONDS * 5,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Ended(**each) for each in json.loads(done.stdout)]


def _child(each: Bounded, folder: Path) -> None:
    from commands.main import run

    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    os.environ.update(each.env)
    for number, path, flags in ((0, each.stdin, os.O_RDONLY), (1, folder / "out", None), (2, folder / "err", None)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if flags is None else flags, 0o600)
        os.dup2(opened, number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, "r" if number == 0 else "w") for number in range(3))
    code = 99
    try:
        code = int(run(each.words))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _ended(pid: int, folder: Path, began: float) -> Ended | None:
    found, status, used = os.wait4(pid, os.WNOHANG)
    seconds = time.monotonic() - began
    if not found and seconds < SECONDS:
        return None
    code: int | None = os.waitstatus_to_exitcode(status) if found else None
    if not found:
        os.kill(pid, 9)
        _, _, used = os.wait4(pid, 0)
    out, err = ((folder / name).read_text("utf-8", "replace")[:20_000] for name in ("out", "err"))
    return Ended(code, out, err, used.ru_maxrss * 1024, seconds)


def main() -> None:
    """Reads runs, prints how they ended."""
    for package in map(importlib.import_module, IMPORTED):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    from kreplica.system import untrusted_files

    untrusted_files.WRITER_SECONDS = 0.3
    runs = [Bounded(**each) for each in json.load(sys.stdin)]
    results: dict[int, Ended] = {}
    waiting, under_way = list(range(len(runs))), dict[int, tuple[int, Path, float]]()
    with tempfile.TemporaryDirectory() as home:
        while waiting or under_way:
            while waiting and len(under_way) < AT_ONCE:
                number = waiting.pop(0)
                folder = Path(home, str(number))
                folder.mkdir()
                pid = os.fork()
                if pid == 0:
                    _child(runs[number], folder)
                under_way[number] = pid, folder, time.monotonic()
            for number, (pid, folder, began) in list(under_way.items()):
                ended = _ended(pid, folder, began)
                if ended is not None:
                    results[number] = ended
                    del under_way[number]
            time.sleep(0.005)
    print(json.dumps([asdict(results[number]) for number in range(len(runs))]))


if __name__ == "__main__":
    main()
