"""Findings of a rule over a view: rows of one thing that break it one after the other are one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.views.view import ViewRows
from kreplica.health.rules import Severity

BROKEN, KEPT, NOT_KNOWN = 1, 0, -1
Verdicts = npt.NDArray[np.int8]
"""For each row whether it breaks a rule: BROKEN, KEPT or NOT_KNOWN."""
_ABOUT = ("topic", "partition", "broker", "group")


def findings_in(
    history: ClusterHistory,
    rows: ViewRows,
    verdicts: Verdicts,
    rule: str,
    severity: Severity,
    message: Callable[[dict[str, Any]], str],
) -> Iterator[FleetFinding]:
    """The findings of a rule in one cluster, with all columns of the newest row of each as evidence.

    Args:
        history: The cluster.
        rows: The rows of the view.
        verdicts: What the rule says of each.
        rule: Its name.
        severity: Of its findings.
        message: Makes the message of the values of a row.
    """
    for first, last, ended in _chains(rows, verdicts):
        values = {name: column[last] for name, column in rows.columns.items()}
        span = Span(_seen_before(rows, verdicts, first), int(rows.first[first]), int(rows.last[last]), ended)
        yield history.finding(
            span,
            rows.tellers,
            rule=rule,
            severity=severity,
            certainty=Certainty.PROVED,
            message=message(values),
            **{name: values[name] for name in _ABOUT if name in values},
            evidence={_APART.get(name, name): value for name, value in values.items() if name not in _ABOUT},
        )


_APART = {"name": "setting"}
"""Columns that evidence has under another name, by which findings of one place are told apart (fleet.known)."""


def _chains(rows: ViewRows, verdicts: Verdicts) -> Iterator[tuple[int, int, int]]:
    """First row, last row and the moment that ended each run; what is not known neither ends nor begins one."""
    things = np.unique(rows.things[verdicts == BROKEN])
    first = last = before = -1
    for row in np.flatnonzero(np.isin(rows.things, things)).tolist():
        if first >= 0 and not _follows(rows, before, row):
            yield first, last, int(rows.ended[before])
            first = -1
        if verdicts[row] == BROKEN:
            first, last = row if first < 0 else first, row
        elif verdicts[row] == KEPT and first >= 0:
            yield first, last, int(rows.first[row])
            first = -1
        before = row
    if first >= 0:
        yield first, last, int(rows.ended[before])


def _follows(rows: ViewRows, before: int, row: int) -> bool:
    """True if a row is of the same thing as another and ended that one."""
    return bool(before >= 0 and rows.things[before] == rows.things[row] and rows.ended[before] == rows.first[row])


def _seen_before(rows: ViewRows, verdicts: Verdicts, row: int) -> int:
    """The last moment that says otherwise than a row; -1 if none does."""
    if not _follows(rows, row - 1, row):
        return int(rows.before[row])
    return int(rows.last[row - 1]) if verdicts[row - 1] == KEPT else -1
