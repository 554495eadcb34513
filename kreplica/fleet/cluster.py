"""The history of one cluster, as rules read it: its observations and its tables, each read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from kreplica.errors import InputError
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.lasting import Lasting, lasting
from kreplica.fleet.logged import Logged, logged
from kreplica.fleet.samples import Samples, samples_of_line
from kreplica.history.month import RESTORE
from kreplica.history.selection import HistoryMonth
from kreplica.history.tables import TABLES
from kreplica.history.told_line import Line
from kreplica.model.columns import Integers
from kreplica.model.schema import BROKERS, CONFIGS, GROUPS, LOG_DIRS, PARTITIONS, QUORUM, TableSchema

_OF = {table.name: table for table in TABLES}


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers of observations: from when to when something was seen.

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

    Args:
        months: Its months, in order; at least one, with an observation.
    """

    def __init__(self, months: Sequence[HistoryMonth]) -> None:
        self.months = months
        self.line = Line(months)
        self.cluster = months[-1].cluster
        self.name = months[-1].name
        self._tables: dict[str, Lasting] = {}
        self._samples: dict[str, Samples] = {}

    @property
    def times(self) -> Integers:
        """Milliseconds of each observation."""
        return self.line.times

    def table(self, schema: TableSchema) -> Lasting:
        """A table over time.

        Raises:
            InputError: A file is damaged, or not there.
        """
        if schema.name not in self._tables:
            self._tables[schema.name] = lasting(self.line, _OF[schema.name])
        return self._tables[schema.name]

    @cached_property
    def logged_partitions(self) -> Logged:
        """Partitions by metadata logs.

        Raises:
            InputError: A file is damaged, or not there.
        """
        return logged(self.months, PARTITIONS)

    def samples(self, schema: TableSchema) -> Samples:
        """Samples of what is measured in a table.

        Raises:
            InputError: A file is damaged, or not there.
        """
        if schema.name not in self._samples:
            self._samples[schema.name] = samples_of_line(self.line, _OF[schema.name])
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
    def features(self) -> Sequence[Mapping[str, int]]:
        """Finalized features of each observation; empty where it does not know.

        Raises:
            InputError: What an observation says is damaged.
        """
        known: dict[str, Mapping[str, int]] = {}
        for one in self.line.seen:
            text = str(one.row["features"])
            if text not in known:
                known[text] = self._decoded(text)
        return [known[str(one.row["features"])] for one in self.line.seen]

    def _decoded(self, text: str) -> Mapping[str, int]:
        try:
            return msgspec.json.decode(text, type=dict[str, int])
        except msgspec.DecodeError as error:
            reason = f"what its observations say is damaged: {error}"
            raise InputError(self.months[0].month.folder, "", reason, RESTORE) from None

    def finding(self, span: Span, tellers: Integers, times: Integers | None = None, **facts: Any) -> FleetFinding:
        """A finding with its times.

        Args:
            span: From when to when.
            tellers: Numbers of the observations that can tell, in order.
            times: Milliseconds of what the numbers are of; the observations if None.
            facts: The other fields of the finding.
        """
        begin, end = np.searchsorted(tellers, [span.first, span.last + 1])
        newest = int(tellers[-1]) if len(tellers) else -1
        at = self.times if times is None else times
        return FleetFinding(
            cluster=self.cluster,
            begun_after_ms=None if span.before < 0 else int(at[span.before]),
            valid_from_ms=int(at[span.first]),
            last_seen_ms=int(at[span.last]),
            valid_to_ms=None if span.ended < 0 else int(at[span.ended]),
            snapshots=int(end - begin),
            longest_interval_ms=int(np.diff(at[span.first : span.last + 1]).max(initial=0)),
            in_newest=span.ended < 0 or (span.is_event and span.first >= newest),
            **facts,
        )
