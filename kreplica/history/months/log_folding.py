"""Steps of metadata logs folded to runs, and runs unfolded to steps: by the same fold as snapshots.

A log says all of its tables at every step, so nothing is unknown: null is a value, which means that the log has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.history.coding import Coded, Coder
from kreplica.history.folding import Fold, Runs, Told
from kreplica.history.months.log_steps import LogChanges, LogStep, StepKind, StepPlace
from kreplica.history.tables import HistoryTable
from kreplica.model.tables.columns import Indices, Integers


@dataclass(frozen=True, slots=True, eq=False)
class StepChange:
    """Changes of one table at a step: rows that are new or others, all of a state; numbers of keys that are gone."""

    rows: Coded
    gone: Integers


def fold_steps(table: HistoryTable, steps: Sequence[LogStep], changes: Mapping[StepPlace, StepChange]) -> Runs:
    """The runs of one table in one month.

    Args:
        table: The table.
        steps: The steps that count.
        changes: What each of them changes, by its place; nothing if it is not there.
    """
    width = len(table.value_fields)
    fold, every = Fold(width), np.ones(width, np.bool_)
    for number, step in enumerate(steps):
        told, change = Told(number, every, whole=True), changes.get(step.place)
        if step.kind is StepKind.state:
            fold.observe(told, _nothing(width).rows if change is None else change.rows)
        else:
            change = change or _nothing(width)
            fold.observe_change(told, change.rows, change.gone)
    return Runs.joined([fold.closed_runs(), fold.open_runs()], width)


def _nothing(width: int) -> StepChange:
    none = np.zeros(0, np.int64)
    return StepChange(Coded(none, np.zeros((0, width), np.int64)), none)


def unfolded_steps(runs: Runs, steps: Sequence[LogStep]) -> dict[StepPlace, StepChange]:
    """Unfolds runs to the changes at each step of their month."""
    began, ended = _by_number(runs.first, len(steps)), _by_number(runs.ended, len(steps))
    found: dict[StepPlace, StepChange] = {}
    for number, step in enumerate(steps):
        some = began(number)
        if step.kind is StepKind.state:
            some = np.flatnonzero((runs.first <= number) & (runs.last >= number))
        rows = runs.take(some).coded
        gone = np.setdiff1d(runs.coded.keys[ended(number)], rows.keys)
        if len(rows.keys) or len(gone):
            found[step.place] = StepChange(rows, gone)
    return found


def _by_number(numbers: Integers, count: int) -> Callable[[int], Indices]:
    """Gives the rows of each number."""
    order = np.argsort(numbers, kind="stable")
    begins = np.searchsorted(numbers[order], np.arange(count + 1))
    return lambda number: order[begins[number] : begins[number + 1]]


def coded_steps(coder: Coder, steps: Sequence[LogStep], changes: LogChanges) -> dict[StepPlace, StepChange]:
    """Codes the changes at each step of a slice."""
    keys, values, gone = coder.keys(changes.rows), coder.values(changes.rows), coder.keys(changes.gone)
    rows_of, gone_of = _by_number(changes.rows_of, len(steps)), _by_number(changes.gone_of, len(steps))
    found: dict[StepPlace, StepChange] = {}
    for number in np.union1d(changes.rows_of, changes.gone_of).tolist():
        mine = rows_of(number)
        found[steps[number].place] = StepChange(Coded(keys[mine], values[mine]), gone[gone_of(number)])
    return found
