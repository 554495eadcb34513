"""The scripts kept under completions/, and what asking for words costs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.completions.command import FILE_NAMES, Shell

RunCli = Callable[..., subprocess.CompletedProcess[str]]

HEAVY = ("pandas", "pyspark", "pyarrow", "numpy", "numba", "scipy", "confluent_kafka", "kafka", "kazoo", "rich")


@pytest.mark.parametrize("shell", Shell)
def test_the_kept_script_is_what_the_program_prints(shell: Shell, run_cli: RunCli, root: Path) -> None:
    printed = run_cli("completions", shell)
    assert (printed.returncode, printed.stderr) == (0, "")
    kept = (root / "completions" / FILE_NAMES[shell]).read_text(encoding="utf-8")
    assert printed.stdout == kept, "completions/ is stale: run `make completions`"


def test_nothing_else_is_kept(root: Path) -> None:
    assert {path.name for path in (root / "completions").iterdir()} == set(FILE_NAMES.values())


@pytest.mark.parametrize("words", [("",), ("describe", "--"), ("describe", "-o", "")])
def test_asking_for_words_imports_nothing_heavy(words: tuple[str, ...], run_cli: RunCli) -> None:
    asked = {"_KREPLICA_COMPLETE": str(len(words)), "PYTHONPROFILEIMPORTTIME": "1"}
    answer = run_cli(*words, env=asked)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in answer.stderr.splitlines()}
    assert answer.stdout.startswith("word\t")
    assert "typer" in imported
    assert imported.isdisjoint(HEAVY)


def test_an_empty_last_word_may_be_dropped_by_the_shell(run_cli: RunCli) -> None:
    asked = {"_KREPLICA_COMPLETE": "2"}
    assert run_cli("rebalance", env=asked).stdout == run_cli("rebalance", "", env=asked).stdout != ""


@pytest.mark.parametrize("index", ["", "x", "0", "-1"])
def test_a_strange_index_offers_nothing_and_runs_nothing(index: str, run_cli: RunCli) -> None:
    answer = run_cli("completions", "bash", env={"_KREPLICA_COMPLETE": index})
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
