"""The exit code of a command is that of the word that its verdict begins with."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from commands.shared.options.common import exit_of
from commands.shared.printing.verdicts import BY_EXPECTATION, EXIT_CODES, code_of, severity_color
from kreplica.errors import ExitCode
from kreplica.health.rules import Severity

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "kafka-4.3.1"
DATA = GOLDEN / "killed-all" / "broker-1" / "data"
DUMPS = {"sick": "sample", "healthy": "sample-healthy", "text": str(GOLDEN / "1-healthy" / "topics-describe.txt")}
ON_DUMPS = (
    ["describe"],
    ["describe", "--max-age", "1h"],
    ["describe", "--exclude-internal", "--topic", "__consumer_offsets"],
    ["check"],
    ["check", "--rule", "masked-under-replicated"],
    ["imbalance"],
    ["disks"],
    ["disks", "--min-usable", "99"],
    ["safe-to-stop", "1"],
    ["safe-to-stop", "1", "--max-age", "90w", "--accept-topic", ".*"],
    ["wait", "--for", "no-under-replicated", "--max-age", "90w"],
    ["wait", "--for", "in-sync", "--broker", "1"],
    ["recommend"],
    ["roll", "plan"],
    ["whatif", "fail", "--broker", "1"],
)
ON_FILES = (
    ["decode", "metadata", DATA],
    ["decode", "metadata", DATA, "--kind", "leader"],
    ["decode", "checkpoints", DATA],
    ["decode", "check", DATA],
    ["decode", "indexes", DATA],
    ["decode", "transactions", DATA],
)
LONGEST_FIRST = sorted(EXIT_CODES, key=len, reverse=True)
BY_SEVERITY = {"INFO", "WARNING", "CRITICAL"}


def word_of(out: str) -> str:
    """The word of the verdict: the first line that begins with one, for a table may stand above it."""
    lines = [line for line in out.splitlines() if re.match(rf"(?:{'|'.join(LONGEST_FIRST)}) [^ ]", line)]
    assert lines, out
    return next(word for word in LONGEST_FIRST if lines[0].startswith(f"{word} "))


def name_of(words: list[object]) -> str:
    return " ".join(str(word) for word in words if word is not DATA)


@pytest.mark.parametrize("dump", DUMPS)
@pytest.mark.parametrize("words", ON_DUMPS, ids=name_of)
def test_on_a_dump(kreplica: Any, words: list[str], dump: str) -> None:
    ended = kreplica(*words, "--dump", DUMPS[dump])
    if ended.code == ExitCode.USAGE:
        assert ended.err.startswith(("error: ", "warning: "))
        return
    assert ended.code == EXIT_CODES[word_of(ended.out)], ended.out


@pytest.mark.parametrize("words", ON_FILES, ids=name_of)
def test_on_files(kreplica: Any, words: list[str]) -> None:
    ended = kreplica(*words)
    assert ended.code == EXIT_CODES[word_of(ended.out)], ended.out


def test_the_worst_word_of_several_counts() -> None:
    assert code_of("HEALTHY", "INCOMPLETE") is ExitCode.INCOMPLETE
    assert code_of("HEALTHY", "INCOMPLETE", "UNHEALTHY") is ExitCode.FINDINGS
    ends = [exit_of(code, exit_zero=True).exit_code for code in (ExitCode.FINDINGS, ExitCode.INCOMPLETE)]
    assert ends == [ExitCode.OK, ExitCode.INCOMPLETE]
    assert exit_of(ExitCode.FINDINGS, exit_zero=False).exit_code is ExitCode.FINDINGS
    assert code_of("HEALTHY") is ExitCode.OK


def test_the_worse_a_severity_the_redder() -> None:
    assert [severity_color(Severity(word)) for word in ("info", "warning", "critical")] == ["green", "yellow", "red"]


def test_every_word_that_a_screen_begins_with_has_a_code() -> None:
    """A tuple or a call that puts a word in capitals beside a colour is a verdict."""
    found = set()
    for path in (ROOT / "commands").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search("red|green|yellow", text) else ():
            parts = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
            texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if {"red", "green", "yellow"} & set(texts):
                found |= {text for text in texts if re.fullmatch(r"[A-Z][A-Z ]+", text)}
    assert len(found) > 30
    assert found <= EXIT_CODES.keys() | BY_EXPECTATION, f"give these a code: {found - EXIT_CODES.keys()}"
