"""A plan of replicas that is killed at any point of its protocol and resumed ends as if it had not been killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[4] / "support" / "plans" / "kill_moves.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("work", "least"),
    [
        ("apply", 75),
        ("rate", 75),
        ("rollback", 75),
        ("cancel", 25),
        ("directory-rollback", 15),
        ("directory-cancel", 15),
    ],
)
def test_a_kill_at_every_point(work: str, least: int, tmp_path: Path) -> None:
    command = [sys.executable, str(DRIVER), work, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= least, "not every point was passed"
