"""The life of a topic: stretches in which none of its partitions changed, counted by the predicates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kreplica.history.coding import UNKNOWN, Coded, Coder
from kreplica.history.lives.log_line import Moments, log_rows
from kreplica.history.lives.rows import Row, StretchTimes, TopicStretch
from kreplica.history.lives.stretches import Stretch, StretchKind, in_order
from kreplica.history.lives.told_line import Line
from kreplica.history.months.log_steps import METADATA_LOG
from kreplica.history.selection import KeyFilter, moment_of
from kreplica.history.tables import TABLES
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import OFFLINE, UNDER_MIN_ISR, UNDER_REPLICATED
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Integers, Mask, null_column
from kreplica.model.tables.schema import PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import counted

_PARTITIONS = next(table for table in TABLES if table.of is PARTITIONS)


@dataclass(frozen=True, slots=True)
class _Glance:
    """The partitions of a topic as they were told at a moment.

    Args:
        number: Number of the moment.
        rows: The partitions.
        whole: Whether those that it does not have were not there.
        source: What told it.
        logged: Whether that was a metadata log, in which null is a value.
    """

    number: int
    rows: Coded
    whole: bool
    source: str
    logged: bool = False


def topic_rows(line: Line, topic: str) -> list[Row]:
    """The stretches of a topic's life; none where neither a snapshot nor a log has it."""
    fold = _TopicFold(topic, Moments(line))
    for one in _told(line, fold.moments, fold.coder, KeyFilter("topic", topic)):
        fold.observe(one)
    return fold.rows() if fold.known.any() else []


def _told(line: Line, moments: Moments, coder: Coder, some: KeyFilter) -> list[_Glance]:
    """Gives what metadata logs tell, and snapshots at other times, in order."""
    found = [
        _Glance(number, rows, whole=True, source=METADATA_LOG, logged=True)
        for number, rows in log_rows(moments, coder, some)
    ]
    for place, told, rows in line.told(coder, some):
        number = int(moments.seen[place])
        if not moments.inside(number, number):
            found.append(_Glance(number, rows, told.whole, str(line.seen[place].row["source"])))
    return sorted(found, key=lambda one: one.number)


@dataclass(eq=False)
class _TopicFold:
    """The partitions of a topic, observation by observation; a stretch ends where any of them changes."""

    topic: str
    moments: Moments
    coder: Coder = field(default_factory=lambda: Coder(_PARTITIONS))
    values: Integers = field(default_factory=lambda: np.zeros((0, len(_PARTITIONS.value_fields)), np.int64))
    there: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))
    known: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))
    found: list[tuple[Stretch, str, ClusterSnapshot | None]] = field(default_factory=list)
    changed: str = ""
    open: Stretch | None = None
    before: _Glance | None = None

    def observe(self, one: _Glance) -> None:
        """Adds what was told at the next moment."""
        number, rows, whole = one.number, one.rows, one.whole
        self._grow(int(rows.keys.max(initial=-1)) + 1)
        run, new = self.values[rows.keys], rows.values
        both = one.logged and self.before is not None and self.before.logged
        differs = (new != run) & self.there[rows.keys][:, None]
        if not both:
            differs &= (new != UNKNOWN) & (run != UNKNOWN)
        came = ~self.there[rows.keys]
        gone = np.zeros(0, np.intp)
        if whole:
            here = np.zeros(len(self.there), np.bool_)
            here[rows.keys] = True
            gone = np.flatnonzero(self.there & ~here)
        kind = self._kind(rows, whole)
        if self.open is None or differs.any() or came.any() or len(gone) or self.open.kind is not kind:
            self._close(number)
            self.changed = self._said(differs, rows.keys[came], gone) if self.found else ""
            self.open = Stretch(kind, number, number, snapshots=0)
        self.values[rows.keys] = new if one.logged else np.where((new == UNKNOWN) & ~came[:, None], run, new)
        self.there[rows.keys] = self.known[rows.keys] = True
        self.there[gone] = False
        self.open.last, self.before = number, one
        self.open.snapshots += not one.logged

    def rows(self) -> list[Row]:
        """The stretches as rows, with the pauses."""
        self._close(None)
        said = {id(stretch): (text, snapshot) for stretch, text, snapshot in self.found}
        every = in_order([*(stretch for stretch, _, _ in self.found), *self.moments.pauses()])
        return [self._row(one, *said.get(id(one), ("", None))) for one in every]

    def _row(self, one: Stretch, changed: str, snapshot: ClusterSnapshot | None) -> TopicStretch:
        one.exact = one.kind is not StretchKind.PAUSE and self.moments.inside(one.first, one.until)
        at = StretchTimes.of(one, self.moments.times)
        evaluator = None if snapshot is None else Evaluator(snapshot)
        offline, under_replicated, under_min_isr = (
            None if evaluator is None else int(evaluator.boolean(one.expression).is_true().sum())
            for one in (OFFLINE, UNDER_REPLICATED, UNDER_MIN_ISR)
        )
        return TopicStretch(
            topic=self.topic,
            kind=one.kind,
            valid_from=at.valid_from,
            last_seen=at.last_seen,
            valid_to=at.valid_to,
            partitions=None if snapshot is None else len(snapshot.partitions),
            offline=offline,
            under_replicated=under_replicated,
            under_min_isr=under_min_isr,
            changed=changed,
            snapshots=one.snapshots,
        )

    def _kind(self, rows: Coded, whole: bool) -> StretchKind:
        if len(rows.keys):
            return StretchKind.STATE
        return StretchKind.ABSENT if whole else StretchKind.UNKNOWN

    def _close(self, number: int | None) -> None:
        if self.open is not None:
            self.open.ended = number
            snapshot = self._snapshot() if self.open.kind is StretchKind.STATE else None
            self.found.append((self.open, self.changed, snapshot))

    def _snapshot(self) -> ClusterSnapshot:
        keys = np.flatnonzero(self.there)
        columns = self.coder.columns(Coded(keys, self.values[keys]))
        schema = PARTITIONS
        names = {name: column for name, column in columns.items() if name in schema.names}
        measured = {name: null_column(schema.field(name).kind, len(keys)) for name in _PARTITIONS.measured}
        one = self.before
        assert one is not None, "something was told of it"
        taken_at = moment_of(int(self.moments.times[one.number]))
        return ClusterSnapshot(None, self.topic, taken_at, one.source, Table(schema, {**names, **measured}))

    def _said(self, differs: Mask, came: Integers, gone: Integers) -> str:
        fields = [one.name for one in _PARTITIONS.value_fields]
        texts = []
        if differs[:, fields.index("topic_id")].any():
            texts.append("created anew: another topic id")
        again = self.known[came]
        for number, words in ((int((~again).sum()), "new"), (int(again.sum()), "back"), (len(gone), "gone")):
            texts += [f"{counted(number, 'partition')} {words}"] if number else []
        for column in np.flatnonzero(differs.any(axis=0)).tolist():
            if fields[column] != "topic_id":
                texts.append(f"{fields[column]} of {counted(int(differs[:, column].sum()), 'partition')}")
        return "; ".join(texts)

    def _grow(self, count: int) -> None:
        more = count - len(self.there)
        if more > 0:
            self.values = np.concatenate([self.values, np.full((more, self.values.shape[1]), UNKNOWN, np.int64)])
            self.there = np.concatenate([self.there, np.zeros(more, np.bool_)])
            self.known = np.concatenate([self.known, np.zeros(more, np.bool_)])
