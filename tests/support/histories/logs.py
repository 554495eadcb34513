"""Metadata logs as a history takes them in, made of states of partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from histories.observations import HOUR, MARCH
from kreplica.history.ingest import Candidate, Ingested, ingest
from kreplica.history.model import Key
from kreplica.history.months.log_steps import LogChanges, LogSlice, LogStep, StepKind
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import taken_ms_of
from kreplica.history.tables import LOG_TABLES
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import column_from_values
from kreplica.model.tables.schema import TableSchema
from kreplica.model.tables.table import Table
from kreplica.system.stores.storage import LocalStorage, Storage

APRIL = MARCH + 4 * HOUR
PARTITIONS = LOG_TABLES[0]
KEYS: tuple[Key, ...] = (("orders", 0), ("orders", 1), ("audit", 0))
State = Mapping[Key, int | None]


@dataclass(frozen=True)
class Log:
    """States of a log, one after the other; each has the leaders of its partitions."""

    states: Sequence[State]
    offsets: Sequence[int]

    def time(self, number: int) -> int:
        return APRIL + number * 1000

    def steps(self, begin: int, end: int) -> list[tuple[LogStep, int]]:
        """The steps of a read from one state to another, each with the number of its state."""
        found = [(LogStep(self.offsets[begin], StepKind.state, 1, self.time(begin)), begin)]
        for number in range(begin + 1, end + 1):
            if self.states[number] != self.states[number - 1]:
                found.append((LogStep(self.offsets[number], StepKind.record, 1, self.time(number)), number))
        last = LogStep(self.offsets[end], StepKind.read, 1, self.time(end), self.offsets[begin])
        return [*found, (last, end)]

    def slice(self, begin: int, end: int) -> LogSlice:
        steps = self.steps(begin, end)
        rows: list[tuple[int, dict[str, Any]]] = []
        gone: list[tuple[int, dict[str, Any]]] = []
        for place, (step, number) in enumerate(steps):
            now = self.states[number]
            before = {} if step.kind is StepKind.state else self.states[number if place == 0 else number - 1]
            if step.kind is StepKind.read:
                continue
            rows += [(place, row(key, now[key])) for key in now if key not in before or now[key] != before[key]]
            gone += [(place, row(key, None)) for key in before.keys() - now.keys()]
        changes = {table.name: no_changes() for table in LOG_TABLES}
        changes[PARTITIONS.name] = LogChanges(*some(PARTITIONS.of, rows), *some(PARTITIONS.of, gone))
        return LogSlice([step for step, _ in steps], changes, f"log {begin} to {end}")


def row(key: Key, leader: int | None) -> dict[str, Any]:
    known = {"topic": key[0], "partition": key[1], "leader": leader, "internal": False, "replicas": [1], "isr": [1]}
    return {field.name: known.get(field.name) for field in PARTITIONS.of.fields}


def some(schema: TableSchema, rows: Sequence[tuple[int, dict[str, Any]]]) -> tuple[Table, Any]:
    columns = {
        field.name: column_from_values(field.kind, [one[field.name] for _, one in rows]) for field in schema.fields
    }
    return Table(schema, columns), np.array([place for place, _ in rows], np.int64)


def no_changes() -> LogChanges:
    """Of tables that the drawn logs say nothing of; any columns will do for no rows."""
    names = {field.name: field for table in LOG_TABLES for field in table.of.fields}
    schema = TableSchema("none", tuple(names.values()), ())
    return LogChanges(*some(schema, []), *some(schema, []))


LED = Log([{}, {KEYS[0]: 1}, {KEYS[0]: 2}, {}], [0, 4, 5, 9])


def taken_in(root: Path | Storage, slices: Sequence[LogSlice], *, compact: bool = False) -> Ingested:
    storage = LocalStorage(root) if isinstance(root, Path) else root
    return ingest([Candidate("Zk5", "prod", Incoming.of_log(one)) for one in slices], storage, compact=compact)


def slice_of(states: Sequence[ClusterSnapshot]) -> LogSlice:
    """A log that says these states of a cluster, each from its time on; offsets are numbers of seconds."""
    first, last = states[0], states[-1]
    kept = [first, *(now for before, now in pairwise(states) if _rows(before) != _rows(now))]
    kinds = [StepKind.state, *(StepKind.record for _ in kept[1:])]
    steps = [LogStep(_offset(one), kind, 1, taken_ms_of(one)) for one, kind in zip(kept, kinds, strict=True)]
    steps.append(LogStep(_offset(last), StepKind.read, 1, taken_ms_of(last), _offset(first)))
    changes = {}
    for table in LOG_TABLES:
        rows: list[tuple[int, dict[str, Any]]] = []
        gone: list[tuple[int, dict[str, Any]]] = []
        for place, one in enumerate(kept):
            before = _rows(kept[place - 1])[table.name] if place else {}
            now = _rows(one)[table.name]
            rows += [(place, row) for key, row in now.items() if before.get(key) != row]
            gone += [(place, row) for key, row in before.items() if key not in now]
        changes[table.name] = LogChanges(*some(table.of, rows), *some(table.of, gone))
    return LogSlice(steps, changes, "a log")


def _offset(one: ClusterSnapshot) -> int:
    return taken_ms_of(one) // 1000


def _rows(one: ClusterSnapshot) -> dict[str, dict[tuple[Any, ...], dict[str, Any]]]:
    return {
        table.name: {tuple(row[name] for name in table.keys): row for row in one.table(table.of).rows()}
        for table in LOG_TABLES
    }
