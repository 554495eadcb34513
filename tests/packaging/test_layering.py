"""Layers of imports, as pyproject.toml has them; the checker sees a breach."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINTER = Path(sys.executable).with_name("lint-imports")
PACKAGES = ("kreplica", "analyzers", "commands")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    # the linter finds packages on the path: the folder's own before the installed ones
    return subprocess.run(
        [LINTER, "--no-cache", "--config", folder / "pyproject.toml"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    shutil.copy(root / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(root / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "data"))
    return tmp_path


def test_the_contracts_hold(root: Path) -> None:
    result = lint(root)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("kreplica/model/breach.py", "import commands.shared.printing.output"),
        ("kreplica/model/breach.py", "import analyzers.sessions.session"),
        ("kreplica/health/breach.py", "import rich.console"),
        ("commands/breach.py", "import pyspark.sql"),
        ("kreplica/store/breach.py", "import kreplica.sources"),
        ("kreplica/health/breach.py", "import confluent_kafka"),
        ("kreplica/engine/breach.py", "import kreplica.health"),
        ("kreplica/engine/rules/breach.py", "import numpy"),
    ],
)
def test_a_breach_is_seen(copy: Path, file: str, line: str) -> None:
    (copy / file).write_text(f"{line}\n")
    result = lint(copy)
    assert result.returncode == 1, result.stdout
    assert "breach" in result.stdout
