"""Rows of describe gathered for the screen: partitions of a topic in the same state for the same cause are one line."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from commands.describe.causes import cell
from commands.shared.printing.output import Row
from commands.shared.printing.screen import MOST_LISTED, TableColumn, print_columns, ranges

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = {
    "topic": TableColumn("TOPIC"),
    "partition": TableColumn("PARTITIONS"),
    "leader": TableColumn("LEADER"),
    "isr": TableColumn("ISR"),
    "elr": TableColumn("ELR", drop=1),
    "adding": TableColumn("ADDING", drop=4),
    "removing": TableColumn("REMOVING", drop=3),
    "min_isr": TableColumn("MIN_ISR", drop=2),
    "missing": TableColumn("MISSING"),
    "causes": TableColumn("CAUSES", fold=True),
}
_IDS = ("isr", "elr", "adding", "removing", "missing")


def gathered(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Groups of rows in their order; none where few are listed anyway, a row misses no replica, or no line is saved.

    Without a missing replica the order of the replicas matters, which a group does not show.
    """
    if len(rows) <= MOST_LISTED or not all(row["missing"] for row in rows):
        return []
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(_key(row), []).append(row)
    return list(groups.values()) if len(groups) < len(rows) else []


def _key(row: Row) -> Hashable:
    """State and cause; the order of ids and, where there is one, the leader do not matter."""
    sets = (tuple(_sorted(row[name])) for name in (*_IDS, "offline_replicas"))
    return (row.get("cluster"), row["topic"], row["leader"] is None, row["min_isr"], *sets, _causes(row))


def print_groups(groups: Sequence[Sequence[Row]], console: Console) -> None:
    """Prints a line for each group: its partitions, their leaders, and the state that they share."""
    optional = {"elr", "adding", "removing"}
    filled = {name for name in optional if any(rows[0][name] for rows in groups)}
    names = [name for name in _COLUMNS if name not in optional - filled]
    columns = [_COLUMNS[name] for name in names]
    cells: Iterator[list[object]] = ([_cell(name, rows) for name in names] for rows in groups)
    if "cluster" in groups[0][0]:
        columns = [TableColumn("CLUSTER"), *columns]
        cells = ([rows[0]["cluster"], *line] for rows, line in zip(groups, cells, strict=True))
    print_columns(console, columns, cells)


def _cell(name: str, rows: Sequence[Row]) -> object:
    first = rows[0]
    if name == "partition":
        return ranges([int(str(row["partition"])) for row in rows])
    if name == "leader":
        return _sorted({row["leader"] for row in rows} - {None})
    if name == "causes":
        return _causes(first)
    return _sorted(first[name]) if name in _IDS else first[name]


def _causes(row: Row) -> str | None:
    return cell(row["causes"], row["not_known"])  # type: ignore[arg-type]


def _sorted(ids: object) -> list[int]:
    return sorted(ids or ())  # type: ignore[call-overload, no-any-return]
