"""The table of conformance in docs/conformance.md, between its marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.play import Result
from conformance.script import Row

BEGIN, END = "<!-- table: make conformance -->\n", "<!-- end of table -->\n"
NOT_PLAYED = "not played"
OTHER_MODE = ""


def table(rows: Sequence[Row], results: Mapping[str, Mapping[str, Result]]) -> str:
    """The table as Markdown.

    Args:
        rows: In order.
        results: By the heading of a column, then by the row's name.
    """
    names = ["row", "shows", *results]
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    for row in rows:
        cells = [_cell(row, heading, found) for heading, found in results.items()]
        lines.append(f"| {' | '.join([row.name, row.title, *cells])} |")
    explained = {
        f"- {row.name}, step {one.step}, {one.what}: {one.source}"
        for row in rows
        for found in results.values()
        if row.name in found
        for one in found[row.name].explained
    }
    return "\n".join([*lines, *(["", *sorted(explained)] if explained else [])]) + "\n"


def _cell(row: Row, heading: str, found: Mapping[str, Result]) -> str:
    if row.name in found:
        return found[row.name].verdict
    return NOT_PLAYED if heading.rsplit(maxsplit=1)[-1].lower() in row.modes else OTHER_MODE


def write(page: Path, text: str) -> None:
    """Puts the table into the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
