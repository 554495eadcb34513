"""Lines that a mutation run changes, and those that it leaves alone."""

from __future__ import annotations

import ast
import importlib
import random
import tomllib
from pathlib import Path

import pytest
from suite import mutants


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


@pytest.mark.one_python
def test_every_change_of_a_file_is_among_those_that_are_drawn_and_one_at_a_time() -> None:
    file = "kreplica/engine/rules/controller/isr.py"
    changes = mutants.every(file)
    whole = ast.unparse(ast.parse((mutants.ROOT / file).read_text(encoding="utf-8"))).splitlines()
    for change in changes:
        lines = change.source.splitlines()
        assert len(lines) == len(whole)
        assert sum(one != other for one, other in zip(lines, whole, strict=True)) == 1
    assert mutants._one(file, random.Random(7)) in changes


def test_every_area_is_recorded_and_none_below_its_floor() -> None:
    """An area that was not measured says so: nothing is claimed of it."""
    recorded = mutants.recorded()
    assert list(recorded) == list(mutants.AREAS)
    for area, found in recorded.items():
        if "not_measured" in found:
            assert list(found) == ["not_measured"]
            assert found["not_measured"]
            continue
        assert len(found["changes"]) >= mutants.LEAST, area
        assert mutants.noticed(found) >= mutants.floor_of(area), area
        assert {mutants.area_of(one["file"]) for one in found["changes"]} == {area}


def test_the_share_is_of_all_changes() -> None:
    assert mutants.noticed({"changes": [{"by": "a"}, {"by": None}, {"by": "no end"}, {"by": "b"}]}) == 0.75


@pytest.mark.one_python
def test_every_change_that_changes_nothing_has_its_reason_and_is_not_drawn() -> None:
    entries = tomllib.loads(mutants.EQUAL.read_text(encoding="utf-8")).get("equal", [])
    assert all(set(one) == {"file", "before", "after", "reason"} and one["reason"] for one in entries)
    drawn = {(one.file, one.before, one.after) for one in mutants.drawn("store", 15, 1)}
    assert not drawn & mutants.equal()


def test_a_loaded_function_gets_the_code_of_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "class A:\n    def f(self):\n        return 1\n\ndef g():\n    return [n for n in (1, 2)]\n"
    (tmp_path / "one_module.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("one_module")
    held = module.g
    changed = source.replace("return 1", "return 2").replace("(1, 2)", "(1, 3)")
    mutants.put_in(mutants.Change("one_module.py", 1, "", "", changed))
    assert (module.A().f(), held()) == (2, [1, 3])


def test_functions_of_one_name_each_keep_their_own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the lambdas of a class, or what reads and what sets a property."""
    source = """class A:
    first = lambda self: 1
    second = lambda self: 2
    @property
    def value(self):
        return self.held + 1
    @value.setter
    def value(self, number):
        self.held = number
"""
    (tmp_path / "names_twice.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    one = importlib.import_module("names_twice").A()
    changed = ast.unparse(ast.parse(source.replace("self.held + 1", "self.held - 1")))
    mutants.put_in(mutants.Change("names_twice.py", 1, "", "", changed))
    one.value = 5
    assert (one.first(), one.second(), one.value) == (1, 2, 4)


@pytest.mark.parametrize(
    ("file", "test", "beside"),
    [
        ("kreplica/engine/rules/replication/quorum.py", "engine/rules/replication/test_quorum_rules.py", True),
        ("kreplica/engine/rules/replication/quorum.py", "engine/rules/test_rule_limits.py", True),
        ("kreplica/engine/rules/replication/quorum.py", "engine/explorer/test_model_rules.py", False),
        ("kreplica/model/snapshot.py", "model/test_snapshot.py", True),
        ("kreplica/model/snapshot.py", "fleet/test_snapshot.py", False),
        ("commands/audit/sample.py", "commands/audit/test_incidents_screen.py", True),
        ("kreplica/errors.py", "test_errors.py", False),
    ],
)
def test_tests_stand_beside_a_module_below_the_folder_above_its_own(file: str, test: str, beside: bool) -> None:
    assert mutants._is_beside(mutants.ROOT / "tests" / "unit" / test, file) is beside
