"""Test files that a changed file reaches, by imports.

    python tests/support/suite/tests_of.py kreplica/store/layout.py

``--changed`` takes the files that differ from where this branch left origin/main. An import inside a function counts,
one for types alone does not. The words of command lines and dotted names in a test's strings count as imports
of what they name, since commands are loaded by name; so do names that a package loads when they are first used.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("kreplica", "analyzers", "commands")
SUPPORT = ROOT / "tests" / "support"


@cache
def modules() -> dict[str, Path]:
    """Modules of the program and of tests/support by the name they are imported by."""
    homes = [(SUPPORT, SUPPORT), *((ROOT, ROOT / package) for package in PACKAGES)]
    paths = [(top, path) for top, folder in homes for path in folder.rglob("*.py")]
    return {
        ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__"): path for top, path in paths
    }


@cache
def _name_of() -> dict[Path, str]:
    return {path: name for name, path in modules().items()}


@cache
def test_files() -> list[Path]:
    return sorted((ROOT / "tests").rglob("test_*.py"))


def tree(path: Path) -> ast.Module:
    """Is not kept: those of all files are millions of objects."""
    return ast.parse(path.read_text(encoding="utf-8"))


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _at_run_time(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those below ``if TYPE_CHECKING``."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for value in vars(node).values():
            children = value if isinstance(value, list) else (value,)
            waiting += [each for each in children if isinstance(each, ast.AST) and not _is_for_types(each)]


@cache
def _homes(package: str) -> dict[str, str]:
    """Names that a package loads when they are first used, with the modules they live in."""
    if package not in modules():
        return {}
    blocks = [node for node in tree(modules()[package]).body if _is_for_types(node)]
    found = (each for block in blocks for each in ast.walk(block) if isinstance(each, ast.ImportFrom) and each.module)
    return {alias.name: str(each.module) for each in found for alias in each.names}


def _module_of(dotted: str) -> str | None:
    """The longest beginning of a dotted name that is a module."""
    while dotted and dotted not in modules():
        dotted = dotted.rpartition(".")[0]
    return dotted or None


def _named(node: ast.AST, package: str) -> Iterator[str]:
    """Dotted names that one node of a module's tree imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        for alias in node.names:
            yield _homes(node.module).get(alias.name) or f"{node.module}.{alias.name}"
    elif isinstance(node, ast.Call) and _called(node.func) == "import_module" and node.args:
        prefix = ast.unparse(node.args[0]).replace("{__name__}", package).split("{")[0].strip("f'\"")
        if prefix.removesuffix(".") not in PACKAGES and not _homes(package):  # those are named by words: see below
            yield from (name for name in modules() if prefix and name.startswith(prefix))


def _called(function: ast.expr) -> str:
    """The last part of a function's name."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


@cache
def _commands() -> dict[str, set[str]]:
    """Modules of commands by the words that name them: ``safe-to-stop``, ``offsets`` of ``decode offsets``."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "commands").rglob("*.py"):
        own = {path.stem, path.stem.partition("_")[0]} - {"command", "answer", "screen"}
        for word in {path.parent.name, *own}:
            found.setdefault(word.replace("_", "-"), set()).add(_name_of()[path])
    return found


def _said(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Modules that the strings of a test name."""
    words = path.name.startswith("test_") and "unit" not in path.parts  # unit tests run no command lines
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
            for word in node.value.split() if words else ():
                yield from _commands().get(word, ())


@cache
def imports(path: Path) -> frozenset[Path]:
    """Files that a file imports by itself; for a test also the conftest.py above it and what its strings name."""
    package = _name_of().get(path, "")
    nodes = list(_at_run_time(tree(path)))
    named = {name for node in nodes for name in _named(node, package)}
    found: set[Path] = set()
    if path.is_relative_to(ROOT / "tests"):
        named |= set(_said(path, nodes))
        found = {folder / "conftest.py" for folder in path.parents if (folder / "conftest.py").exists()}
    found |= {modules()[name] for name in map(_module_of, named) if name is not None}
    return frozenset(found - {path})


@cache
def _importers() -> dict[Path, set[Path]]:
    found: dict[Path, set[Path]] = {}
    for path in {*modules().values(), *(ROOT / "tests").rglob("*.py")}:
        for other in imports(path):
            found.setdefault(other, set()).add(path)
    return found


def distances(files: Iterable[Path]) -> dict[Path, int]:
    """Every file that reaches one of these files, and over how many imports."""
    found = {path.resolve(): 0 for path in files}
    waiting = deque(found)
    while waiting:
        here = waiting.popleft()
        for other in _importers().get(here, set()) - found.keys():
            found[other] = found[here] + 1
            waiting.append(other)
    return found


def reached_by(files: Iterable[Path]) -> list[Path]:
    """Test files that reach one of these files: modules by imports, any other file by its name or its folder's."""
    wanted = [path.resolve() for path in files]
    others = [path.relative_to(ROOT) for path in wanted if path.suffix != ".py"]
    words = {part for path in others for part in (path.name, path.parent.name) if part}
    reaching = distances(path for path in wanted if path.suffix == ".py")
    return [test for test in test_files() if test in reaching or _names(test, words)]


def _names(test: Path, words: Iterable[str]) -> bool:
    text = test.read_text(encoding="utf-8")
    return any(word in text for word in words)


def changed() -> list[Path]:
    """Files that differ from where this branch left origin/main, new ones and those not yet committed included."""
    base = _git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    names = {*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")}
    return [ROOT / name for name in names]


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.split()


def main(words: list[str]) -> int:
    """Prints the test files, one a line."""
    files = changed() if words == ["--changed"] else [Path(word) for word in words]
    for test in reached_by(files):
        print(test.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
