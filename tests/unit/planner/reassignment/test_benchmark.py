"""The benchmark of reassignments at a small size: its cluster is the same each time, and its plans are proven there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]


def run(*arguments: str) -> list[list[str]]:
    """Cells of the tables without times."""
    command = [sys.executable, "benchmarks/planning/reassignment.py", "--without-java", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| kreplica")]
    return [[*row[:2], *row[4:]] for row in rows]


@pytest.mark.one_python
def test_a_small_cluster_is_planned_and_proven() -> None:
    rows = run("--brokers", "30", "--partitions", "400")
    assert len(rows) == 20
    bounds = {row[0]: row[-1] for row in rows}
    assert bounds["kreplica --balance count --prove"] == bounds["kreplica --drain 1 --prove"] == "gaps 0, 0: optimal"
    assert bounds["kreplica --balance leaders"].endswith("changes, optimal")
    assert run("--brokers", "30", "--partitions", "400") == rows


@pytest.mark.slow
def test_plans_of_every_aim_are_verified_by_the_command_line() -> None:
    command = [
        sys.executable,
        "benchmarks/planning/reassignment.py",
        "--verify",
        "--brokers",
        "9",
        "--partitions",
        "90",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| --")]
    assert len(rows) == 12, done.stdout + done.stderr
    assert {row[-1].split(";")[0] for row in rows} == {"HOLDS the plan is legal"}
    proven = {row[0]: row[-1] for row in rows if "--prove" in row[0] or row[0].endswith("leaders")}
    assert set(proven.values()) == {"HOLDS the plan is legal; no plan takes less"}
