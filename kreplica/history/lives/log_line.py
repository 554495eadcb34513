"""Metadata logs of a cluster in one line over its months, beside its snapshots: of their time nothing is unknown."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kreplica.history.coding import Coded, Coder
from kreplica.history.lives.stretches import Stretch, StretchKind, stretches
from kreplica.history.lives.told_line import Glance, Line, runs_of_key
from kreplica.history.months.log_steps import times_of_steps, told_spans
from kreplica.history.pauses import longest_usual
from kreplica.history.selection import HistoryMonth, KeyFilter
from kreplica.history.tables import HistoryTable
from kreplica.model.tables.columns import Integers


@dataclass(frozen=True, slots=True, eq=False)
class LogPart:
    """A month as metadata logs tell it.

    Args:
        month: The month.
        steps: Numbers of the steps that tell something, in order; the state of each holds up to the next one.
        shift: Number of the first of them in the line.
    """

    month: HistoryMonth
    steps: Integers
    shift: int

    @property
    def numbers(self) -> range:
        """Numbers of all of them."""
        return range(self.shift, self.shift + len(self.steps))

    def places(self, first: int, last: int) -> tuple[int, int]:
        """Numbers in the line of the first and the last moment between two steps; none if they do not go forward."""
        begin = int(np.searchsorted(self.steps, first))
        return begin + self.shift, int(np.searchsorted(self.steps, last, side="right")) - 1 + self.shift

    def borders(self, spans: Iterable[tuple[int, int]], runs: Iterable[tuple[int, int]]) -> list[int]:
        """The moments at which a run begins, was last seen or is over, or a time that logs tell begins or ends."""
        ends = [self.numbers[0], self.numbers[-1], *(place for span in spans for place in span)]
        changes = [place for first, last in runs if first <= last for place in (first, last, last + 1)]
        return sorted({place for place in (*ends, *changes) if place in self.numbers})


class LogLine:
    """Moments of a cluster at which metadata logs tell something, numbered through.

    Args:
        months: The months of the cluster, in order.
    """

    def __init__(self, months: Iterable[HistoryMonth]) -> None:
        self.parts: list[LogPart] = []
        self.spans: list[tuple[int, int]] = []
        """First and last moment of each time of which no record is missing."""
        self._times: list[Integers] = [np.zeros(0, np.int64)]
        self._count, self._offset = 0, -1
        for month in months:
            self._add(month)

    @property
    def times(self) -> Integers:
        """Milliseconds of each moment."""
        return np.concatenate(self._times)

    def _add(self, month: HistoryMonth) -> None:
        every, found, shift = times_of_steps(month.steps), [], self._count
        for first, last in told_spans(month.steps):
            since, until = max(int(every[first]), month.since_ms), min(int(every[last]), month.until_ms)
            if since > until:
                continue
            times, steps = _moments(every, first, last, since, until)
            if self.spans and month.steps[first].offset <= self._offset:
                self.spans[-1] = self.spans[-1][0], self._count + len(steps) - 1
            else:
                self.spans.append((self._count, self._count + len(steps) - 1))
            self._offset = month.steps[last].offset
            self._count += len(steps)
            self._times.append(times)
            found.append(steps)
        if found:
            self.parts.append(LogPart(month, np.concatenate(found), shift))


def _moments(every: Integers, first: int, last: int, since: int, until: int) -> tuple[Integers, Integers]:
    """Times and steps between two times: of several steps of one millisecond the last one."""
    times = every[first : last + 1]
    begin, end = (int(np.searchsorted(times, moment, side="right")) - 1 for moment in (since, until))
    kept = np.arange(begin, end + 1)
    kept = kept[np.append(np.diff(times[kept]) > 0, True)]
    found = np.maximum(times[kept], since)
    if found[-1] < until:  # what held then is known, though nothing was written
        found, kept = np.append(found, until), np.append(kept, end)
    return found, kept + first


class Moments:
    """Snapshots and the moments of metadata logs, numbered through in the order of time.

    Args:
        line: The snapshots.
        logs: Whether metadata logs are asked, too.
    """

    def __init__(self, line: Line, *, logs: bool = True) -> None:
        self.line, self.log = line, LogLine(line.months if logs else ())
        log = self.log
        every = np.concatenate([line.times, log.times])
        order = np.argsort(every, kind="stable")
        numbers = np.empty(len(every), np.int64)
        numbers[order] = np.arange(len(every))
        self.times: Integers = every[order]
        self.seen: Integers = numbers[: len(line.times)]
        """Number of each snapshot."""
        self.logged: Integers = numbers[len(line.times) :]
        """Number of each moment of a log."""
        self.spans = [(int(self.logged[first]), int(self.logged[last])) for first, last in log.spans]
        """First and last moment of each time that logs tell."""

    def inside(self, first: int, last: int) -> bool:
        """True if logs tell all of the time between two moments."""
        begin, end = self.times[first], self.times[last]
        return any(self.times[one] <= begin and end <= self.times[other] for one, other in self.spans)

    def beside(self, told: Iterable[Glance]) -> list[Glance]:
        """Glances of snapshots by these numbers; they need to tell nothing where logs do."""
        found = [Glance(first, None, whole=False, logged=True) for first, _ in self.spans]
        for one in told:
            number = int(self.seen[one.number])
            found.append(Glance(number, one.row, one.whole, logged=self.inside(number, number)))
        return sorted(found, key=lambda one: one.number)

    @cached_property
    def usual(self) -> float:
        """Milliseconds between two moments up to which no pause lies between them."""
        return longest_usual(self.line.times)

    @cached_property
    def asked(self) -> Integers:
        """Numbers of the moments that tell what was: those of logs, and snapshots outside the time of these."""
        outside = [number for number in self.seen.tolist() if not self.inside(number, number)]
        return np.sort(np.concatenate([np.array(outside, np.int64), self.logged]))

    @cached_property
    def logs(self) -> Integers:
        """For each moment that tells, the number of the time of logs that it is of; -1 of a snapshot."""
        firsts = np.array([first for first, _ in self.spans], np.int64)
        return np.where(np.isin(self.asked, self.logged), np.searchsorted(firsts, self.asked, side="right") - 1, -1)

    def pauses(self) -> list[Stretch]:
        """Pauses: times in which no snapshot was taken although one was due, and no log tells what happened."""
        numbers, logs = self.asked, self.logs
        unknown = (logs[1:] != logs[:-1]) | (logs[1:] < 0)
        long = unknown & (np.diff(self.times[numbers]) > self.usual)
        pairs = zip(numbers[:-1][long].tolist(), numbers[1:][long].tolist(), strict=True)
        return [Stretch(StretchKind.PAUSE, before, before, after, snapshots=0) for before, after in pairs]


def told_stretches(
    moments: Moments, told: Iterable[Glance], logged: Iterable[Glance], shown: Sequence[str]
) -> list[Stretch]:
    """The life of one thing by logs, where they tell it, and by snapshots elsewhere.

    Args:
        moments: Snapshots and logs; stretches have their numbers.
        told: What snapshots told of it.
        logged: What logs tell of it.
        shown: Columns that count as not told where a snapshot lacks them.
    """
    found = [one for one in stretches(moments.beside(told), shown) if not moments.inside(one.first, one.until)]
    for one in stretches(logged, ()):
        one.exact, one.snapshots = moments.inside(one.first, one.until), 0
        found.append(one)
    return found


def log_glances(moments: Moments, table: HistoryTable, some: KeyFilter, key: Sequence[Hashable]) -> Iterator[Glance]:
    """One key of a table as metadata logs tell it, at each moment at which it changed or a log begins or ends.

    Args:
        moments: The logs, and the numbers of their moments.
        table: The table, as logs tell it.
        some: Rows among which the key is.
        key: Values of the columns that tell it apart.
    """
    coder = Coder(table)
    for part in moments.log.parts:
        found = runs_of_key(coder, part.month.exact_runs(coder, some), key)
        runs = [(part.places(one.first, one.last), one) for one in found]
        for place in part.borders(moments.log.spans, [places for places, _ in runs]):
            row = next((one.values for (first, last), one in runs if first <= place <= last), None)
            yield Glance(int(moments.logged[place]), row, whole=True)


def log_rows(moments: Moments, coder: Coder, some: KeyFilter) -> Iterator[tuple[int, Coded]]:
    """Rows of a table as metadata logs tell them, at each moment at which any changed or a log begins or ends.

    Args:
        moments: The logs, and the numbers of their moments.
        coder: Of the table.
        some: The rows that are of interest.
    """
    for part in moments.log.parts:
        runs = part.month.exact_runs(coder, some)
        first = np.searchsorted(part.steps, runs.first) + part.shift
        last = np.searchsorted(part.steps, runs.last, side="right") - 1 + part.shift
        for place in part.borders(moments.log.spans, zip(first.tolist(), last.tolist(), strict=True)):
            yield int(moments.logged[place]), runs.take((first <= place) & (place <= last)).coded
