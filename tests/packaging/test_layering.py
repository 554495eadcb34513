"""Layers of imports, as pyproject.toml has them; the checker sees a breach."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from commands.main import COMMANDS

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


BREACHES = {
    "kreplica/model/breach_words.py": "import commands.shared.printing.output",
    "kreplica/model/breach_spark.py": "import analyzers.sessions.session",
    "kreplica/health/breach_screen.py": "import rich.console",
    "commands/breach_spark.py": "import pyspark.sql",
    "commands/breach_change.py": "import kreplica.control.elect",
    "commands/assign/breach_command.py": "import commands.history.command",
    "kreplica/store/breach_source.py": "import kreplica.sources",
    "kreplica/health/breach_client.py": "import confluent_kafka",
    "kreplica/fleet/breach_client.py": "import kafka",
    "kreplica/engine/breach_judgement.py": "import kreplica.health",
    "kreplica/engine/rules/breach_arrays.py": "import numpy",
}
"""An import that breaks a contract, by the file that has it."""

CIRCLE = {
    "kreplica/planner/breach_circle.py": "import kreplica.planner.reassignment.breach_back",
    "kreplica/planner/reassignment/breach_back.py": "import kreplica.planner.breach_circle",
}


def test_each_breach_is_seen(copy: Path) -> None:
    for file, line in (BREACHES | CIRCLE).items():
        (copy / file).write_text(f"{line}\n")
    result = lint(copy)
    assert result.returncode == 1, result.stdout
    seen = {file for file in BREACHES if f"{file.removesuffix('.py').replace('/', '.')} -> " in result.stdout}
    assert seen == set(BREACHES), result.stdout
    assert ".reassignment -> .breach_circle" in result.stdout


def test_no_command_is_left_out_of_those_that_are_kept_apart(root: Path) -> None:
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (apart,) = (contract["modules"] for contract in contracts if contract["type"] == "independence")
    assert apart == sorted(f"commands.{name.replace('-', '_')}" for name in COMMANDS)
