"""Notebooks of the docs: their cells are run as Jupyter would, and what they show is kept in them.

``python tests/support/answers/notebooks.py`` runs all of them and keeps what they show now.
"""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[3] / "docs"


def notebooks() -> list[Path]:
    """Every notebook of the docs."""
    return sorted(DOCS.rglob("*.ipynb"))


def shown(path: Path) -> list[list[dict[str, Any]]]:
    """Runs a notebook from its top; the outputs of each code cell, in the form of the format (nbformat 4)."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = enumerate(_code_cells(_read(path)), start=1)
    return [_outputs("".join(cell["source"]), number, names) for number, cell in cells]


def kept(path: Path) -> list[list[dict[str, Any]]]:
    """The outputs that the notebook has."""
    return [cell["outputs"] for cell in _code_cells(_read(path))]


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _code_cells(notebook: dict[str, Any]) -> Sequence[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _outputs(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, then the value of the expression that it ends with."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        found.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Keeps what each notebook shows now."""
    for path in notebooks():
        notebook = _read(path)
        for cell, outputs in zip(_code_cells(notebook), shown(path), strict=True):
            cell["outputs"] = outputs
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
