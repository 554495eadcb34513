"""The layout of a verdict: a word in colour and a sentence, then lines under short titles.

Plain aligned columns: nothing is cut off, and 200,000 rows print in a second.

Partitions in one line: ``orders 0,3-7; clicks 1; and 7 more topics``.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from commands.shared.printing.output import ROWS_AT_ONCE
from commands.shared.printing.terminal import lines_shown, printable
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from datetime import datetime

    from msgspec import Struct
    from rich.console import Console

    from kreplica.model.snapshot import ClusterSnapshot


INDENT = 9
"""Columns that titles take."""


def utc(moment: datetime) -> str:
    """A time to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def read_at(snapshot: ClusterSnapshot) -> str:
    """The source of a snapshot and its time; of a dump its age, too."""
    return f"{snapshot.source} at {utc(snapshot.taken_at)}{_age(snapshot, ', ')}"


def aged(snapshot: ClusterSnapshot) -> str:
    """Age of a dump for the end of a verdict; empty for a live cluster, and where a gap of the snapshot tells it."""
    from kreplica.health.gates import STALE

    return "" if any(gap.kind == STALE for gap in snapshot.gaps) else _age(snapshot, "; the dump is ")


def _age(snapshot: ClusterSnapshot, before: str) -> str:
    from kreplica.model.snapshot import utc_now

    age = snapshot.age_seconds(utc_now())
    if age is None:
        return ""
    length = spell_duration(round(abs(age)))
    return f"{before}{length} old" if age >= 0 else f"{before}of {length} in the future"


def print_cluster(console: Console, snapshot: ClusterSnapshot, size: str = "") -> None:
    """Prints the cluster that the answer is about, and the time of its snapshot."""
    name = snapshot.name if snapshot.cluster_id in (None, snapshot.name) else f"{snapshot.name} ({snapshot.cluster_id})"
    print_lines(console, "cluster", [", ".join([name, *([size] if size else []), read_at(snapshot)])])


def print_verdict(console: Console, word: str, color: str, sentence: str) -> None:
    """Prints the word in bold colour and the sentence after it."""
    from rich.text import Text

    head, *rest = wrapped(console, f"{word} {sentence}")
    console.print(Text.assemble((word, f"bold {color}"), head.removeprefix(word)))
    for line in rest:
        console.print(" " * INDENT + line)


def print_lines(console: Console, title: str, texts: Iterable[str], *, whole: bool = False) -> None:
    """Prints texts below one another, the title before the first; nothing if there are none.

    Args:
        console: Where to.
        title: At most eight characters.
        texts: One entry each; those too long for the terminal continue below, indented.
        whole: Never break a text, because it is meant to be copied.
    """
    lead, shown = title, lines_shown(console)
    for text in texts:
        shown.add(text)
        for line in [printable(text)] if whole else wrapped(console, text):
            console.print(f"{lead:<{INDENT}}{line}".rstrip())
            lead = ""


def print_wrapped(console: Console, lead: str, text: str, *, further: int | None = None) -> None:
    """Prints a sentence; where it is too long for the terminal, its further lines are indented.

    Args:
        console: Where to.
        lead: Text before the sentence, on its first line alone.
        text: The sentence.
        further: Columns by which further lines are indented; those of ``lead`` if None.
    """
    indent = len(lead) if further is None else further
    first, *others = wrapped(console, text, max(len(lead), indent))
    for line in [lead + first, *(" " * indent + other for other in others)]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def wrapped(console: Console, text: str, indent: int = INDENT) -> list[str]:
    """A text as lines of the terminal; one line where the output is none.

    Args:
        console: Where to.
        text: The text.
        indent: Columns that stand before it.
    """
    text = printable(text)
    if not console.is_terminal:
        return [text]
    kept = text[: len(text) - len(text.lstrip())]
    width = max(20, console.width - indent - len(kept))
    lines = textwrap.wrap(text.strip(), width, break_long_words=False, break_on_hyphens=False)
    return [kept + line for line in lines] or [text]


_BOOLEANS = {True: "yes", False: "no"}
MEASURED = 10_000
"""Rows that set the width of the columns, where rows are printed while they are found."""
BOLD, RESET = "\x1b[1m", "\x1b[0m"
GAP = 2
"""Columns between two cells."""


FOLDED = 30
"""Characters that a folded column keeps where another can be left out instead."""
LEAST_FOLDED = 12
"""Characters that it keeps at least; if there are fewer, lines are longer than the terminal."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table: its title, and what becomes of it where the terminal is too narrow.

    Args:
        title: Its title.
        drop: Order in which columns are left out: 1 first; 0 never.
        fold: Whether its text may go on in further lines.
    """

    title: str
    drop: int = 0
    fold: bool = False


def print_rows(
    console: Console,
    row: type[Struct],
    rows: Sequence[Struct],
    *,
    row_clusters: Sequence[str] | None = None,
    shown: Sequence[str] = (),
    cells: Mapping[str, Callable[[Any], object]] | None = None,
) -> None:
    """Prints rows of a class (kreplica.model.tables.rows) as a table; nothing if there are none.

    Args:
        console: Where to.
        row: Their class, which says what the screen shows, under which titles, and what a narrow terminal leaves out.
        rows: The rows.
        row_clusters: The cluster of each row where several were read, None where one was.
        shown: Names of the columns, in order; those that the class shows if empty.
        cells: Formats values of columns that are not null, by name.
    """
    if not rows:
        return
    from kreplica.model.tables.rows import fields_of, names_of, values_of

    names = shown or [field.name for field in fields_of(row) if field.meaning.screen]
    columns = table_columns(row, names)
    positions = [(names_of(row).index(name), (cells or {}).get(name)) for name in names]
    lines = (
        [values[at] if form is None or values[at] is None else form(values[at]) for at, form in positions]
        for values in map(values_of(row), rows)
    )
    if row_clusters is not None:
        columns.insert(0, TableColumn("CLUSTER"))
        lines = ([name, *line] for name, line in zip(row_clusters, lines, strict=True))
    print_columns(console, columns, lines)


def print_gathered(
    console: Console,
    row: type[Struct],
    rows: Sequence[Struct],
    *,
    shown: Sequence[str] = (),
    cells: Mapping[str, Callable[[Any], object]] | None = None,
    sums: Collection[str] = (),
) -> None:
    """Prints rows of partitions: on a terminal many that differ in the partition alone are one line.

    Args:
        console: Where to.
        row: Their class, with the fields ``topic`` and ``partition``.
        rows: The rows.
        shown: As in ``print_rows``.
        cells: As in ``print_rows``.
        sums: Names of columns whose values are added up in a line.
    """
    from kreplica.model.tables.rows import fields_of, names_of, values_of

    names = list(shown) or [field.name for field in fields_of(row) if field.meaning.screen]
    at, added = names.index("partition"), [names.index(name) for name in sums if name in names]
    picked = [names_of(row).index(name) for name in names]
    if not console.is_terminal or len(rows) <= MOST_LISTED:
        print_rows(console, row, rows, shown=names, cells=cells)
        return
    groups: dict[str, list[list[Any]]] = {}
    for values in map(values_of(row), rows):
        line = [values[position] for position in picked]
        groups.setdefault(repr([value for place, value in enumerate(line) if place not in (at, *added)]), []).append(
            line
        )
    if len(groups) == len(rows):
        print_rows(console, row, rows, shown=names, cells=cells)
        return
    columns = table_columns(row, names)
    columns[at] = replace(columns[at], title="PARTITIONS")
    forms = [(cells or {}).get(name) for name in names]
    print_columns(console, columns, (_gathered(lines, at, added, forms) for lines in groups.values()))


def _gathered(
    lines: Sequence[Sequence[Any]], at: int, added: Collection[int], forms: Sequence[Callable[[Any], object] | None]
) -> list[object]:
    """One line for several: their partitions, sums, and what they share."""
    shared = list(lines[0])
    for place in added:
        known = [line[place] for line in lines if line[place] is not None]
        shared[place] = sum(known) if known else None
    shared = [
        value if form is None or value is None else form(value) for value, form in zip(shared, forms, strict=True)
    ]
    shared[at] = ranges(sorted(line[at] for line in lines))
    return shared


def table_columns(row: type[Struct], names: Iterable[str]) -> list[TableColumn]:
    """Columns of a class of rows as a table has them, for tables that show more than the values of rows."""
    from kreplica.model.tables.rows import fields_of

    fields = {field.name: field for field in fields_of(row)}
    meanings = ((fields[name].label, fields[name].meaning) for name in names)
    return [TableColumn(label, meaning.drop, meaning.fold) for label, meaning in meanings]


def print_columns(console: Console, columns: Sequence[TableColumn], rows: Iterable[Sequence[object]]) -> None:
    """Prints rows of cells; a terminal that is too narrow gets fewer columns, and one line that names the others."""
    color = console.is_terminal and not console.no_color
    left_out = _print_cells(columns, rows, color, width=console.width if console.is_terminal else None)
    if left_out:
        it = "them" if len(left_out) > 1 else "it"
        print_lines(console, "left out", [f"{', '.join(left_out)}: a wider terminal or --output json shows {it}"])


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, color: bool, measured: int | None = None
) -> None:
    """Prints rows under a header to stdout, as wide as they are.

    Args:
        header: Column titles.
        rows: Cells; None prints as ``-``, lists joined by commas (an empty list as ``-`` too).
        color: Whether the header may be emphasised.
        measured: Number of rows that set the widths of the columns; all if None. Later rows are printed as they come:
            a longer cell moves the rest of its line to the right.
    """
    _print_cells([TableColumn(title) for title in header], rows, color, measured=measured)


def _print_cells(
    columns: Sequence[TableColumn],
    rows: Iterable[Sequence[object]],
    color: bool,
    *,
    measured: int | None = None,
    width: int | None = None,
) -> list[str]:
    """Prints the columns that fit; returns the titles of the others."""
    coming = iter(rows)
    texts = zip([column.title for column in columns], *islice(coming, measured), strict=True)
    cells = [[title, *map(_cell, values)] for title, *values in texts]
    widths = [max(map(len, column)) for column in cells]
    kept = _fitting(columns, widths, width)
    folded = _folded(columns, widths, kept, width)
    form = "  ".join(f"{{:<{widths[at]}}}" for at in kept).format
    lines = [form(*line).rstrip() for line in _lines(zip(*(cells[at] for at in kept), strict=True), folded)]
    if color and os.environ.get("TERM") != "dumb":
        lines[0] = f"{BOLD}{lines[0]}{RESET}"
    sys.stdout.write("\n".join(lines) + "\n")
    later = ([_cell(row[at]) for at in kept] for row in coming)
    while piece := [form(*line).rstrip() for line in _lines(islice(later, ROWS_AT_ONCE), folded)]:
        sys.stdout.write("\n".join(piece) + "\n")
    return [column.title for at, column in enumerate(columns) if at not in kept]


def _fitting(columns: Sequence[TableColumn], widths: Sequence[int], width: int | None) -> list[int]:
    """Positions of the columns that are printed: all of them, or without those left out first until the rest fits."""
    kept = list(range(len(columns)))
    if width is None:
        return kept
    least = [min(wide, FOLDED) if column.fold else wide for column, wide in zip(columns, widths, strict=True)]
    for at in sorted((at for at in kept if columns[at].drop), key=lambda at: columns[at].drop):
        if sum(least[each] + GAP for each in kept) - GAP <= width:
            break
        kept.remove(at)
    return kept


def _folded(
    columns: Sequence[TableColumn], widths: list[int], kept: Sequence[int], width: int | None
) -> tuple[int, int] | None:
    """Position among the printed columns and new width of the one that is folded; None where all fits or none may."""
    beyond = 0 if width is None else sum(widths[at] + GAP for at in kept) - GAP - width
    for position, at in enumerate(kept):
        if beyond > 0 and columns[at].fold and widths[at] - beyond >= LEAST_FOLDED:
            widths[at] -= beyond
            return position, widths[at]
    return None


def _lines(rows: Iterable[Sequence[str]], folded: tuple[int, int] | None) -> Iterator[Sequence[str]]:
    """Cells of the lines to print: more than one of a row whose folded column is longer than its width."""
    if folded is None:
        yield from rows
        return
    position, width = folded
    for row in rows:
        if len(row[position]) <= width:
            yield row
            continue
        first, *others = textwrap.wrap(row[position], width, break_long_words=False, break_on_hyphens=False)
        yield [*row[:position], first, *row[position + 1 :]]
        for other in others:
            yield [other if at == position else "" for at in range(len(row))]


def _cell(value: object) -> str:
    if isinstance(value, str):
        return printable(value)
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return printable(",".join(map(str, value))) or "-"
    return _BOOLEANS[value] if isinstance(value, bool) else str(value)


MOST_LISTED = 20
"""Rows that the screen lists one by one where equal ones can be gathered; more are gathered."""

MOST_SHOWN = 4
"""Topics that a line names at most; the rest are counted."""


def places(partitions: Iterable[tuple[object, object]], most: int = MOST_SHOWN) -> str:
    """Topics with their partitions, in the order in which they come.

    Args:
        partitions: Topic and partition, those of one topic in order; pairs without a topic are left out.
        most: Number of topics that are named.
    """
    numbers: dict[object, list[int]] = {}
    for topic, number in partitions:
        if topic is not None and isinstance(number, int):
            numbers.setdefault(topic, []).append(number)
    topics = [f"{topic} {ranges(some)}" for topic, some in numbers.items()]
    rest = len(topics) - most
    more = [f"and {counted(rest, 'more topic')}"] if rest > 0 else []
    return "; ".join([*topics[:most], *more])


MOST_RANGES = 12
"""Ranges of partitions that are written out of one topic; the partitions of the others are counted."""


def ranges(numbers: Sequence[int]) -> str:
    """``0,3-7``; two neighbours stay apart, and of many ranges the last are counted: ``0,3-7 and 9 more``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    rest = sum(map(len, runs[MOST_RANGES:]))
    shown = ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs[:MOST_RANGES])
    return shown + (f" and {rest} more" if rest else "")
