"""Test files that a changed file reaches."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite import tests_of

pytestmark = [pytest.mark.xdist_group("tests_of"), pytest.mark.one_python]  # every file is parsed once


@pytest.mark.parametrize(
    ("file", "reached"),
    [
        ("kreplica/execution/drift.py", "tests/unit/execution/test_rollback.py"),  # over another module
        ("kreplica/engine/checkers/outcome.py", "tests/unit/engine/checkers/test_safety.py"),  # a name loaded when used
        ("commands/roll/next_restart.py", "tests/cli/before_a_change/test_roll.py"),  # by the words of a command line
        ("tests/support/planted/faults.py", "tests/unit/health/causes/test_causes_planted.py"),
        ("tests/cli/conftest.py", "tests/cli/before_a_change/test_roll.py"),
        ("tests/docs/test_makefile.py", "tests/docs/test_makefile.py"),
        ("Makefile", "tests/docs/test_makefile.py"),  # no module: by its name
    ],
)
def test_a_file_reaches_the_tests_that_need_it(root: Path, file: str, reached: str) -> None:
    assert root / reached in tests_of.reached_by([root / file])


def test_a_file_reaches_no_test_that_does_without_it(root: Path) -> None:
    reached = tests_of.reached_by([root / "kreplica/execution/drift.py"])
    assert root / "tests/unit/formats/segments/test_record_batches.py" not in reached
    assert len(reached) < len(list((root / "tests").rglob("test_*.py"))) / 4
