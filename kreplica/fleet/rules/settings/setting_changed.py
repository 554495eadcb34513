"""Settings of topics and brokers that became others: from which value to which, and after which snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.health.rules import Severity
from kreplica.model.tables.columns import Indices, Integers
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS
from kreplica.model.wording.words import named

NAME = "setting-changed"
PASSING = re.compile(r"(leader|follower)\.replication\.throttled\..*")
"""Settings that a reassignment sets and takes away again."""
DEFAULT = "default"
"""Origin of a value that nobody has set."""
MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class _Change:
    """A setting that became another; None stands for one that is not set.

    Args:
        row: A row of the table that has its names.
        before: Number of the last observation that saw the old value.
        first: Number of the first one that saw the new value.
    """

    row: int
    before: int
    first: int
    old: str | None
    new: str | None


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Settings that changed on a topic or a broker that was there before and after; alike ones are one finding."""
    table, things = history.configs, _Things(history)
    found: dict[tuple[str, str, int, int, str | None, str | None], list[str]] = {}
    for one in [*_others(table), *_begun(table), *_taken_away(table)]:
        kind, entity, name = (str(table.strings(column)[one.row]) for column in ("entity_type", "entity", "name"))
        if not PASSING.fullmatch(name) and things.stayed(kind, entity, one.before, one.first):
            found.setdefault((kind, name, one.before, one.first, one.old, one.new), []).append(entity)
    for (kind, name, before, first, old, new), entities in found.items():
        alone = entities[0] if len(entities) == 1 else None
        told = f"set to {new}" if old is None else f"no longer set, was {old}" if new is None else f"{old} -> {new}"
        yield history.finding(
            Span.event(before, first),
            table.tellers,
            rule=NAME,
            severity=Severity.INFO,
            certainty=Certainty.PROVED,
            message=f"{name} of {_title(kind, sorted(entities))}: {told}",
            topic=alone if kind == "topic" else None,
            broker=int(alone) if alone is not None and kind == "broker" and alone.isdecimal() else None,
            evidence={
                "setting": name,
                "entity_type": kind,
                "entities": sorted(entities),
                "before": old,
                "after": new,
            },
        )


def _others(table: Lasting) -> Iterator[_Change]:
    """Values that another one followed."""
    values, runs = table.strings("value"), table.runs
    before, after = table.successions
    codes = values.codes
    some = (codes[before] >= 0) & (codes[after] >= 0) & (codes[before] != codes[after])
    for one, other in zip(before[some].tolist(), after[some].tolist(), strict=True):
        yield _Change(other, int(runs.last[one]), int(runs.first[other]), values[one], values[other])


def _begun(table: Lasting) -> Iterator[_Change]:
    """Settings that a snapshot of all does not have, and a later one has."""
    follows = np.zeros(len(table), np.bool_)
    follows[table.successions[1]] = True
    first = table.runs.first
    earlier = np.searchsorted(table.listing, first) - 1
    values = table.strings("value")
    for row in np.flatnonzero(~follows & (earlier >= 0) & _set(table)).tolist():
        yield _Change(row, int(table.listing[earlier[row]]), int(first[row]), None, values[row])


def _taken_away(table: Lasting) -> Iterator[_Change]:
    """Settings that a snapshot has, and a later one of all does not."""
    followed = np.zeros(len(table), np.bool_)
    followed[table.successions[0]] = True
    values, runs = table.strings("value"), table.runs
    for row in np.flatnonzero(~followed & (runs.ended >= 0) & _set(table)).tolist():
        yield _Change(row, int(runs.last[row]), int(runs.ended[row]), values[row], None)


def _set(table: Lasting) -> np.ndarray:
    """Rows with a value that somebody has set."""
    origins = table.strings("origin")
    defaults = [code for code, word in enumerate(origins.dictionary) if word == DEFAULT]
    found: np.ndarray = (table.strings("value").codes >= 0) & ~np.isin(origins.codes, defaults)
    return found


class _Things:
    """Topics and brokers over time, of which settings are: a setting comes and goes with them."""

    def __init__(self, history: ClusterHistory) -> None:
        self._history = history

    def stayed(self, kind: str, entity: str, before: int, first: int) -> bool:
        """True if a thing was there at two observations, and is no other of the same name."""
        if kind == "topic":
            ids = [self._topic_ids(entity, number) for number in (before, first)]
            return all(ids) and (ids[0] == ids[1] or None in ids[0] | ids[1])
        if kind == "broker" and entity.isdecimal():
            rows = np.flatnonzero(self._history.brokers.integers("broker").values == int(entity))
            return all(len(_at(self._history.brokers, rows, number)) for number in (before, first))
        return True

    def _topic_ids(self, topic: str, number: int) -> set[str | None]:
        table = self._history.partitions
        code = self._codes.get(topic, -1)
        begin, end = np.searchsorted(self._sorted, [code, code + 1]) if code >= 0 else (0, 0)
        rows = _at(table, self._order[begin:end], number)
        return {table.strings("topic_id")[row] for row in rows.tolist()}

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {word: code for code, word in enumerate(self._history.partitions.strings("topic").dictionary)}

    @cached_property
    def _order(self) -> Indices:
        return np.argsort(self._history.partitions.strings("topic").codes, kind="stable")

    @cached_property
    def _sorted(self) -> Integers:
        return self._history.partitions.strings("topic").codes[self._order].astype(np.int64)


def _at(table: Lasting, rows: Indices, number: int) -> Indices:
    """Those of some rows that last at an observation."""
    runs = table.runs
    inside = (runs.first[rows] <= number) & ((runs.ended[rows] < 0) | (runs.ended[rows] > number))
    return rows[inside]


def _title(kind: str, entities: list[str]) -> str:
    word = kind.replace("-", " ")
    return word if entities == [""] else named(word, entities, MOST_NAMED)


RULE = FleetRule(
    NAME,
    Severity.INFO,
    (CONFIGS, BROKERS, PARTITIONS),
    "a setting of a topic or a broker became another one: the first thing to look at when something else begins then",
    "ask who changed it, and set it back if nobody meant to",
    find,
)
