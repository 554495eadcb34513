"""Findings of an audit that an earlier answer did not have, brought into memory: they are few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from analyzers.audit import MOST_HELD, Audit, Tally, refuse_many
from analyzers.rows import SpanFinding
from analyzers.rules.over_time import tallied, worst_first
from kreplica.fleet.known.baseline import Baseline, place_of


class NewFindings:
    """Findings that an earlier answer did not have; they are asked for as those of an Audit.

    Args:
        rows: The findings, the most severe first.
        earlier: Number of the others.
    """

    def __init__(self, rows: Sequence[SpanFinding], earlier: int) -> None:
        self._rows, self.earlier = rows, earlier

    def tallies(self) -> list[Tally]:
        """Numbers of findings by cluster, rule and severity."""
        found = [Tally(*key, *counts) for key, counts in tallied(self._rows).items()]
        return sorted(found, key=lambda one: (one.cluster, -one.severity.rank, one.rule))

    def findings(self) -> Iterator[SpanFinding]:
        """All of them, the most severe first."""
        return iter(self._rows)

    def top(self, count: int) -> Sequence[SpanFinding]:
        """The first ``count``: the most severe first, those of the newest snapshots before older ones."""
        return worst_first(self._rows, count)


def new_findings(audit: Audit, baseline: Baseline, read_from: Mapping[str, datetime]) -> NewFindings:
    """The findings that an earlier answer does not have.

    Args:
        audit: An audit with a row for each finding and span.
        baseline: The earlier answer.
        read_from: Time of the first observation of each cluster.

    Raises:
        UsageError: More are new than are brought into memory at once.
    """
    rows: list[SpanFinding] = []
    earlier = 0
    for one in audit.findings():
        assert isinstance(one, SpanFinding), "rows of single snapshots are not compared"
        first, last = datetime.fromisoformat(one.valid_from), datetime.fromisoformat(one.last_seen)
        if baseline.has(place_of(one), first, last, read_from.get(one.cluster)):
            earlier += 1
            continue
        rows.append(one)
        if len(rows) > MOST_HELD:
            refuse_many(len(rows))
    return NewFindings(rows, earlier)
