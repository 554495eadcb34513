"""Changes lines of the program one at a time and counts what the quick tests notice: ``make mutants AREA=store``.

A change is an operator, a number, a condition or a call that differs; which ones are tried is drawn by a seed. The
tests are those nearest to the changed module; each change is tried in a process of its own, forked from one that has
the area loaded: there the changed functions get their new code, programs that tests start read the changed file. What
a test noticed counts only if the same test passes without the change.

tests/mutants_measured.json keeps what was measured of each area, change by change: a second run shows a change first to
the test that noticed it before. An area whose share of noticed changes is below its floor ends the run with 1. Changes
that change nothing are listed in tests/mutants.toml, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from suite.tests_of import ROOT, distances, imports

AREAS = {
    "execution": ("kreplica/execution/", "kreplica/control/"),
    "gates": (
        *("commands/check/", "commands/roll/", "commands/safe_to_stop/", "commands/shared/stop_", "commands/wait/"),
        *("kreplica/monitoring/waiting/stop_gate", "kreplica/monitoring/waiting/in_sync"),
        *("kreplica/health/impact/stop", "kreplica/health/impact/fail"),
        *("kreplica/health/wait_conditions", "kreplica/planner/restart"),
    ),
    "sources": ("kreplica/sources/",),
    "store": ("kreplica/store/",),
    "history": ("kreplica/history/",),
    "fleet": ("kreplica/fleet/",),
    "traces": ("kreplica/engine/traces/", "kreplica/formats/traces/", "commands/whatif/validate/"),
    "engine": ("kreplica/engine/", "kreplica/scenarios/", "kreplica/report/"),
    "formats": ("kreplica/formats/",),
    "health": ("kreplica/health/", "kreplica/monitoring/", "kreplica/advice/", "kreplica/planner/"),
    "model": ("kreplica/model/",),
    "config": ("kreplica/config/", "kreplica/system/"),
    "commands": ("commands/",),
    "analyzers": (
        *("analyzers/reading/broker_facts", "analyzers/reading/folded", "analyzers/reading/sources"),
        *("analyzers/reading/timeline", "analyzers/rules/rule_files", "analyzers/sessions/failures"),
        "analyzers/judging/flag_counts",
    ),
}
"""The first that fits is a file's area. What needs Spark, as the sandbox, has no quick tests."""

PACKAGES = ("kreplica", "commands", "analyzers")

FLOORS = {"execution": 0.9, "gates": 0.9, "sources": 0.9, "store": 0.9}
FLOOR = 0.8
"""Of the other areas."""

EQUAL = ROOT / "tests" / "mutants.toml"
MEASURED = ROOT / "tests" / "mutants_measured.json"
LEAST = 15
"""Changes that an area is judged by, at least."""
BESIDE = 12
"""Test files a change is shown to that import its module and stand beside, at most: a change has to end in time."""
NEAREST = 4
"""The nearest of all test files, which it is shown to as well."""
SECONDS = 240
"""Of the tests of one change: a loop without end counts as noticed."""
HEAVY = ("pyarrow.parquet", "rich.console", "typer")
"""Loaded once, before the first change, as are the area's own modules."""

OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One changed place: the line as it was and as it is now, and the whole module with it."""

    file: str
    line: int
    before: str
    after: str
    source: str


def area_of(file: str) -> str | None:
    return next((area for area, beginnings in AREAS.items() if file.startswith(beginnings)), None)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """What runs inside functions; declarations and constants at the top are left alone."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(ast.Module(function.body, [])):
                if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
                    yield node


def _places(statement: ast.stmt) -> Iterator[ast.AST]:
    """What may be changed in a statement itself, not in those below it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [
            child
            for name, value in ast.iter_fields(node)
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, ast.AST)
            and not isinstance(child, ast.stmt)
            and name not in ("annotation", "format_spec")
        ]


def _mutate(node: ast.AST) -> bool:
    """Changes a node in place; False where it is of no kind that is changed."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        node.ops[0] = OTHER[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in OTHER:
        node.op = OTHER[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        node.value += 1
    elif isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node.value = ast.Constant(None)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        node.exc, node.cause = ast.Call(ast.Name("print"), [], []), None  # see _text
    else:
        return False
    return True


def _text(statement: ast.stmt) -> str:
    return ast.unparse(ast.fix_missing_locations(statement)).splitlines()[0].replace("raise print()", "pass")


def drawn(area: str, count: int, seed: int) -> list[Change]:
    """So many changes of an area, each place as likely as any other, without those that are known to change nothing."""
    files = [name for package in PACKAGES for name in _files(package) if area_of(name) == area]
    sizes = [(ROOT / name).stat().st_size for name in files]
    numbers, found = random.Random(f"{seed} {area}"), {}
    while len(found) < count:
        file = numbers.choices(files, sizes)[0]
        change = _one(file, numbers)
        if change and (change.file, change.before, change.after) not in equal():
            found[change.file, change.line, change.after] = change
    return list(found.values())


def _files(package: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*.py"))


def every(file: str) -> list[Change]:
    """All changes of a file, in the order of its lines, without those that are known to change nothing."""
    source = (ROOT / file).read_text(encoding="utf-8")
    made = (_changed(file, ast.parse(source), place) for place in range(len(_nodes(ast.parse(source)))))
    found = {(one.line, one.before, one.after): one for one in made if one}
    known = equal()
    return [found[key] for key in sorted(found) if (file, *key[1:]) not in known]


def _one(file: str, numbers: random.Random) -> Change | None:
    source = (ROOT / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    places = [*range(len(_nodes(tree)))]
    numbers.shuffle(places)
    return next((change for place in places if (change := _changed(file, tree, place))), None)


def _changed(file: str, tree: ast.Module, place: int) -> Change | None:
    """Changes a tree at one of its places; None where there is nothing to change."""
    statement, node = _nodes(tree)[place]
    before = _text(statement)
    if not _mutate(node) or _text(statement) == before:
        return None
    text = ast.unparse(ast.fix_missing_locations(tree)).replace("raise print()", "pass")
    return Change(file, statement.lineno, before, _text(statement), text)


def _nodes(tree: ast.Module) -> list[tuple[ast.stmt, ast.AST]]:
    return [(statement, node) for statement in _statements(tree) for node in _places(statement)]


def equal() -> set[tuple[str, str, str]]:
    """Changes that change nothing that anybody could see."""
    entries = tomllib.loads(EQUAL.read_text(encoding="utf-8")).get("equal", [])
    return {(entry["file"], entry["before"], entry["after"]) for entry in entries}


@cache
def _reach(test: Path) -> int:
    """How many files a test reaches: one that reaches few is about one thing."""
    found, waiting = {test}, [test]
    while waiting:
        new = imports(waiting.pop()) - found
        found |= new
        waiting += new
    return len(found)


@cache
def nearest(file: str) -> list[str]:
    """The test files that a change is shown to: without those that need a broker, Spark or minutes.

    First those that import the module and stand beside it: below the folder above that of its name. Then the nearest:
    in the folder of the same name, whose names have a word of the module's, and that say its command most.
    """
    far = distances([ROOT / file])
    names = {path: str(path.relative_to(ROOT)) for path in far if path.name.startswith("test_")}
    quick = [path for path, name in names.items() if name.startswith(("tests/unit/", "tests/cli/"))]
    words = {*Path(file).stem.split("_"), Path(file).parent.name}
    alike = {path: len({*path.stem.split("_"), path.parent.name} & words) for path in quick}
    said = {path: path.read_text(encoding="utf-8").count(Path(file).stem.replace("_", "-")) for path in quick}
    ordered = sorted(quick, key=lambda path: (-alike[path], far[path], -said[path], _reach(path), names[path]))
    beside = [path for path in ordered if far[path] == 1 and _is_beside(path, file)][:BESIDE]
    return [names[path] for path in dict.fromkeys((*beside, *ordered[:NEAREST]))]


def _is_beside(test: Path, file: str) -> bool:
    """True below the folder of tests above that of a module's package, or below its own where there is none above."""
    package = Path(file.removeprefix("kreplica/")).parent.parts
    return bool(package) and test.is_relative_to(ROOT.joinpath("tests", "unit", *(package[:-1] or package)))


def copy(folder: Path) -> None:
    """The project as it is now, without what git ignores: the files here are never changed."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    for name in done.stdout.split():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


@dataclass(eq=False, slots=True)
class FirstFailure:
    """Writes down which test failed first; a plugin of pytest."""

    file: Path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._write(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report.nodeid)

    def _write(self, name: str) -> None:
        if not self.file.exists():
            self.file.write_text(name, encoding="utf-8")


def load(folder: Path, files: list[str]) -> None:
    """Imports modules of a copy of the project, not of this one."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    for name in [*HEAVY, *(file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in files)]:
        importlib.import_module(name)


def put_in(change: Change) -> None:
    """Gives the functions of a loaded module the code that they have after a change."""
    place = change.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    functions = [one for one in gc.get_objects() if type(one) is FunctionType and one.__module__ == place]
    lines: dict[str, set[int]] = {}  # several functions may have one name: the lambdas of a class, a property's two
    for function in functions:
        lines.setdefault(function.__code__.co_qualname, set()).add(function.__code__.co_firstlineno)
    new: dict[str, list[CodeType]] = {}
    for code in _codes(compile(change.source, change.file, "exec", dont_inherit=True)):
        new.setdefault(code.co_qualname, []).append(code)
    for function in functions:
        old = function.__code__
        alike = new.get(old.co_qualname, [])
        if len(alike) == len(lines[old.co_qualname]):
            code = alike[sorted(lines[old.co_qualname]).index(old.co_firstlineno)]
            if code.co_freevars == old.co_freevars:
                function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def _run_tests(folder: Path, tests: list[str], failed: Path, change: Change | None) -> None:
    """Runs tests of the program in a folder; for a process of its own."""
    os.setsid()
    if change is not None:
        put_in(change)
    os.environ["PYTHONPATH"] = str(folder)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    own = {str(Path(__file__).parents[1]), str(Path(__file__).parent)}
    sys.path[:] = [str(folder), *(path for path in sys.path if path not in own)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "suite"]:
        del sys.modules[name]
    sys.dont_write_bytecode = False
    command = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
    marks = ["-m", "not kafka and not spark and not shell and not slow"]
    code = pytest.main([*command, *marks, *tests], plugins=[FirstFailure(failed)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not failed.exists():
        failed.write_text("", encoding="utf-8")


def fails(folder: Path, tests: list[str], change: Change | None = None) -> str | None:
    """The first test that fails in a folder, None if all pass; empty if pytest itself could not run."""
    with tempfile.TemporaryDirectory(prefix="mutants-failed-") as name:
        failed = Path(name) / "first"
        child = os.fork()
        if child == 0:
            try:
                _run_tests(folder, tests, failed, change)
                os._exit(0)
            except BaseException:
                os._exit(70)
        if not _ends(child):
            return "no end"
        return failed.read_text(encoding="utf-8") if failed.exists() else None


def _ends(child: int) -> bool:
    """Waits for a process; one that takes too long is killed, with what it started."""
    last = time.monotonic() + SECONDS
    while time.monotonic() < last:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@dataclass(slots=True)
class Trial:
    """Tries changes in a copy of the project."""

    folder: Path
    known: dict[tuple[str, str, str], str]
    """Tests that noticed a change before."""
    sound: set[str] = field(default_factory=set)
    """Tests that pass without any change."""
    marks: int = 0

    def noticed_by(self, change: Change) -> str | None:
        """The test that notices a change."""
        before = self.known.get((change.file, change.before, change.after))
        place = self.folder / change.file
        whole = place.read_text(encoding="utf-8")
        self._write(place, change.source)
        try:
            there = before and (self.folder / before.split("::")[0]).exists()
            found = fails(self.folder, [str(before)], change) if there else None
            found = found or fails(self.folder, nearest(change.file), change)
        finally:
            self._write(place, whole)
        self._prove(found)
        return found

    def _write(self, place: Path, text: str) -> None:
        """Gives each text of a file another time: bytecode is told apart by seconds and size."""
        place.write_text(text, encoding="utf-8")
        self.marks += 1
        os.utime(place, (self.marks * 10, self.marks * 10))

    def _prove(self, test: str | None) -> None:
        """Ends the run where a test fails without any change."""
        if test is None or test == "no end" or test in self.sound:
            return
        if not test or fails(self.folder, [test]) is not None:
            sys.exit(f"fails without any change, so it notices nothing: {test or 'pytest'}")
        self.sound.add(test)


def try_area(area: str, count: int, seed: int) -> dict[str, Any]:
    """What came of so many changes of an area, as it is recorded."""
    began = time.monotonic()
    rows = tried(drawn(area, count, seed), area)
    return {"seed": seed, "commit": _commit(), "seconds": round(time.monotonic() - began), "changes": rows}


def tried(chosen: list[Change], area: str) -> list[dict[str, Any]]:
    """Tries changes in a copy of the project, and prints what came of each. What is recorded of their area helps."""
    entries, rows = recorded().get(area, {}).get("changes", []), []
    known = {(entry["file"], entry["before"], entry["after"]): entry["by"] for entry in entries if entry["by"]}
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        copy(Path(name))
        trial = Trial(Path(name), known)
        load(Path(name), sorted({change.file for change in chosen}))
        for change in chosen:
            found = trial.noticed_by(change)
            told = f"{change.file}:{change.line}: {change.before} -> {change.after}"
            print(f"by {found}: {told}" if found else f"UNNOTICED: {told}", flush=True)
            rows.append({"file": change.file, "before": change.before, "after": change.after, "by": found})
    return rows


def _commit() -> str:
    """The last one that changed the program."""
    words = ["git", "log", "-1", "--format=%h", "--", *PACKAGES]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def recorded() -> dict[str, dict[str, Any]]:
    """What was measured, by area; of an area that was not, the reason."""
    found: dict[str, dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def record(area: str, found: dict[str, Any]) -> None:
    """Keeps what was measured of one area, those of the others as they are, in the order of the areas."""
    every = {**recorded(), area: found}
    text = json.dumps({name: every[name] for name in AREAS if name in every}, indent=1, ensure_ascii=False)
    MEASURED.write_text(text + "\n", encoding="utf-8")


def noticed(found: dict[str, Any]) -> float:
    """The share of changes that a test noticed."""
    return sum(1 for entry in found["changes"] if entry["by"]) / len(found["changes"])


def floor_of(area: str) -> float:
    return FLOORS.get(area, FLOOR)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", choices=[*AREAS, "all"], default="all")
    parser.add_argument("--count", type=int, default=LEAST, help=f"changes of each area, at least {LEAST}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--file", help="every change of this file, such as kreplica/model/snapshot.py; none is recorded"
    )
    given = parser.parse_args()
    if given.file:
        rows = tried(every(given.file), area_of(given.file) or "")
        print(f"{given.file}: {sum(bool(row['by']) for row in rows)} of {len(rows)} noticed")
        return int(not all(row["by"] for row in rows))
    print(f"seed {given.seed}", flush=True)
    if given.area == "all":  # a process each: the modules of a copy are loaded once
        words = ["--count", str(given.count), "--seed", str(given.seed)]
        return max(subprocess.call([sys.executable, __file__, "--area", area, *words]) for area in AREAS)
    found = try_area(given.area, given.count, given.seed)
    if given.count >= LEAST:
        record(given.area, found)
    share, count, floor = noticed(found), len(found["changes"]), floor_of(given.area)
    print(f"{given.area}: {share:.0%} of {count} noticed in {found['seconds']} s; the floor is {floor:.0%}")
    return int(share < floor)


if __name__ == "__main__":
    sys.exit(main())
