"""A cluster at every moment of its history: its partitions as pieces, its brokers and controller as circumstances."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from operator import itemgetter
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from kreplica.errors import InputError
from kreplica.fleet.logged import topics_with
from kreplica.fleet.pieces import Pieces, Span, cut_at, exact_pieces, narrow, outside, pieces_of, spans_of_logs
from kreplica.history.coding import UNKNOWN, Coded, Coder
from kreplica.history.lives.log_line import Moments
from kreplica.history.lives.told_line import Line
from kreplica.history.months.log_steps import STEPS, exact_name, times_of_steps
from kreplica.history.months.month import RESTORE
from kreplica.history.selection import Chosen, HistoryMonth, choose, nothing_wanted
from kreplica.history.tables import LOG_TABLES
from kreplica.model.cluster_names import told_names
from kreplica.model.settings import ELR_FEATURE
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import BoolColumn, Integers, null_column
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS, QUORUM, TableSchema
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import counted
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import Storage

STATE = (
    "leader",
    "replicas",
    "isr",
    "elr",
    "last_known_elr",
    "offline_replicas",
    "min_isr",
    "unclean_leader_election",
)
"""Facts that decide what becomes of a partition when brokers are lost."""

TABLES_READ = (PARTITIONS, BROKERS, CONFIGS, QUORUM)
_SETTINGS = {"min_isr": "min.insync.replicas", "unclean_leader_election": "unclean.leader.election.enable"}
_METADATA_LOG = "kraft-metadata"
_time = itemgetter(0)


@dataclass(frozen=True, slots=True, eq=False)
class Circumstances:
    """Facts that partitions have in common, from when to when.

    Args:
        begin: The first millisecond.
        end: The first one after it.
        snapshot: The cluster without its partitions.
        elr: Whether eligible leader replicas are on.
        number: Equal for times in which all of it is the same.
    """

    begin: int
    end: int
    snapshot: ClusterSnapshot
    elr: bool
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """States that partitions were in, each once.

    Args:
        table: The states, as partitions of a snapshot.
        numbers: For each piece of the partitions the number of its state.
    """

    table: Table
    numbers: Integers


class Timeline:
    """A cluster at every moment.

    Args:
        months: Its months that are wanted, in order.
    """

    def __init__(self, months: Sequence[HistoryMonth]) -> None:
        self.months, self.line = months, Line(months)
        self.spans = spans_of_logs(months)
        borders = [*self.line.times[[0, -1]].tolist()] if len(self.line.times) else []
        borders += [time for begin, end in self.spans for time in (begin, end - 1)]
        self.begin: int = min(borders)
        """The first moment that is known."""
        self.end: int = max(borders) + 1
        """The first millisecond after the last moment that is known."""

    @property
    def cluster(self) -> str:
        """The cluster's label."""
        return self.months[-1].cluster

    @property
    def name(self) -> str:
        """Its name in the newest snapshot."""
        return self.months[-1].name

    @cached_property
    def pauses(self) -> list[Span]:
        """Times that no snapshot and no log tells."""
        moments = Moments(self.line)
        found = [(one.first, one.until) for one in moments.pauses()]
        return [(int(moments.times[first]), int(moments.times[until])) for first, until in found]

    @cached_property
    def known(self) -> list[Span]:
        """Times that are known, in order."""
        begins = [self.begin, *(end for _, end in self.pauses)]
        ends = [*(begin for begin, _ in self.pauses), self.end]
        return [span for span in zip(begins, ends, strict=True) if span[0] < span[1]]

    @cached_property
    def coder(self) -> Coder:
        """Codes of partitions."""
        return Coder(narrow(PARTITIONS, STATE))

    @cached_property
    def partitions(self) -> Pieces:
        """The states of partitions.

        Raises:
            InputError: A file is damaged, or not there.
        """
        told = pieces_of(self.line, self.coder, self.end)
        if not self.spans:
            return told
        logged = self._with_settings(exact_pieces(self.months, self.coder), told)
        return Pieces.joined([outside(told, self.spans), logged], len(STATE))

    def _with_settings(self, logged: Pieces, told: Pieces) -> Pieces:
        """Settings that nobody set in the log may stand in files of brokers, as snapshots tell."""
        names = [field.name for field in self.coder.table.value_fields]
        columns = [names.index(name) for name in _SETTINGS]
        rows, places = _together(logged, told)
        times = np.concatenate([told.begin[places], told.end[places]])
        cut, _ = cut_at(logged, np.concatenate([rows, rows]), times)
        rows, places = _together(cut, told)
        values = cut.coded.values.copy()
        topics = self.coder.key_columns(cut.coded.keys)["topic"].to_list()
        for column, setting in zip(columns, _SETTINGS.values(), strict=True):
            held = topics_with(self.months, setting)
            free = np.array([topics[row] not in held for row in rows.tolist()], np.bool_)
            free &= values[rows, column] == UNKNOWN
            values[rows[free], column] = told.coded.values[places[free], column]
        return Pieces(Coded(cut.coded.keys, values), cut.begin, cut.seen, cut.end, cut.exact)

    @cached_property
    def states(self) -> States:
        """The states of partitions, each once.

        Raises:
            InputError: A file is damaged, or not there.
        """
        coded = self.partitions.coded
        _, first, numbers = np.unique(_combined(coded.values), return_index=True, return_inverse=True)
        return States(self.partitions_of(Coded(coded.keys[first], coded.values[first])), numbers)

    def partitions_of(self, coded: Coded) -> Table:
        """Rows of partitions as a table of a snapshot, in their order; what does not matter here is null."""
        return rows_of(self.coder, coded)

    @cached_property
    def circumstances(self) -> list[Circumstances]:
        """Facts that partitions have in common, one after the other, over all of the time.

        Raises:
            InputError: A file is damaged, or not there.
        """
        brokers, quorum = (self.rows(BROKERS, ("rack", "alive")), self.rows(QUORUM, ("voter", "leader")))
        facts, elr = self._facts(), self._elr_listed()
        borders = [self.begin, *(time for pieces in (brokers[1], quorum[1]) for time in _times(pieces))]
        borders += [*(begin for begin, _ in facts), *(time for span in elr for time in span)]
        distinct = sorted({time for time in borders if self.begin <= time < self.end})
        found: list[Circumstances] = []
        numbers: dict[tuple[object, ...], int] = {}
        at = 0
        for begin, end in zip(distinct, [*distinct[1:], self.end], strict=True):
            while at + 1 < len(facts) and facts[at + 1][0] <= begin:
                at += 1
            source, features = facts[at][1]
            listed = any(first <= begin < last for first, last in elr)
            tables = [coder.table_of(pieces.between(begin, begin + 1).coded) for coder, pieces in (brokers, quorum)]
            snapshot = self._snapshot(begin, source, features, *tables)
            said = [*(tuple(row.values()) for row in tables[0].rows()), None, len(tables[1]) > 0]
            key = (*said, source, tuple(sorted(features.items())), listed)
            number = numbers.setdefault(key, len(numbers))
            if found and found[-1].number == number:
                found[-1] = Circumstances(found[-1].begin, end, found[-1].snapshot, found[-1].elr, number)
            else:
                on = features.get(ELR_FEATURE, 0) > 0 or listed
                found.append(Circumstances(begin, end, snapshot, on, number))
        return found

    def rows(self, of: TableSchema, columns: Sequence[str]) -> tuple[Coder, Pieces]:
        """Rows of a table over time, and their codes. Settings of partitions are as the log alone tells them, if any.

        Args:
            of: The snapshots' table.
            columns: Names of the values.

        Raises:
            InputError: A file is damaged, or not there.
        """
        coder = Coder(narrow(of, columns))
        told = pieces_of(self.line, coder, self.end)
        if not self.spans or not any(table.of is of for table in LOG_TABLES):
            return coder, told
        return coder, Pieces.joined([outside(told, self.spans), exact_pieces(self.months, coder)], len(columns))

    def _snapshot(
        self, begin: int, source: str, features: Mapping[str, int], brokers: Table, quorum: Table
    ) -> ClusterSnapshot:
        return ClusterSnapshot(
            cluster_id=self.cluster,
            name=self.name,
            taken_at=datetime.fromtimestamp(begin / 1000, UTC),
            source=source,
            partitions=Table.empty(PARTITIONS),
            brokers=brokers,
            quorum=quorum,
            features=features,
            dumped=True,
            measured=False,
        )

    def _facts(self) -> list[tuple[int, tuple[str, Mapping[str, int]]]]:
        """Source and features, each from when on, as snapshots tell; where a log tells, features are the log's."""
        told = [(one.taken_ms, str(one.row["source"]), str(one.row["features"])) for one in self.line.seen]
        steps = []
        for month in self.months if self.spans else ():
            times = times_of_steps(month.steps).tolist()
            steps += [(at, one.features) for at, one in zip(times, month.steps, strict=True)]
        steps = [one for at, one in enumerate(steps) if at == 0 or steps[at - 1][1] != one[1]]
        borders = {self.begin, *(one[0] for one in told), *(one[0] for one in steps)}
        borders |= {at for span in self.spans for at in span}
        found: list[tuple[int, tuple[str, str]]] = []
        for at in sorted(borders):
            number, logged = bisect_right(told, at, key=_time), bisect_right(steps, at, key=_time)
            source, features = told[number - 1][1:] if number else (_METADATA_LOG, "{}")
            if logged and any(begin <= at < end for begin, end in self.spans):
                features = steps[logged - 1][1]
            if not found or found[-1][1] != (source, features):
                found.append((at, (source, features)))
        return [(at, (source, self._features(features))) for at, (source, features) in found]

    def _features(self, text: str) -> Mapping[str, int]:
        try:
            return msgspec.json.decode(text, type=dict[str, int])
        except msgspec.DecodeError as error:
            where = self.months[-1].month.folder
            raise InputError(where, "", f"what its observations say is damaged: {error}", RESTORE) from None

    def _elr_listed(self) -> list[Span]:
        """Times in which a partition lists eligible leader replicas, in order."""
        names = [field.name for field in self.coder.table.value_fields]
        some = self.partitions.take(self.partitions.coded.values[:, names.index("elr")] > 0)
        found: list[Span] = []
        for row in np.argsort(some.begin, kind="stable").tolist():
            begin, end = int(some.begin[row]), int(some.end[row])
            if found and begin <= found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], end)
            else:
                found.append((begin, end))
        return found


def rows_of(coder: Coder, coded: Coded) -> Table:
    """Rows as a table of a snapshot, in their order; what the coder does not read is null, topics no internal ones."""
    length, schema = len(coded.keys), coder.table.of
    columns = {field.name: null_column(field.kind, length) for field in schema.fields} | coder.columns(coded)
    if schema is PARTITIONS:
        columns["internal"] = BoolColumn(np.zeros(length, np.bool_))
    return Table(schema, columns)


def _times(pieces: Pieces) -> list[int]:
    every: list[int] = np.unique(np.concatenate([pieces.begin, pieces.end])).tolist()
    return every


def _together(some: Pieces, others: Pieces) -> tuple[Integers, Integers]:
    """Pairs of pieces of one key that share some time; the others are in the order of their keys and times."""
    width = int(max(some.end.max(initial=0), others.end.max(initial=0))) + 1
    keys, own = others.coded.keys * width, some.coded.keys * width
    first = np.searchsorted(keys + others.end, own + some.begin, "right")
    last = np.searchsorted(keys + others.begin, own + some.end, "left")
    count = np.maximum(last - first, 0)
    rows = np.repeat(np.arange(len(some)), count)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count) + first[rows]
    return rows, places


def _combined(values: npt.NDArray[np.int64]) -> Integers:
    """One number for each row, equal for equal rows."""
    codes = np.zeros(len(values), np.int64)
    limit = 1
    for column in values.T:
        least = int(column[column != UNKNOWN].min(initial=0)) - 1
        shifted = np.where(column == UNKNOWN, 0, column - least)
        size = int(shifted.max(initial=0)) + 1
        if limit > (1 << 62) // size:
            codes = np.unique(codes, return_inverse=True)[1]
            limit = int(codes.max(initial=0)) + 1
        codes = codes * size + shifted
        limit *= size
    return codes


def timelines_of(storage: Storage, wanted: Wanted) -> Chosen:
    """The months that timelines are made of.

    Raises:
        InputError: What is wanted is damaged, all of it.
        UsageError: Nothing is wanted.
    """
    exact = (exact_name(table) for table in LOG_TABLES if table.of in TABLES_READ)
    chosen = choose(storage, wanted, [*(schema.name for schema in TABLES_READ), STEPS.name, *exact], logs=True)
    if not chosen.months:
        chosen.refuse_damaged()
        raise nothing_wanted(storage, wanted)
    return chosen


def unknown_states(timeline: Timeline) -> list[str]:
    """Lines on facts that partitions lacked at some time, so that what they say is no whole answer."""
    names = [field.name for field in timeline.coder.table.value_fields]
    coded, found = timeline.partitions.coded, []
    for column, what in (("min_isr", "min.insync.replicas"), ("leader", "the leader")):
        some = len(np.unique(coded.keys[coded.values[:, names.index(column)] == UNKNOWN]))
        if some:
            found.append(f"{what} of {counted(some, 'partition')} was not known all the time")
    return found


class DoubtedCluster(Protocol):
    """A cluster, and facts that are not known of it."""

    @property
    def cluster(self) -> str:
        """Its label."""

    @property
    def name(self) -> str:
        """Its name in the newest snapshot."""

    @property
    def warnings(self) -> Sequence[str]:
        """Facts that are not known, a line each."""


def warnings_of(chosen: Chosen, clusters: Sequence[DoubtedCluster]) -> list[str]:
    """Lines on what of a history could not be read, and on what is not known of each of its clusters.

    Args:
        chosen: The months that were read, and the problems of the others.
        clusters: The clusters.
    """
    names = told_names({one.cluster: one.name for one in clusters})
    return [*chosen.warnings, *(f"{names[one.cluster]}: {line}" for one in clusters for line in one.warnings)]
