"""The distribution as a user gets it: a wheel built from the sdist, installed without extras into an empty place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="session")
def uv(root: Path) -> Callable[..., str]:
    """Runs uv in the project's folder with the pinned versions; gives what it printed."""

    def run(*arguments: str | Path, cwd: Path = root) -> str:
        done = subprocess.run([UV, *arguments], capture_output=True, text=True, timeout=240, cwd=cwd, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def built(uv: Callable[..., str], root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--quiet", "--build-constraints", root / "constraints.txt", "--out-dir", folder)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def installed(
    wheel: Path, uv: Callable[..., str], root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program of an environment that has the wheel and its dependencies, from an empty folder."""
    environment = tmp_path_factory.mktemp("installed")
    uv("venv", "--quiet", "--python", sys.executable, environment / "venv")
    python = environment / "venv" / "bin" / "python"
    uv("pip", "install", "--quiet", "--python", python, "--constraints", root / "constraints.txt", wheel)
    elsewhere = environment / "elsewhere"
    elsewhere.mkdir()

    def run(program: str, *arguments: str, cwd: Path = elsewhere) -> subprocess.CompletedProcess[str]:
        line = [python.with_name(program), *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, cwd=cwd, check=False)

    return run
