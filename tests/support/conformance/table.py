"""The table of conformance in docs/conformance.md, between its marks: the page is the record of what was played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.script import Row
from kreplica.sandbox import Mode

BEGIN, END = "<!-- table: make conformance -->\n", "<!-- end of table -->\n"
HEADINGS = {Mode.KRAFT: "4.3.1 KRaft", Mode.ZOOKEEPER: "3.9.2 ZooKeeper"}
NOT_PLAYED, EQUAL, EXPLAINED = "not played", "equal", "explained"
GOOD = (EQUAL, EXPLAINED)
OTHER_MODE = ""

Verdicts = Mapping[tuple[str, Mode], str]
"""Verdicts of rows that were played, by the row's name and the mode."""


def recorded(page: Path) -> dict[tuple[str, Mode], str]:
    """The verdicts that stand in the page's table."""
    text = page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    found: dict[tuple[str, Mode], str] = {}
    for line in text.splitlines()[3:]:  # after an empty line, the headings and what underlines them
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == len(HEADINGS) + 2:
            modes = zip(HEADINGS, cells[2:], strict=True)
            found |= {(cells[0], mode): cell for mode, cell in modes if cell not in (NOT_PLAYED, OTHER_MODE)}
    return found


def record(page: Path, rows: Sequence[Row], row: Row, mode: Mode, verdict: str) -> None:
    """Writes one verdict into the page as soon as it is known; what else stands there stays.

    Args:
        page: The page.
        rows: All rows, in order.
        row: The row that was played.
        mode: Where.
        verdict: The word for it.
    """
    write(page, table(rows, recorded(page) | {(row.name, mode): verdict}))


def table(rows: Sequence[Row], verdicts: Verdicts) -> str:
    """The table as Markdown, with the sources of the differences that are explained below it."""
    names = ["row", "shows", *HEADINGS.values()]
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    for row in rows:
        cells = [_cell(row, mode, verdicts) for mode in HEADINGS]
        lines.append(f"| {' | '.join([row.name, row.title, *cells])} |")
    explained = [
        f"- {row.name}, step {one.step}, {one.what}: {one.source}"
        for row in rows
        if EXPLAINED in (verdicts.get((row.name, mode)) for mode in HEADINGS)
        for one in row.explained
    ]
    return "\n".join([*lines, *(["", *sorted(explained)] if explained else [])]) + "\n"


def _cell(row: Row, mode: Mode, verdicts: Verdicts) -> str:
    return verdicts.get((row.name, mode), NOT_PLAYED) if mode in row.modes else OTHER_MODE


def write(page: Path, text: str) -> None:
    """Puts the table into the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
