"""The two commands of the README, as far as they can be run from inside one of them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def recipe(root: Path, target: str) -> list[str]:
    """What make would run for a target whose set-up is done."""
    dry = ["make", "--no-print-directory", "--dry-run", "--assume-old=.venv/.ready", target]
    done = subprocess.run(dry, cwd=root, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.fixture
def demo(root: Path) -> list[list[str]]:
    lines = [line for line in recipe(root, "demo") if line.startswith(".venv/bin/kreplica ")]
    return [shlex.split(line)[1:] for line in lines]


def test_the_readme_names_both_targets(root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert "`make demo`" in readme
    assert "`make test`" in readme


def test_make_test_is_everything(root: Path) -> None:
    lines = [line.removeprefix(".venv/bin/") for line in recipe(root, "test")]
    checks = ["ruff check .", "ruff format --check .", "mypy", "lint-imports --no-cache"]
    assert lines[-5:] == [*checks, "pytest -n 3 --dist loadgroup"]


def test_the_ci_runs_make_test(root: Path) -> None:
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^exec .*\bmake test$", script, re.MULTILINE)
    assert "export CI=true" in script


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_shows_describe_check_and_audit_and_ends_well(demo: list[list[str]], run_cli: RunCli) -> None:
    assert {arguments[0] for arguments in demo} == {"describe", "check", "audit"}
    for arguments in demo:
        answer = run_cli(*arguments, timeout=200)
        assert answer.returncode == 0, (arguments, answer.stderr)
        assert len(answer.stdout.splitlines()) > 5
