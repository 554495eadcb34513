"""The history of one cluster, as rules read it: its observations and its tables, each read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from kreplica.errors import InputError
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.logged import lasting_with_logs, told_by_logs
from kreplica.fleet.samples import Samples, samples_of_line
from kreplica.history.lives.log_line import Moments
from kreplica.history.lives.told_line import Line
from kreplica.history.months.log_steps import LogStep
from kreplica.history.months.month import RESTORE
from kreplica.history.months.observations import Seen
from kreplica.history.selection import HistoryMonth
from kreplica.history.tables import TABLES
from kreplica.model.tables.columns import Integers, Mask
from kreplica.model.tables.schema import BROKERS, CONFIGS, GROUPS, LOG_DIRS, PARTITIONS, QUORUM, TableSchema

_OF = {table.name: table for table in TABLES}


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers of moments: from when to when something was seen.

    Args:
        before: The last observation before that says otherwise, -1 if none does.
        first: The first one that shows it.
        last: The last one that shows it.
        ended: The first later one that says otherwise, -1 if none does.
    """

    before: int
    first: int
    last: int
    ended: int = -1

    @classmethod
    def event(cls, before: int, at: int) -> Span:
        """Span of what has happened after one observation and not after another."""
        return cls(before, at, at, at)

    @property
    def is_event(self) -> bool:
        """True if it has happened and does not last."""
        return self.first == self.last == self.ended


class ClusterHistory:
    """One cluster over time.

    Its moments are numbered through: the snapshots, and what metadata logs tell. Tables that logs tell are theirs in
    the time of a log, and of the snapshots elsewhere; all others are of the snapshots.

    Args:
        months: Its months, in order; at least one, with a snapshot or a metadata log.
    """

    def __init__(self, months: Sequence[HistoryMonth]) -> None:
        self.months = months
        self.line = Line(months)
        self.moments = Moments(self.line)
        self.cluster = months[-1].cluster
        self.name = next((month.name for month in reversed(months) if month.inside), months[-1].name)
        self._tables: dict[str, Lasting] = {}
        self._samples: dict[str, Samples] = {}

    @property
    def times(self) -> Integers:
        """Milliseconds of each moment."""
        return self.moments.times

    @cached_property
    def in_logs(self) -> Mask:
        """For each moment whether a metadata log tells of it."""
        return told_by_logs(self.moments)

    @cached_property
    def held_until(self) -> Integers:
        """For each moment the milliseconds up to which what it shows is known to hold: in a log up to the next one."""
        found = self.times.copy()
        for first, last in self.moments.spans:
            found[first:last] = self.times[first + 1 : last + 1]
        return found

    def exactly(self, span: Span) -> bool:
        """True if a metadata log tells all of a time, so that its borders are those of records."""
        first, last = (span.first if span.before < 0 else span.before), (span.last if span.ended < 0 else span.ended)
        return any(begin <= first and last <= end for begin, end in self.moments.spans)

    def table(self, schema: TableSchema) -> Lasting:
        """A table over time.

        Raises:
            InputError: A file is damaged, or not there.
        """
        if schema.name not in self._tables:
            self._tables[schema.name] = lasting_with_logs(self.moments, _OF[schema.name])
        return self._tables[schema.name]

    def samples(self, schema: TableSchema) -> Samples:
        """Samples of what is measured in a table.

        Raises:
            InputError: A file is damaged, or not there.
        """
        if schema.name not in self._samples:
            found = samples_of_line(self.line, _OF[schema.name])
            self._samples[schema.name] = Samples(found.rows, self.moments.seen[found.numbers])
        return self._samples[schema.name]

    @property
    def partitions(self) -> Lasting:
        """Partitions over time."""
        return self.table(PARTITIONS)

    @property
    def brokers(self) -> Lasting:
        """Brokers over time."""
        return self.table(BROKERS)

    @property
    def configs(self) -> Lasting:
        """Settings over time."""
        return self.table(CONFIGS)

    @property
    def groups(self) -> Lasting:
        """Groups over time; offsets are in the samples."""
        return self.table(GROUPS)

    @property
    def quorum(self) -> Lasting:
        """Nodes of the metadata quorum over time."""
        return self.table(QUORUM)

    @property
    def log_dirs(self) -> Lasting:
        """Log directories over time."""
        return self.table(LOG_DIRS)

    @cached_property
    def steps(self) -> Mapping[int, LogStep]:
        """Facts that a metadata log tells besides its tables, by the number of the moment."""
        steps = (part.month.steps[step] for part in self.moments.log.parts for step in part.steps.tolist())
        return dict(zip(self.moments.logged.tolist(), steps, strict=True))

    def snapshot_up_to(self, number: int) -> Seen | None:
        """The last snapshot up to a moment; None if there is none."""
        place = int(np.searchsorted(self.moments.seen, number, side="right"))
        return self.line.seen[place - 1] if place else None

    @cached_property
    def features(self) -> Sequence[Mapping[str, int]]:
        """Finalized features at each moment; empty where they are not known.

        Raises:
            InputError: What is said of them is damaged.
        """
        known: dict[str, Mapping[str, int]] = {}
        snapshots = {number: str(one.row["features"]) for number, one in self._snapshots if not self.in_logs[number]}
        texts = {**snapshots, **{number: step.features for number, step in self.steps.items()}}
        found, text = [], "{}"
        for number in range(len(self.times)):
            text = texts.get(number, text)
            if text not in known:
                known[text] = self._decoded(text)
            found.append(known[text])
        return found

    @property
    def controllers(self) -> list[tuple[int, int]]:
        """The controller at each moment that tells it: the leader of the metadata quorum, or that of ZooKeeper."""
        found = {number: one.row["controller"] for number, one in self._snapshots if not self.in_logs[number]} | {
            number: step.controller for number, step in self.steps.items()
        }
        return sorted((number, controller) for number, controller in found.items() if isinstance(controller, int))

    @cached_property
    def _of_logs(self) -> Mask:
        """For each moment whether it is one of a metadata log, and no snapshot."""
        found = np.ones(len(self.times), np.bool_)
        found[self.moments.seen] = False
        return found

    @property
    def _snapshots(self) -> Iterator[tuple[int, Seen]]:
        return zip(self.moments.seen.tolist(), self.line.seen, strict=True)

    def _decoded(self, text: str) -> Mapping[str, int]:
        try:
            return msgspec.json.decode(text, type=dict[str, int])
        except msgspec.DecodeError as error:
            reason = f"what its observations say is damaged: {error}"
            raise InputError(self.months[0].month.folder, "", reason, RESTORE) from None

    def finding(self, span: Span, tellers: Integers, **facts: Any) -> FleetFinding:
        """A finding with its times.

        Args:
            span: From when to when.
            tellers: Numbers of the moments that can tell, in order.
            facts: The other fields of the finding.
        """
        return FleetFinding(cluster=self.cluster, **self.times_of(span, tellers), **facts)

    def times_of(self, span: Span, tellers: Integers) -> Mapping[str, Any]:
        """The fields of a finding that tell its times.

        Args:
            span: From when to when.
            tellers: Numbers of the moments that can tell, in order.
        """
        newest = int(tellers[-1]) if len(tellers) else -1
        by_logs = bool(self._of_logs[tellers].any())
        asked = tellers[~self.in_logs[tellers]] if by_logs else tellers
        begin, end = np.searchsorted(asked, [span.first, span.last + 1])
        until = self.held_until if by_logs else self.times
        return {
            "begun_after_ms": None if span.before < 0 else int(until[span.before]),
            "valid_from_ms": int(self.times[span.first]),
            "last_seen_ms": int(self.times[span.last] if span.is_event else until[span.last]),
            "valid_to_ms": None if span.ended < 0 else int(self.times[span.ended]),
            "snapshots": int(end - begin),
            "longest_interval_ms": self._longest_interval(span, by_logs=by_logs),
            "in_newest": span.ended < 0 or (span.is_event and span.first >= newest),
            "exact": by_logs and self.exactly(span),
        }

    def _longest_interval(self, span: Span, *, by_logs: bool) -> int:
        """Milliseconds at most between two moments of a time in which nobody looked."""
        if not by_logs:
            first, last = np.searchsorted(self.moments.seen, [span.first, span.last + 1])
            return int(np.diff(self.line.times[first:last]).max(initial=0))
        waits = self.times[span.first + 1 : span.last + 1] - self.held_until[span.first : span.last]
        return int(waits.max(initial=0))
