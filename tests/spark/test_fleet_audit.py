"""audit_fleet of the library against the JSON of kreplica audit, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

RunCli = Callable[..., subprocess.CompletedProcess[str]]

FROM_PYTHON = """
import sys
from pathlib import Path
import msgspec
from analyzers.fleet_audit import audit_fleet

found = audit_fleet([Path(sys.argv[1])], rules=["offline", "under-min-isr"], master="local[2]")
told = {"findings": found.rows, "counts": [one.as_row() for one in found.counts], "code": int(found.exit_code)}
sys.stdout.buffer.write(msgspec.json.encode(told))
"""


def test_a_fleet_is_judged_as_by_the_command(root: Path, run_cli: RunCli) -> None:
    words = ["--rule", "offline", "--rule", "under-min-isr", "--master", "local[2]", "-o", "json"]
    answer = run_cli("audit", "sample", *words, timeout=240)
    program = [sys.executable, "-c", FROM_PYTHON, str(root / "kreplica" / "data" / "fleet")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    told, document = json.loads(done.stdout), json.loads(answer.stdout)
    assert told["findings"] == document["findings"] != []
    assert (told["counts"], told["code"]) == (document["summary"]["counts"], answer.returncode)
