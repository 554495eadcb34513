"""Changes lines of the program one at a time and counts what the quick tests notice: ``make mutants AREA=store``.

A change is an operator, a number, a condition or a call that differs; which ones are tried is drawn by a seed. The
tests are those nearest to the changed module by imports. An area whose share of noticed changes is below its floor ends
the run with 1. Changes that change nothing are listed in tests/mutants.toml, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests_of import ROOT, distances

AREAS = {
    "execution": ("kreplica/execution/", "kreplica/control/"),
    "gates": (
        *("commands/check", "commands/roll", "commands/safe_to_stop", "commands/stop_gate", "commands/wait"),
        *("kreplica/health/stopping", "kreplica/health/failing", "kreplica/health/goals", "kreplica/planner/restart"),
    ),
    "sources": ("kreplica/sources/",),
    "store": ("kreplica/store/",),
    "engine": ("kreplica/engine/", "kreplica/scenarios/", "kreplica/report/"),
    "formats": ("kreplica/formats/",),
    "health": ("kreplica/health/", "kreplica/advice/", "kreplica/planner/"),
    "model": ("kreplica/model/",),
    "commands": ("commands/",),
}
"""The first that fits is a file's area. Spark and the sandbox have no quick tests."""

FLOORS = {"execution": 0.9, "gates": 0.9, "sources": 0.9, "store": 0.9}
FLOOR = 0.8
"""Of the other areas."""

TABLE = ROOT / "tests" / "mutants.toml"
NEAREST = 6
"""Test files a change is shown to."""
SECONDS = 240
"""Of the tests of one change: a loop without end counts as noticed."""

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
    files = [name for package in ("kreplica", "commands") for name in _files(package) if area_of(name) == area]
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


def _one(file: str, numbers: random.Random) -> Change | None:
    source = (ROOT / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    nodes = [(statement, node) for statement in _statements(tree) for node in _places(statement)]
    numbers.shuffle(nodes)
    for statement, node in nodes:
        before = _text(statement)
        if _mutate(node) and _text(statement) != before:
            text = ast.unparse(ast.fix_missing_locations(tree)).replace("raise print()", "pass")
            return Change(file, statement.lineno, before, _text(statement), text)
    return None


def equal() -> set[tuple[str, str, str]]:
    """Changes that change nothing that anybody could see."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8")).get("equal", [])
    return {(entry["file"], entry["before"], entry["after"]) for entry in entries}


def nearest(file: str) -> list[str]:
    """The test files that a change is shown to: without those that need a broker, Spark or minutes."""
    far = distances([ROOT / file])
    names = {path: str(path.relative_to(ROOT)) for path in far if path.name.startswith("test_")}
    quick = [path for path, name in names.items() if name.startswith(("tests/unit/", "tests/cli/"))]
    alike = {path: set(path.stem.split("_")) & set(Path(file).stem.split("_")) for path in quick}
    return [names[path] for path in sorted(quick, key=lambda path: (-len(alike[path]), far[path], names[path]))][
        :NEAREST
    ]


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


def fails(folder: Path, tests: list[str]) -> str | None:
    """What the tests say of the program in a folder: the first one that fails, None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options = ["--hypothesis-profile=check", "-m", "not kafka and not spark and not shell and not slow"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *options, *tests], cwd=folder, env=environment,
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode in (0, 5):
        return None
    return next((line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), "not collected")


def try_area(area: str, count: int, seed: int) -> tuple[int, list[Change]]:
    """How many changes were tried, and those that nothing noticed."""
    chosen, unnoticed = drawn(area, count, seed), []
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        copy(folder)
        for change in chosen:
            whole = (folder / change.file).read_text(encoding="utf-8")
            (folder / change.file).write_text(change.source, encoding="utf-8")
            found = fails(folder, nearest(change.file))
            (folder / change.file).write_text(whole, encoding="utf-8")
            told = f"{change.file}:{change.line}: {change.before} -> {change.after}"
            print(f"by {found}: {told}" if found else f"UNNOTICED: {told}", flush=True)
            if not found:
                unnoticed.append(change)
        used = sorted({test for change in chosen for test in nearest(change.file)})
        if broken := fails(folder, used):
            sys.exit(f"the tests fail without any change, nothing above counts: {broken}")
    return len(chosen), unnoticed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", choices=[*AREAS, "all"], default="all")
    parser.add_argument("--count", type=int, default=40, help="changes of each area")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    below = []
    for area in AREAS if given.area == "all" else [given.area]:
        tried, unnoticed = try_area(area, given.count, given.seed)
        share, floor = 1 - len(unnoticed) / tried, FLOORS.get(area, FLOOR)
        print(f"{area}: {tried - len(unnoticed)} of {tried} noticed, {share:.0%}; the floor is {floor:.0%}", flush=True)
        below += [area] * (share < floor)
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
