"""Code that lies in the current folder is run by no process that a command starts.

A folder of dumps, or a log directory that somebody handed over, may hold a ``json.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("kreplica"))
OTHERS = ("numpy", "pyarrow", "pandas", "pyspark", "kreplica", "commands", "analyzers", "sitecustomize", "py4j")
FOLDED_BY_SPARK = """
import analyzers.backfill
from commands.main import run

analyzers.backfill.FEW = 0
run(["audit", "ingest", "sample", "--into", "history", "--master", "local[2]"])
"""
COMMANDS = {
    "describe": (PROGRAM, "describe", "--dump", "sample", "--exit-zero"),
    "runs in other processes": (PROGRAM, "whatif", "run", "hw-truncation-loss", "--runs", "40"),
    "Spark": (PROGRAM, "audit", "sample", "--exit-zero"),
    "Spark's workers": (sys.executable, "-P", "-c", FOLDED_BY_SPARK),
}
STARTING_OTHERS = ("runs in other processes", "Spark's workers")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder in which every module of Python's own, and those that we use, leaves a trace when it is imported."""
    folder = tmp_path / "planted"
    folder.mkdir()
    code = "import os, sys\nopen({trace!r}, 'a').write(__name__ + '\\n')\nsys.exit(99)\n"
    for name in (*sys.stdlib_module_names, *OTHERS):
        (folder / f"{name}.py").write_text(code.format(trace=str(tmp_path / "trace")))
    return folder


@pytest.fixture
def python_path(tmp_path: Path) -> Path:
    """A folder of the user's own, from which every Python process imports something."""
    folder = tmp_path / "own"
    folder.mkdir()
    code = f"import os\nopen({str(tmp_path / 'processes')!r}, 'a').write(str(os.getpid()) + '\\n')\n"
    (folder / "sitecustomize.py").write_text(code)
    return folder


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.spark, pytest.mark.slow] if "Spark" in name else []) for name in COMMANDS],
)
def test_code_in_the_current_folder_is_not_run_and_the_users_python_path_is(
    name: str, planted: Path, python_path: Path, tmp_path: Path
) -> None:
    environ = os.environ | {"PYTHONPATH": str(python_path)}
    done = subprocess.run(
        COMMANDS[name], cwd=planted, env=environ, capture_output=True, text=True, timeout=180, check=False
    )
    trace = tmp_path / "trace"
    assert not trace.exists(), trace.read_text()
    assert done.returncode in (0, 1), done.stderr
    others = set((tmp_path / "processes").read_text().split())
    assert (len(others) > 1) is (name in STARTING_OTHERS), "these start other processes"
