"""The command line in this process, in a process of its own, and on a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect
import pytest

from commands.main import run

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from commands.start import main; main()"]


@dataclass(frozen=True)
class Ended:
    """How a command line ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def ageless(self) -> str:
        """The answer without the ages of dumps, which grow."""
        return re.sub(r"(; the dump is|, (?=[^,\n]* old$)) ?([\d.]+ \w+ ?)+ old", "", self.out, flags=re.MULTILINE)

    @property
    def document(self) -> dict[str, Any]:
        """stdout as the one JSON object it has to be."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Kreplica = Callable[..., Ended]


@pytest.fixture
def kreplica(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kreplica:
    """Runs a command line in this process; no contexts file of the user is seen."""
    monkeypatch.setenv("KREPLICA_CONFIG", str(_no_contexts(tmp_path)))

    def call(*arguments: str | Path) -> Ended:
        code = run([str(word) for word in arguments])
        captured = capsys.readouterr()
        return Ended(int(code), captured.out, captured.err)

    return call


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Starts a command line in a process of its own; streams are pipes unless given otherwise."""
    environment = {**os.environ, "KREPLICA_CONFIG": str(_no_contexts(tmp_path))}

    def start(*arguments: str | Path, env: Mapping[str, str] | None = None, **streams: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [*PROGRAM, *map(str, arguments)]
        return subprocess.Popen(command, cwd=ROOT, env={**environment, **(env or {})}, **{**pipes, **streams})

    return start


@pytest.fixture
def terminal(tmp_path: Path) -> Callable[..., pexpect.spawn]:
    """Starts a command line on a terminal of the given size."""
    environment = {**os.environ, "KREPLICA_CONFIG": str(_no_contexts(tmp_path)), "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI"):
        environment.pop(name, None)

    def start(
        *arguments: str, size: tuple[int, int] = (40, 120), env: Mapping[str, str] | None = None
    ) -> pexpect.spawn:
        return pexpect.spawn(
            PROGRAM[0],
            [*PROGRAM[1:], *map(str, arguments)],
            cwd=str(ROOT),
            env={**environment, **(env or {})},
            dimensions=size,
            encoding="utf-8",
            timeout=60,
        )

    return start


def _no_contexts(folder: Path) -> Path:
    path = folder / "no-contexts.toml"
    path.write_text("")
    return path
