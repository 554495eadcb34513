"""The benchmark of reassignments at a small size: its cluster is the same each time, and its plans are proven there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]


def run(*arguments: str) -> list[list[str]]:
    """Cells of the tables without times."""
    command = [sys.executable, "benchmarks/reassignment.py", "--without-java", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| kreplica")]
    return [[*row[:2], *row[4:]] for row in rows]


def test_a_small_cluster_is_planned_and_proven() -> None:
    rows = run("--brokers", "30", "--partitions", "400")
    assert len(rows) == 20
    bounds = {row[0]: row[-1] for row in rows}
    assert bounds["kreplica --balance count --prove"] == bounds["kreplica --drain 1 --prove"] == "gaps 0, 0: optimal"
    assert bounds["kreplica --balance leaders"].endswith("changes, optimal")
    assert run("--brokers", "30", "--partitions", "400") == rows
