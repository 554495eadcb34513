"""What a mutation run changes, and what it leaves alone."""

from __future__ import annotations

import ast
from pathlib import Path

import mutants
import pytest


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("return a == b", {"return a != b"}),
        ("return a < 1", {"return a <= 1", "return a < 2"}),
        ("return a and b", {"return a or b"}),
        ("return a - b", {"return a + b"}),
        ("send(a)", {"None"}),
        ("raise ValueError(a)", {"pass"}),
        ("x: int = b", set()),
        ("return 'text'", set()),
    ],
)
def test_each_place_of_a_line_is_changed_by_itself(line: str, changed: set[str]) -> None:
    source = f"def f(a, b):\n    {line}\n"
    count = sum(1 for statement in mutants._statements(ast.parse(source)) for _ in mutants._places(statement))
    found = set()
    for number in range(count):
        tree = ast.parse(source)
        statement, node = [(s, n) for s in mutants._statements(tree) for n in mutants._places(s)][number]
        if mutants._mutate(node):
            found.add(mutants._text(statement))
    assert found == changed


def test_every_module_is_of_an_area_or_has_no_quick_tests(root: Path) -> None:
    without = {
        path.parts[1] for path in (p.relative_to(root) for p in (root / "kreplica").rglob("*.py"))
        if mutants.area_of(str(path)) is None
    }  # fmt: skip
    assert {name for name in without if not name.endswith(".py")} == {"sandbox"}


def test_the_same_seed_draws_the_same_changes() -> None:
    first, second = ([(one.file, one.line, one.after) for one in mutants.drawn("store", 3, 5)] for _ in range(2))
    assert first == second
    assert all(file.startswith("kreplica/store/") for file, _, _ in first)
