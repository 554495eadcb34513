"""The definition of a history, in plain Python: what the fast fold is held to.

A history is a function of the set of snapshots, never of the order in which they arrive. Each table folds apart:

- Observations stand in the order of (taken_at, digest); one that is there twice counts once.
- A run is a key's values over successive observations that agree in every column that both know. What an observation
  does not know neither ends nor begins a run.
- Absence from a whole observation is a value: it ends a run. Absence from a partial one is unknown.
- A run is valid from its first observation, was last seen by its last one, and is valid to the first later observation
  that says otherwise, if any. The change lies after last_seen, and not after valid_to.
- Runs are cut at each month's start (UTC): a month depends on the observations of that month alone.
- A metadata log is a series of observations of its own, each whole: the state after each of its records, in the order
  of offsets. Null in it is a value. Its runs stand beside those of snapshots; a border that is a record is exact.
- What is measured is no part of a run. Samples of it are kept: of each day (or hour) those of the first observation
  that tells any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Key: TypeAlias = tuple[Hashable, ...]
Row: TypeAlias = Mapping[str, Hashable]
"""Values by column, those of unknown columns left out."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Observation:
    """Facts of one table that one snapshot tells.

    Args:
        taken_at: Milliseconds since the epoch.
        digest: Of the snapshot's content; orders snapshots of one instant, and tells copies.
        whole: Whether a key that is not in it was not there.
        rows: What it knows of each key.
    """

    taken_at: int
    digest: str
    whole: bool
    rows: Mapping[Key, Row]

    @property
    def place(self) -> tuple[int, str]:
        """Its place in the order."""
        return self.taken_at, self.digest


@dataclass(eq=False)
class Run:
    """A key's values over successive observations; ``ended`` is the one that said otherwise."""

    key: Key
    first: Observation
    last: Observation
    ended: Observation | None = None
    values: dict[str, Hashable] = field(default_factory=dict)


def fold(observations: Iterable[Observation]) -> list[Run]:
    """The runs of one table, each month's for itself."""
    months: dict[str, dict[str, Observation]] = defaultdict(dict)
    for one in observations:
        months[month_of(one.taken_at)][one.digest] = one
    return [run for month in sorted(months) for run in _fold_month(months[month].values())]


def _fold_month(observations: Iterable[Observation]) -> list[Run]:
    runs: list[Run] = []
    open_runs: dict[Key, Run] = {}
    for one in sorted(observations, key=lambda one: one.place):
        for key, row in one.rows.items():
            run = open_runs.get(key)
            if run is not None and _contradicts(run.values, row):
                run.ended, run = one, None
            if run is None:
                run = open_runs[key] = Run(key, one, one)
                runs.append(run)
            run.values.update(row)
            run.last = one
        for key in open_runs.keys() - one.rows.keys() if one.whole else ():
            open_runs.pop(key).ended = one
    return runs


def _contradicts(values: Row, row: Row) -> bool:
    return any(name in values and values[name] != value for name, value in row.items())


def sampled(
    observations: Iterable[Observation], columns: frozenset[str], every_ms: int
) -> list[tuple[Observation, Key, dict[str, Hashable]]]:
    """The samples of one table that are kept, one for so many milliseconds, each with its observation and key."""
    first: dict[int, Observation] = {}
    for one in sorted(observations, key=lambda one: one.place):
        if any(columns & row.keys() for row in one.rows.values()):
            first.setdefault(one.taken_at // every_ms, one)
    return [
        (one, key, {name: row[name] for name in columns & row.keys()})
        for one in first.values()
        for key, row in one.rows.items()
        if columns & row.keys()
    ]


def month_of(taken_at: int) -> str:
    """The month of a moment, UTC: 2026-11."""
    return (_EPOCH + timedelta(milliseconds=taken_at)).strftime("%Y-%m")
