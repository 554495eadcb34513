"""Docstrings begin with a verb or a noun, and modules have today's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = ("kreplica", "commands", "analyzers")
QUESTIONS = {"What", "How", "Who", "Where", "Which", "Whether", "Whose", "Whoever", "Whatever"}
RETIRED = {
    *("brief", "client_words", "culprits", "departures", "fault_words", "idle_settings", "key_value_text"),
    *("known_keys", "places", "side_by_side", "state_json", "strangers", "unread", "unread_ranges", "until"),
}
"""Module names of earlier days, each a riddle; docs/glossary.md has the words that took their place."""
RETIRED_NAMES = {
    *("Consequence", "Effect", "Sight", "Telling", "Until", "Wish", "_counted", "_listed", "_named", "_until"),
    *("find_strangers", "known_keys", "sight", "sights", "strangers", "telling", "way_in", "wish"),
}
"""Names in code of earlier days, as modules have them."""


def modules(root: Path) -> list[Path]:
    found = [path for package in PACKAGES for path in (root / package).rglob("*.py")]
    assert len(found) > 500
    return found


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings of modules, classes and functions, and the strings after assignments, each with its line."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for before, one in zip([None, *body], body, strict=False):
            if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
                continue
            if isinstance(one.value.value, str) and (
                isinstance(before, ast.Assign | ast.AnnAssign) or (before is None and documented)
            ):
                yield one.lineno, one.value.value


def asking(source: str) -> list[int]:
    """The lines of docstrings that begin as a question does."""
    words = ((line, text.split()) for line, text in docstrings(ast.parse(source)))
    return [line for line, some in words if some and some[0].strip(",.:;") in QUESTIONS]


def test_docstrings_begin_with_a_verb_or_a_noun(root: Path) -> None:
    found = {
        f"{path.relative_to(root)}:{line}"
        for path in modules(root)
        for line in asking(path.read_text(encoding="utf-8"))
    }
    assert not found


def test_docstrings_of_test_modules_do_so_too(root: Path) -> None:
    paths = [*(root / "tests").rglob("test_*.py"), *(root / "benchmarks").rglob("*.py")]
    assert len(paths) > 300
    begun = {path: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in paths}
    assert not [path for path, text in begun.items() if text.split(maxsplit=1)[:1] and text.split()[0] in QUESTIONS]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""What a thing is."""\n', [1]),
        ('"""A thing."""\n\nX = 1\n"""Which one."""\n', [4]),
        ('class A:\n    """Whether."""\n\n    def b(self) -> None:\n        """How, and why."""\n', [2, 5]),
        ('"""A thing."""\n\nX = "What it is"\nprint("How")\n', []),
    ],
)
def test_a_docstring_that_asks_is_found(source: str, lines: list[int]) -> None:
    assert sorted(asking(source)) == lines


def test_no_module_has_a_retired_name(root: Path) -> None:
    assert not {path.stem for path in modules(root)} & RETIRED


def names_in(source: str) -> dict[str, int]:
    """Names that a module defines, imports, passes or reads, each with the line of its first use."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(source)):
        for field in ("name", "id", "attr", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                found[name] = min(getattr(node, "lineno", 1), found.get(name, 1 << 30))
    return found


def test_no_retired_name_is_in_code(root: Path) -> None:
    found = {
        f"{path.relative_to(root)}:{line} {name}"
        for path in modules(root)
        for name, line in names_in(path.read_text(encoding="utf-8")).items()
        if name in RETIRED_NAMES
    }
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "class Wish:\n    pass\n",
        "def _named():\n    pass\n",
        "def again(way_in):\n    pass\n",
        "from a import b\n\nprint(b.strangers)\n",
        "from a import Until\n",
        "print(f'{way_in}')\n",
        "call(wish=1)\n",
    ],
)
def test_a_retired_name_is_found(source: str) -> None:
    assert set(names_in(source)) & RETIRED_NAMES


def test_a_retired_name_in_a_text_is_no_name() -> None:
    assert not set(names_in('"""Until then."""\n\nKEY = "strangers"\n')) & RETIRED_NAMES
