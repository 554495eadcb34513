"""Runs over months are those of the definition without the cuts."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from examples import examples
from histories.folders import FIXED, candidate, values
from histories.observations import KEYS, MARCH, observations, observed
from hypothesis import example, given

from kreplica.fleet.lasting import lasting
from kreplica.history.ingest import ingest
from kreplica.history.lives.told_line import Line
from kreplica.history.model import Observation, fold
from kreplica.history.selection import choose
from kreplica.history.tables import TABLES
from kreplica.system.stores.storage import LocalStorage

FOUND = ("leader", "elr", "topic_id", *FIXED)
ORDERS = KEYS[0]


def in_one_month(some: Sequence[Observation]) -> list[Observation]:
    """The observations in the same order, some seconds apart: nothing is cut."""
    return [replace(one, taken_at=MARCH + (one.taken_at - MARCH) // 3600) for one in some]


def joined_runs(some: Sequence[Observation]) -> list[tuple[object, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        ingest([candidate(one) for one in some], LocalStorage(Path(folder)))
        table = lasting(Line(choose(LocalStorage(Path(folder))).months), TABLES[0])
    runs, found = table.runs, []
    for row in range(len(table)):
        known = {name: value for name in FOUND if (value := table.columns[name][row]) is not None}
        key = (table.strings("topic")[row], table.integers("partition")[row])
        places = (runs.first[row], runs.last[row], runs.ended[row])
        found.append((key, *map(int, places), repr(sorted(known.items()))))
    return sorted(found)


def filled(some: Sequence[Observation]) -> list[Observation]:
    """The observations, each knowing every column of the keys that it has."""
    return [replace(one, rows={key: {**EVERY, **row} for key, row in one.rows.items()}) for one in some]


EVERY = {"leader": 0, "isr": 0, "topic_id": 0}
GOES_ON_UNKNOWN = [
    observed(3, {ORDERS: {"leader": 0, "isr": 1}}),
    observed(5, {ORDERS: {"leader": 0, "topic_id": 1}}),
    observed(6, {ORDERS: {"leader": 1, "topic_id": 1}}),
]
AWAY_WHERE_THE_MONTH_ENDS = [
    observed(3, {ORDERS: {"leader": 0}}),
    observed(5, {}),
    observed(6, {ORDERS: {"leader": 0}}),
]


@examples(0.5)
@example(GOES_ON_UNKNOWN)
@example(AWAY_WHERE_THE_MONTH_ENDS)
@given(observations().map(filled))
def test_runs_over_months_are_those_without_cuts(some: list[Observation]) -> None:
    digests = {one.digest: number for number, one in enumerate(sorted(some, key=lambda one: one.place))}
    defined = [
        (
            run.key,
            digests[run.first.digest],
            digests[run.last.digest],
            -1 if run.ended is None else digests[run.ended.digest],
            repr(sorted({**FIXED, **values(run.values)}.items())),
        )
        for run in fold(in_one_month(some))
    ]
    assert joined_runs(some) == sorted(defined)
