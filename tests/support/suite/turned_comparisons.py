"""Modules with one comparison turned around: what a rule says then is to differ from what it says."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    one: other
    for pair in ((ast.Lt, ast.GtE), (ast.Gt, ast.LtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn))
    for one, other in (pair, pair[::-1])
}


def turned(module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """The module once for each comparison in it, with that one turned around; and which one it is.

    Args:
        module: The module; it stays as it is.
    """
    assert module.__file__ is not None
    text = Path(module.__file__).read_text(encoding="utf-8")
    places = [at for at, node in enumerate(ast.walk(ast.parse(text))) if _can_be_turned(node)]
    for place in places:
        tree = ast.parse(text)
        node = list(ast.walk(tree))[place]
        assert isinstance(node, ast.Compare)
        said = f"line {node.lineno}: {ast.unparse(node)}"
        node.ops[0] = _TURNED[type(node.ops[0])]()
        yield said, _made(module, tree)


def with_changed(module: ModuleType, changed: ModuleType) -> ModuleType:
    """The module made anew beside a changed one that it imports."""
    assert module.__file__ is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, changed.__name__, changed)
        return _made(module, ast.parse(Path(module.__file__).read_text(encoding="utf-8")))


def _can_be_turned(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED


def _made(module: ModuleType, tree: ast.Module) -> ModuleType:
    found = ModuleType(module.__name__)
    found.__file__ = module.__file__
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, found)  # classes of data are looked up by the name of their module
        exec(compile(tree, str(module.__file__), "exec"), found.__dict__)
    return found
