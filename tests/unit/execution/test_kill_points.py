"""A plan that is killed at any point of its protocol and resumed ends as if it had not been killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[2] / "support" / "plans" / "kill_points.py"


@pytest.mark.parametrize(
    ("work", "least"),
    [
        ("apply", 30),
        pytest.param("rollback", 40, marks=pytest.mark.one_python),
        pytest.param("interrupt", 40, marks=pytest.mark.slow),
    ],
)
def test_a_kill_at_every_point(work: str, least: int, tmp_path: Path) -> None:
    command = [sys.executable, str(DRIVER), work, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= least, "not every point was passed"
