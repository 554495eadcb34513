"""The columns of every answer are those of the class of its rows, where each field has a meaning."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

from analyzers.rows import SnapshotCountsRow, SnapshotFinding, SpanFinding
from commands.decode.offsets.rows import ComparedOffset, OffsetRow
from commands.describe.rows import GROUP_ROWS
from commands.history.answer import ROWS_NAMES
from kreplica.health.listing import ROW_FIELDS, row_meanings
from kreplica.model.tables.rows import fields_of

ROOT = Path(__file__).parents[5]

NAMES_ONLY = {
    "commands/decode/segment/command.py",
}
"""Files whose rows are mappings still: take one out when its rows have a class."""


COMPUTED: dict[str, set[type]] = {
    "commands/audit/answer.py": {SpanFinding, SnapshotFinding, SnapshotCountsRow},
    "commands/history/answer.py": {*ROWS_NAMES},
    "commands/describe/answer.py": {*GROUP_ROWS.values()},
    "commands/decode/offsets/answer.py": {OffsetRow, ComparedOffset},
}
"""Files that choose a class by the question; describe's partitions are columns, which have their meanings below."""


def answers(tree: ast.AST) -> Iterator[ast.expr]:
    """The columns of each answer that a file makes."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Answer":
            named = [word.value for word in call.keywords if word.arg == "columns"]
            yield (named or call.args[2:])[0]


def row_class(tree: ast.AST, module: str, columns: ast.expr) -> type | None:
    """The class that the columns are; None where they are names."""
    if not isinstance(columns, ast.Name) or columns.id.isupper() or columns.id.islower():
        return None
    homes = [
        each.module
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom) and each.module and columns.id in {alias.name for alias in each.names}
    ]
    found = getattr(importlib.import_module((homes or [module])[0]), columns.id)
    assert isinstance(found, type), (module, columns.id)
    return found


def test_the_rows_of_every_answer_have_a_class_whose_fields_have_meanings() -> None:
    plain: set[str] = set()
    classes: set[type] = set()
    for path in sorted((ROOT / "commands").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for columns in answers(tree):
            row = row_class(tree, name.removesuffix(".py").replace("/", "."), columns)
            if row is not None:
                classes.add(row)
            elif name in COMPUTED:
                classes |= COMPUTED[name]
            else:
                plain.add(name)
    assert plain == NAMES_ONLY
    assert tuple(row_meanings()) == ROW_FIELDS
    assert "Finding" in {row.__name__ for row in classes}
    for row in classes:
        for field in fields_of(row):
            assert len(field.meaning.text) > 3, (row, field.name)
            assert not field.meaning.text.endswith("."), (row, field.name)
