"""Stretches of time in which a partition could not be written to, or not be read, with the bounds of each.

Snapshots tell moments. A stretch lasts at least from the first to the last of them that shows it, and at most from the
last one before to the first one after that show otherwise. Where a metadata log tells, both are the same. A stretch
ends where a pause begins: nobody looked, so the time of a pause is neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt

from kreplica.fleet.availability.timeline import Timeline
from kreplica.fleet.pieces import Pieces, Span, cut_at
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Expression
from kreplica.model.predicates.partitions import UNAVAILABLE, UNDER_MIN_ISR_BROKER
from kreplica.model.tables.columns import Integers

READS = UNAVAILABLE.expression
"""Without a live leader a partition can neither be read nor written to."""
WRITES = UNAVAILABLE.expression | UNDER_MIN_ISR_BROKER.expression
"""Writes with acks=all fail without a live leader, and where fewer replicas than min.insync.replicas are in sync."""

_GOOD, _BAD, _UNKNOWN = range(3)


@dataclass(frozen=True, slots=True)
class Outage:
    """A stretch of time in which one partition could not be used. Times are milliseconds since the epoch.

    Args:
        topic: The topic.
        partition: The partition.
        least: From the first moment that shows it to the last one.
        most: From the last moment before that shows otherwise to the first one after, as far as any does.
        lasts: Whether the newest state shows it.
    """

    topic: str
    partition: int
    least: Span
    most: Span
    lasts: bool


class Outages:
    """Outages of a cluster.

    Args:
        timeline: The cluster at every moment.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._begins = np.array([one.begin for one in timeline.circumstances], np.int64)
        self._numbers = np.array([one.number for one in timeline.circumstances], np.int64)

    def of(self, expression: Expression) -> list[Outage]:
        """The outages in which a condition on partitions holds, by topic, partition and time.

        Args:
            expression: The condition.
        """
        pieces = self._timeline.partitions
        answers = self._answers(expression)
        ever = np.flatnonzero((answers == _BAD).any(axis=0))
        keys = np.unique(pieces.coded.keys[np.isin(self._timeline.states.numbers, ever)])
        some = np.flatnonzero(np.isin(pieces.coded.keys, keys))
        cut, owners = self._cut(pieces.take(some))
        states = self._timeline.states.numbers[some][owners]
        places = np.searchsorted(self._begins, cut.begin, side="right") - 1
        verdicts = answers[self._numbers[places], states]
        return list(self._outages(cut, verdicts))

    def _answers(self, expression: Expression) -> npt.NDArray[np.int8]:
        """For all circumstances, by number, and all states: whether the condition holds."""
        distinct = {one.number: one for one in self._timeline.circumstances}
        found = []
        for number in range(len(distinct)):
            evaluator = Evaluator(distinct[number].snapshot, self._timeline.states.table.columns)
            holds = evaluator.boolean(expression)
            found.append(np.where(holds.is_null(), _UNKNOWN, np.where(holds.is_true(), _BAD, _GOOD)))
        return np.array(found, np.int8)

    def _cut(self, pieces: Pieces) -> tuple[Pieces, Integers]:
        """The pieces, cut where circumstances change and where a pause ends, in the order of keys and times."""
        borders = np.unique([*self._begins.tolist(), *(end for _, end in self._timeline.pauses)])
        first = np.searchsorted(borders, pieces.begin, side="right")
        count = np.maximum(np.searchsorted(borders, pieces.end, side="left") - first, 0)
        rows = np.repeat(np.arange(len(pieces)), count)
        at = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count) + first[rows]
        cut, owners = cut_at(pieces, rows, borders[at])
        order = np.lexsort((cut.begin, cut.coded.keys))
        return cut.take(order), owners[order]

    def _outages(self, cut: Pieces, verdicts: npt.NDArray[np.int8]) -> Iterator[Outage]:
        """Outages of keys, by their pieces in order."""
        seen = np.maximum(self._last_look(cut.seen), cut.begin)
        seen = np.minimum(np.where(cut.exact, cut.end, seen), self._newest)
        names = self._timeline.coder.key_columns(cut.coded.keys)
        columns = [names["topic"].to_list(), names["partition"].to_list(), cut.begin.tolist(), seen.tolist()]
        columns += [cut.end.tolist(), verdicts.tolist()]
        for (topic, partition), rows in groupby(zip(*columns, strict=True), key=lambda row: row[:2]):
            for least, most in self._stretches([row[2:] for row in rows]):
                lasts = least[1] >= self._newest
                yield Outage(str(topic), int(str(partition)), least, most, lasts)

    def _last_look(self, times: Integers) -> Integers:
        """The last snapshot at or before each moment; the moment itself where there is none."""
        looks = self._timeline.line.times
        places = np.searchsorted(looks, times, side="right")
        found: Integers = np.where(places > 0, np.append(looks, 0)[places - 1], times)
        return found

    @cached_property
    def _newest(self) -> int:
        """The newest moment."""
        return self._timeline.end - 1

    def _stretches(self, rows: Sequence[tuple[int, int, int, int]]) -> Iterator[tuple[Span, Span]]:
        """Bounds of the outages of one partition."""
        good: int | None = None  # the last moment that shows otherwise, none since the last pause or the beginning
        bad: list[int] = []
        before = self._timeline.begin
        for begin, seen, end, verdict in rows:
            if self._pauses_between(before, begin):
                yield from self._ended(bad, good, None)
                good, bad = None, []
            if begin > before:  # it was not there in between
                yield from self._ended(bad, good, before)
                bad, good = [], int(self._last_look(np.array([begin - 1]))[0])
            before = end
            if verdict == _BAD:
                bad += [begin, seen]
            elif verdict == _GOOD:
                yield from self._ended(bad, good, begin)
                bad, good = [], seen
            elif good is None and not bad:
                good = begin  # it may have begun as early as that
        yield from self._ended(bad, good, before if before <= self._newest else None)

    def _pauses_between(self, before: int, begin: int) -> bool:
        """True if a pause ends where a piece begins, or since the piece before it ended."""
        return any(before <= until <= begin for _, until in self._timeline.pauses)

    def _ended(self, bad: Sequence[int], good: int | None, end: int | None) -> Iterator[tuple[Span, Span]]:
        if not bad:
            return
        first, last = bad[0], max(bad)
        begin, until = next((one for one in self._timeline.known if one[0] <= first <= one[1]), (first, last))
        earliest = first if good is None else max(min(good, first), begin)
        latest = max(last, min(until if end is None else end, until, self._newest))
        yield (first, last), (earliest, latest)
