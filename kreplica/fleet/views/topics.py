"""The view of topics: what the partitions of each are together, from when to when."""

from __future__ import annotations

import numpy as np

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.views.states import moment_before
from kreplica.fleet.views.view import View, ViewRows
from kreplica.model.tables.columns import Column, Indices, IntColumn, Integers, StringColumn
from kreplica.model.tables.schema import PARTITIONS, Field, Kind

_FIELDS = (
    PARTITIONS.field("topic"),
    Field("partitions", Kind.INT32, nullable=False, doc="number of its partitions"),
    Field("replicas_least", Kind.INT32, nullable=False, doc="replicas of the partition that has the fewest"),
    Field("replicas_most", Kind.INT32, nullable=False, doc="replicas of the partition that has the most"),
    Field("min_isr_least", Kind.INT32, nullable=True, doc="the least min.insync.replicas, null where none is known"),
)
_MANY = 2**31 - 1


def _topics(history: ClusterHistory) -> ViewRows:
    table, end = history.partitions, len(history.times)
    names = table.strings("topic")
    rows, tails = _alike(table)
    topics, first = names.codes[rows].astype(np.int64), table.runs.first[rows]
    until = np.where(table.runs.ended[tails] < 0, end, table.runs.ended[tails])
    # A cell is a topic at a moment at which any of its partitions comes, goes or changes; the last one has none.
    width = end + 1
    cells, place = np.unique(np.concatenate([topics * width + first, topics * width + until]), return_inverse=True)
    facts = _facts(table, rows, place[: len(rows)], place[len(rows) :], len(cells))
    own, begin = cells // width, cells % width
    there = np.flatnonzero(facts[0] > 0)
    follows = (np.diff(own[there]) == 0) & (np.diff(there) == 1)
    follows &= np.logical_and.reduce([np.diff(fact[there]) == 0 for fact in facts])
    heads = np.flatnonzero(np.append(True, ~follows)[: len(there)])
    last_cells = there[np.append(heads[1:], len(there))[: len(heads)] - 1]
    heads = there[heads]
    ended = np.where(begin[last_cells + 1] == end, -1, begin[last_cells + 1]) if len(heads) else heads
    partitions, least, most, lowest = (fact[heads] for fact in facts)
    columns: dict[str, Column] = {
        "topic": StringColumn(own[heads].astype(np.int32), names.dictionary),
        "partitions": IntColumn(partitions),
        "replicas_least": IntColumn(least),
        "replicas_most": IntColumn(most),
        "min_isr_least": IntColumn(lowest, lowest < _MANY),
    }
    tellers = table.tellers
    newest = int(tellers[-1]) if len(tellers) else -1
    last = np.where(ended < 0, newest, moment_before(tellers, ended))
    return ViewRows(columns, own[heads], begin[heads], last, ended, moment_before(tellers, begin[heads]), tellers)


def _alike(table: Lasting) -> tuple[Indices, Indices]:
    """First and last row of those of one partition that follow each other and differ in nothing that topics show."""
    sizes, min_isr = table.lists("replicas").lengths(), table.codes("min_isr")
    before, after = table.successions
    same = (sizes[before] == sizes[after]) & (min_isr[before] == min_isr[after])
    starts = np.ones(len(table), np.bool_)
    starts[after[same]] = False
    rows = np.flatnonzero(starts)
    return rows, np.append(rows[1:], len(table))[: len(rows)] - 1


def _facts(table: Lasting, rows: Indices, first: Integers, last: Integers, cells: int) -> tuple[Integers, ...]:
    """For each cell: partitions, the fewest and the most replicas, the least min.insync.replicas; _MANY for none."""
    count = last - first
    spread = np.repeat(np.arange(len(rows)), count)
    at = np.arange(len(spread)) - np.repeat(np.cumsum(count) - count, count) + first[spread]
    replicas = table.lists("replicas").lengths().astype(np.int64)[rows][spread]
    min_isr = table.integers("min_isr").take(rows[spread])
    values = min_isr.values if min_isr.valid is None else np.where(min_isr.valid, min_isr.values, _MANY)
    least, most, lowest = (np.full(cells, value, np.int64) for value in (_MANY, 0, _MANY))
    np.minimum.at(least, at, replicas)
    np.maximum.at(most, at, replicas)
    np.minimum.at(lowest, at, values)
    return np.bincount(at, minlength=cells), least, most, lowest


TOPICS = View("topics", "a topic, by all of its partitions", _FIELDS, _topics)
