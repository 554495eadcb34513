"""A metadata log as a history takes it in: what it says at each step, cut by months.

A step is the state after some records of the log: ``record`` where they changed it, ``state`` where it was the same
before, as far as is known, and ``read`` where a log that was read ends. Steps stand in the order of offsets, so that
logs of several controllers, or of one at several times, have the same steps where they overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import TypeAlias

import numpy as np

from kreplica.history.tables import LOG_TABLES, HistoryTable
from kreplica.model.tables.columns import Integers
from kreplica.model.tables.schema import Field, Kind, TableSchema
from kreplica.model.tables.table import Table

METADATA_LOG = "kraft-metadata"
"""Source of what a metadata log tells."""

StepPlace: TypeAlias = tuple[int, int, int, int]


class StepKind(StrEnum):
    """Kinds of steps, in the order of those of one offset."""

    record = "record"
    state = "state"
    read = "read"


_RANK = {kind: rank for rank, kind in enumerate(StepKind)}

STEPS = TableSchema(
    "metadata_log",
    (
        Field("step", Kind.INT32, nullable=False, doc="number of the step in its month, from 0"),
        Field("taken_ms", Kind.INT64, nullable=False, doc="when its last record was appended, ms since the epoch"),
        Field("offset", Kind.INT64, nullable=False, doc="offset of the metadata log that is next after it"),
        Field("kind", Kind.STRING, nullable=False, doc="record, state or read"),
        Field("epoch", Kind.INT32, nullable=False, doc="leader epoch of its last record"),
        Field(
            "since_offset", Kind.INT64, nullable=True, doc="of a read: the offset from which on no record is missing"
        ),
        Field("controller", Kind.INT32, nullable=True, doc="leader of the metadata quorum"),
        Field("features", Kind.STRING, nullable=False, doc="finalized features as JSON"),
    ),
    sort=("step",),
)


@dataclass(frozen=True, slots=True)
class LogStep:
    """One step.

    Args:
        offset: Offset that is next after it.
        kind: Which kind it is of.
        epoch: Leader epoch of its last record.
        taken_ms: When that was appended, milliseconds since the epoch; never before that of the step before.
        since_offset: Of a read: the offset from which on no record is missing.
        controller: Leader of the metadata quorum.
        features: Finalized features as JSON.
    """

    offset: int
    kind: StepKind
    epoch: int
    taken_ms: int
    since_offset: int | None = None
    controller: int | None = None
    features: str = "{}"

    @property
    def place(self) -> StepPlace:
        """Its place in the order; steps of one place are the same."""
        since = -1 if self.since_offset is None else self.since_offset
        return self.offset, _RANK[self.kind], self.epoch, since

    def knowledge(self) -> tuple[int, int, str]:
        """Orders steps of one place: a log that begins with a checkpoint may not know the quorum's leader at once."""
        return self.taken_ms, -1 if self.controller is None else self.controller, self.features


@dataclass(frozen=True, slots=True, eq=False)
class LogChanges:
    """Rows of one table that steps change.

    Args:
        rows: New and changed rows; all rows of a step of kind state.
        rows_of: For each its step, by its number in the slice.
        gone: Rows that are there no more, their keys alone.
        gone_of: For each its step.
    """

    rows: Table
    rows_of: Integers
    gone: Table
    gone_of: Integers


@dataclass(frozen=True, slots=True, eq=False)
class LogSlice:
    """The steps of one log that are of one month; the first is of kind state, the last a read.

    Args:
        steps: In order.
        changes: What they change, by table.
        name: File or folder, for messages.
    """

    steps: Sequence[LogStep]
    changes: Mapping[str, LogChanges]
    name: str

    @property
    def taken_ms(self) -> int:
        """Time of its last record, milliseconds since the epoch."""
        return self.steps[-1].taken_ms


def to_steps_table(steps: Sequence[LogStep]) -> Table:
    """The table of a month's steps."""
    rows = [{name: getattr(step, name) for name in STEPS.names[1:]} for step in steps]
    return Table.from_rows(
        STEPS, ({"step": number, **row, "kind": row["kind"].value} for number, row in enumerate(rows))
    )


def from_steps_table(table: Table) -> list[LogStep]:
    """The steps of a month, in order."""
    found = []
    for row in table.sorted().rows():
        del row["step"]
        found.append(LogStep(**{**row, "kind": StepKind(str(row["kind"]))}))  # type: ignore[arg-type]
    return found


def counting_steps(steps: Sequence[LogStep]) -> list[LogStep]:
    """The steps that count, in order, each once: of several of one place the one that knows most.

    Those that a later leader overwrote, since it wrote records at or before their offset, were never committed.
    """
    latest: dict[StepPlace, LogStep] = {}
    for step in steps:
        known = latest.get(step.place)
        latest[step.place] = step if known is None else max(known, step, key=LogStep.knowledge)
    found, highest = [], -1
    for _, some in groupby((latest[place] for place in sorted(latest)), key=lambda step: step.offset):
        steps = list(some)
        highest = max(highest, *(step.epoch for step in steps))
        found += [step for step in steps if step.epoch == highest]
    return found


def told_spans(steps: Sequence[LogStep]) -> list[tuple[int, int]]:
    """Numbers of the first and the last step of each time of a month of which no record is missing, in order."""
    begins = {step.offset: number for number, step in enumerate(steps) if step.kind is StepKind.state}
    found: list[tuple[int, int]] = []
    reads = [(number, step) for number, step in enumerate(steps) if step.kind is StepKind.read]
    for first, last in sorted((begins[one.since_offset], at) for at, one in reads if one.since_offset in begins):
        if found and steps[first].offset <= steps[found[-1][1]].offset:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def times_of_steps(steps: Sequence[LogStep]) -> Integers:
    """Milliseconds of each step, none before that of the step before."""
    return np.maximum.accumulate(np.array([step.taken_ms for step in steps], np.int64))


def exact_name(table: HistoryTable) -> str:
    """Name of the table of a metadata log's runs."""
    return f"exact_{table.name}"


EXACT_TABLES = tuple(map(exact_name, LOG_TABLES))
