"""The two commands of the README, as far as they can be run from inside one of them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def recipe(root: Path, *words: str) -> list[str]:
    """What make would run for a target whose set-up is done."""
    return recipe_output(root, "--dry-run", "--assume-old=.venv/.ready", *words).splitlines()


def recipe_output(root: Path, *words: str) -> str:
    make = ["make", "--no-print-directory", *words]
    return subprocess.run(make, cwd=root, capture_output=True, text=True, timeout=60, check=True).stdout


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


QUICK = (
    "pytest -n 2 --dist loadgroup --hypothesis-profile=check -m 'not kafka and not spark and not shell and not slow'"
)


def test_make_check_is_lint_and_the_quick_tests(root: Path) -> None:
    lines = [line.removeprefix(".venv/bin/") for line in recipe(root, "check")]
    assert lines[-5:-1] == ["ruff check .", "ruff format --check .", "mypy", "lint-imports --no-cache"]
    some = "tests/unit tests/cli tests/completions tests/docs --ignore tests/docs/test_examples.py"
    assert lines[-1] == f"{QUICK} {some}"


@pytest.mark.parametrize(
    ("target", "asks"), [("changed", "tests_of.py --changed"), ("tests-of", "tests_of.py kreplica/errors.py")]
)
def test_some_of_the_quick_tests_are_those_that_files_reach(root: Path, target: str, asks: str) -> None:
    text = " ".join(recipe(root, target, "FILE=kreplica/errors.py"))
    assert asks in text
    assert f".venv/bin/{QUICK} $files" in text


def test_a_search_says_its_seed_first_and_fuzzes_the_decoders(root: Path) -> None:
    lines = recipe(root, "search", "SEED=7", "SECONDS=3")
    text = " ".join(lines)
    assert 'seed=7; echo "seed $seed' in text
    assert "--hypothesis-profile=search" in text
    assert "--hypothesis-seed=$seed" in text
    assert lines[-1] == ".venv/bin/python tests/support/fuzzing/decoders.py --seconds 3"
    assert "--editable '.[search]'" in lines[-2], "else every later target would run a copy of the code as it is now"


def test_every_target_is_listed_by_make_help_and_told_of_in_contributing(root: Path) -> None:
    text = (root / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert targets is not None
    listed = [line.split()[0] for line in recipe_output(root, "help").splitlines()]
    assert sorted(listed) == sorted(targets[1].split())
    contributing = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in ("test", "check", "changed", "tests-of", "search", "mutants"):
        assert f"`make {target}" in contributing


def test_the_ci_runs_make_test(root: Path) -> None:
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^every_test\(\) {\n    timeout .*\bmake test\b", script, re.MULTILINE)
    assert re.search(r'^every_test .*&\nevery=\$!\n(.*\n)*wait "\$every" ', script, re.MULTILINE)
    assert "export CI=true" in script
    closing, failed, every = script.rstrip().splitlines()[-3:]
    assert closing.startswith("tail -n 1 "), "it ends with pytest's closing line"
    assert (failed, every) == ('((every_ended != 0)) || exit "$quick_ended"', 'exit "$every_ended"')
    assert subprocess.run(["bash", "-n"], input=script, text=True, timeout=60, check=False).returncode == 0


def test_the_ci_runs_every_test_on_debians_python_and_the_quick_ones_on_the_newest(root: Path) -> None:
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    before, _, after = script.partition("\nevery_test() {")
    assert re.search(r"export BASE_PYTHON=/usr/bin/python3.11\n.*make .venv/.ready\n", before, re.DOTALL)
    collected, _, rest = after.partition(".venv/bin/pytest --collect-only ")
    assert (rest != "", "every_test" in collected) == (True, False)
    assert 'quick_tests_on "$(newest_python)" ' in rest
    assert "--hypothesis-profile=other-python" in script
    assert f"{QUICK.partition(' -m ')[2][:-1]} and not one_python' " in script


def test_the_demo_shows_describe_check_and_audit_and_ends_well(
    demo: list[list[str]], run_cli: RunCli, root: Path
) -> None:
    """The audit is that of docs/fleet.md, which test_examples.py runs: it ends with 1 there."""
    *shown, audit = demo
    assert [arguments[0] for arguments in shown] == ["describe", "describe", "check"]
    assert audit == ["audit", "sample", "--exit-zero"]
    assert "```console spark exit=1\n$ kreplica audit sample\n" in (root / "docs" / "fleet.md").read_text(
        encoding="utf-8"
    )
    for arguments in shown:
        answer = run_cli(*arguments, timeout=200)
        assert answer.returncode == 0, (arguments, answer.stderr)
        assert len(answer.stdout.splitlines()) > 5
