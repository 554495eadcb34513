"""The plugin that fails a test without an assertion, in a run of pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from suite import assertion_counter

TESTS = """
import warnings
import pytest
from helper import holds

def test_assert(): assert True
def test_helper(): holds()
def test_raises():
    with pytest.raises(ValueError): int("x")
def test_warns():
    with pytest.warns(UserWarning): warnings.warn("so")
def test_fails(): assert False
def test_no_rows():
    for one in []: assert one
def test_looks_only(): print("fine")
"""


def test_a_test_without_an_assertion_fails_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def holds(): assert True\n")
    (tmp_path / "conftest.py").write_text("import pytest\npytest.register_assert_rewrite('helper')\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    support = Path(assertion_counter.__file__).parent
    options = ["-q", "-rfp", "-p", "assertion_counter", "-o", "enable_assertion_pass_hook=true", "--rootdir=."]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{support}:{tmp_path}", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = {
        line.split("::")[1]: line.split()[0] for line in run.stdout.splitlines() if line.startswith(("PASS", "FAIL"))
    }
    names = {name.split(" ")[0]: outcome for name, outcome in said.items()}
    assert names == {
        "test_assert": "PASSED",
        "test_helper": "PASSED",
        "test_raises": "PASSED",
        "test_warns": "PASSED",
        "test_fails": "FAILED",
        "test_no_rows": "FAILED",
        "test_looks_only": "FAILED",
    }
    assert run.stdout.count("the test executed no assertion") >= 2
