"""audit_fleet of the library against the JSON of kreplica audit, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FROM_PYTHON = """
import sys
from pathlib import Path
import msgspec
from analyzers.fleet_audit import audit_fleet

found = audit_fleet([Path(sys.argv[1])], rules=["offline", "under-min-isr"], master="local[2]")
told = {"findings": found.rows, "counts": [one.as_row() for one in found.counts], "code": int(found.exit_code)}
sys.stdout.buffer.write(msgspec.json.encode(told))
"""


def test_a_fleet_is_judged_as_by_the_command(root: Path, audited: subprocess.CompletedProcess[str]) -> None:
    """By two rules: of them it says what the command says of them among all others."""
    program = [sys.executable, "-c", FROM_PYTHON, str(root / "kreplica" / "data" / "fleet")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    told, document = json.loads(done.stdout), json.loads(audited.stdout)
    both = [row for row in document["findings"] if row["rule"] in {"offline", "under-min-isr"}]
    assert told["findings"] == both != []
    assert len(both) < len(document["findings"])
    assert (told["counts"], told["code"]) == (document["summary"]["counts"], audited.returncode)
