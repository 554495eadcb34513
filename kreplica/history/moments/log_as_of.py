"""A cluster at a moment as a metadata log tells it, laid over what snapshots told before."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from kreplica.history.coding import Coder
from kreplica.history.folding import Runs
from kreplica.history.moments.decoded import DecodedMonths
from kreplica.history.months.log_steps import EXACT_TABLES, STEPS, LogStep, times_of_steps, told_spans
from kreplica.history.selection import HistoryMonth, KeyFilter, moment_of, month_name, months_of, open_month
from kreplica.history.tables import LOG_TABLES, HistoryTable
from kreplica.model.tables.columns import Column, Indices, Mask, StringColumn, joined
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS, TableSchema
from kreplica.model.tables.table import Table
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import Storage

FILE_SETTINGS = {"min_isr": "min.insync.replicas", "unclean_leader_election": "unclean.leader.election.enable"}
"""Settings that partitions tell, by column. What no log holds of them may stand in the files of brokers."""


@dataclass(frozen=True, slots=True, eq=False)
class LoggedState:
    """A cluster at one moment, by a metadata log.

    Args:
        cluster: The cluster's label.
        folder: The month's folder, for messages.
        step: The last step up to the moment.
        tables: Partitions, brokers and settings, by name.
        held: Keys of the settings that the log holds at any time of the month.
    """

    cluster: str
    folder: str
    step: LogStep
    tables: Mapping[str, Table]
    held: Table

    def note(self, end: datetime | None = None) -> str:
        """Line on what the log tells.

        Args:
            end: End of the log, where nobody asked for a moment.
        """
        when = "then" if end is None else f"at its end, {end.isoformat()}"
        return f"partitions, brokers and settings are those of the metadata log {when}, offset {self.step.offset}"

    def over(self, tables: Mapping[str, Table]) -> dict[str, Table]:
        """The tables of snapshots with what the log tells in place of what they told."""
        partitions, brokers, configs = (tables[schema.name] for schema in (PARTITIONS, BROKERS, CONFIGS))
        laid = {
            PARTITIONS.name: self._partitions(partitions),
            BROKERS.name: self._brokers(brokers),
            CONFIGS.name: self._configs(configs),
        }
        return {**tables, **laid}

    def _partitions(self, before: Table) -> Table:
        """Partitions of the log; settings that nobody set in it may stand in files of brokers, as snapshots tell."""
        rows = self.tables[PARTITIONS.name]
        places = _places(_LOGGED[PARTITIONS.name], rows, before)
        columns = dict(rows.columns)
        for column, setting in FILE_SETTINGS.items():
            wanted = _nulls(rows[column]) & ~_among(rows.strings("topic"), _topics_with(self.held, setting))
            columns[column] = _filled(rows[column], before[column], np.where(wanted, places, -1))
        return Table(PARTITIONS, columns)

    def _brokers(self, before: Table) -> Table:
        """Brokers of the log; it does not tell their versions."""
        rows = self.tables[BROKERS.name]
        places = _places(_LOGGED[BROKERS.name], rows, before)
        return Table(BROKERS, {**rows.columns, "version": _filled(rows["version"], before["version"], places)})

    def _configs(self, before: Table) -> Table:
        """Settings of the log, and those that only the files of brokers and defaults hold."""
        rows, topics = self.tables[CONFIGS.name], self.tables[PARTITIONS.name].strings("topic")
        coder = Coder(_LOGGED[CONFIGS.name])
        own = ~np.isin(coder.keys(before), coder.keys(self.held))
        there = frozenset(topics.dictionary[code] for code in np.unique(topics.codes).tolist())
        gone = _among(before.strings("entity_type"), {"topic"}) & ~_among(before.strings("entity"), there)
        others = before.take(np.flatnonzero(own & ~gone))
        return Table(CONFIGS, {name: joined(rows[name], others[name]) for name in CONFIGS.names}).sorted()


_KEYS_OF_CONFIGS = TableSchema(CONFIGS.name, tuple(CONFIGS.field(name) for name in CONFIGS.sort), ())
_LOGGED = {table.name: table for table in LOG_TABLES}


def _places(table: HistoryTable, rows: Table, before: Table) -> Indices:
    """For each row the number of the row of the same key in another table, -1 where there is none."""
    coder = Coder(table)
    numbers, others = coder.keys(rows), coder.keys(before)
    found = np.full(coder.key_count, -1, np.intp)
    found[others] = np.arange(len(before))
    return found[numbers]


def _filled(column: Column, other: Column, places: Indices) -> Column:
    """A column with values of another, by their numbers there; -1 leaves it its own."""
    picked = np.where(places < 0, np.arange(len(column)), len(column) + places)
    return joined(column, other).take(picked)


def _topics_with(held: Table, setting: str) -> frozenset[str]:
    """Topics that a log holds that setting of, by the keys of its settings."""
    of_topics = _among(held.strings("entity_type"), {"topic"}) & _among(held.strings("name"), {setting})
    codes = np.unique(held.strings("entity").codes[of_topics])
    return frozenset(held.strings("entity").dictionary[code] for code in codes.tolist())


def _nulls(column: Column) -> Mask:
    valid = column.valid
    return np.zeros(len(column), np.bool_) if valid is None else ~valid


def _among(column: StringColumn, words: Collection[str]) -> Mask:
    """Rows with one of these words."""
    among = np.array([*(word in words for word in column.dictionary), False], np.bool_)
    found: Mask = among[column.codes]
    return found


def end_of_log(storage: Storage, folder: str, since: HistoryMonth | None) -> datetime | None:
    """The end of the newest metadata log of a cluster; None if the newest snapshot is later, or there is no log.

    Args:
        storage: Place of the history.
        folder: The cluster's folder.
        since: The month with the newest snapshot.

    Raises:
        InputError: A month is damaged.
    """
    first = "" if since is None else since.manifest.month
    snapshot_ms = None if since is None else since.seen[since.inside[-1]].taken_ms
    for name in reversed(months_of(storage, folder)):
        if name < first:
            return None
        month = (
            since if name == first else open_month(storage, f"{folder}/month={name}", tables=(STEPS.name,), logs=True)
        )
        spans = [] if month is None else told_spans(month.steps)
        if month is not None and spans:
            end = int(times_of_steps(month.steps)[spans[-1][1]])
            return moment_of(end) if snapshot_ms is None or end >= snapshot_ms else None
    return None


def logged_state(
    storage: Storage, folder: str, moment: datetime, decoded: DecodedMonths | None = None
) -> LoggedState | None:
    """A cluster at a moment, None where no metadata log tells of it.

    Args:
        storage: Place of the history.
        folder: The cluster's folder.
        moment: The moment.
        decoded: Runs that other moments of the cluster share.

    Raises:
        InputError: The month is damaged.
    """
    tables = (STEPS.name, *EXACT_TABLES)
    month = open_month(storage, f"{folder}/month={month_name(moment)}", Wanted(until=moment), tables, logs=True)
    if month is None:
        return None
    times = times_of_steps(month.steps)
    spans = [one for one in told_spans(month.steps) if times[one[0]] <= month.until_ms <= times[one[1]]]
    if not spans:
        return None
    first, last = spans[-1]
    number = first + int(np.searchsorted(times[first : last + 1], month.until_ms, side="right")) - 1
    found: dict[str, Table] = {}
    held = Table.empty(_KEYS_OF_CONFIGS)
    shared = decoded or DecodedMonths()
    for table in LOG_TABLES:
        coder, runs = shared.coder(table, logged=True), shared.logged(month, table)
        found[table.name] = coder.table_of(runs.take((runs.first <= number) & (runs.last >= number)).coded)
        if table.of is CONFIGS:
            held = _held(coder, runs)
    return LoggedState(month.cluster, month.month.folder, month.steps[number], found, held)


def held_settings(month: HistoryMonth, name: str) -> frozenset[str]:
    """Topics of which the log of a month holds a setting at any time: where it then lacks it, nobody had set it.

    Raises:
        InputError: A file is damaged, or not there.
    """
    coder = Coder(next(table for table in LOG_TABLES if table.of is CONFIGS))
    return _topics_with(_held(coder, month.exact_runs(coder, KeyFilter("name", name))), name)


def _held(coder: Coder, runs: Runs) -> Table:
    """Type, entity and name of each setting."""
    return Table(_KEYS_OF_CONFIGS, coder.key_columns(runs.coded.keys))
