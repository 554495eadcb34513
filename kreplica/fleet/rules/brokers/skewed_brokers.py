"""Brokers that carry more than their share: of leaders, of replicas, of bytes; for a day or longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.windows import DAY_MS
from kreplica.health.imbalance import TOLERATED_PERCENT, Measure, Spread
from kreplica.health.rules import Severity
from kreplica.model.tables.columns import Indices, Integers
from kreplica.model.tables.schema import BROKERS, PARTITIONS, REPLICAS
from kreplica.model.wording.durations import spell_duration

NAME = "skewed-brokers"
Loads = npt.NDArray[np.int64]
"""A row for each broker, a column for each observation."""


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Measures of which the fullest broker had far more than the even share for a day or longer."""
    brokers, table = history.brokers, history.partitions
    if not len(brokers) or not len(table):
        return
    known = np.unique(brokers.integers("broker").values)
    alive = _lasting(
        brokers, np.flatnonzero(brokers.booleans("alive").is_true()), brokers.integers("broker").values, known
    )
    told = np.intersect1d(table.listing, brokers.tellers)
    leaders = table.integers("leader")
    led = np.flatnonzero(np.isin(leaders.values, known) & table.known("leader"))
    yield from _of_measure(history, Measure.LEADERS, _lasting(table, led, leaders.values, known), alive, known, told)
    replicas = table.lists("replicas")
    rows = np.where(np.isin(replicas.values, known), replicas.row_numbers(), -1)
    placed = np.flatnonzero(rows >= 0)
    held = _lasting(table, placed, replicas.values, known, rows)
    yield from _of_measure(history, Measure.REPLICAS, held, alive, known, told)
    samples = history.samples(REPLICAS)
    stored = np.zeros((len(known), len(history.times)), np.int64)
    on = samples.rows.integers("broker").values
    some = np.flatnonzero(np.isin(on, known))
    np.add.at(
        stored,
        (np.searchsorted(known, on[some]), samples.numbers[some]),
        samples.rows.integers("size").values[some],
    )
    sampled = np.intersect1d(samples.numbers, brokers.tellers)
    yield from _of_measure(history, Measure.BYTES, stored, alive, known, sampled)


def _lasting(table: Lasting, items: Indices, on: Integers, known: Integers, rows: Integers | None = None) -> Loads:
    """Number of items on each broker at each observation.

    Args:
        table: The table.
        items: Which of them count.
        on: Broker of each item.
        known: Brokers that there are.
        rows: Row of the table that each item is of; its own number if None.
    """
    changes = np.zeros((len(known), len(table.times) + 1), np.int64)
    places, at = np.searchsorted(known, on[items]), items if rows is None else rows[items]
    np.add.at(changes, (places, table.runs.first[at]), 1)
    np.add.at(changes, (places, table.runs.last[at] + 1), -1)
    found: Loads = np.cumsum(changes, axis=1)[:, :-1]
    return found


def _of_measure(
    history: ClusterHistory, measure: Measure, loads: Loads, alive: Loads, known: Integers, told: Integers
) -> Iterator[FleetFinding]:
    begin: int | None = None
    spreads = [_spread(measure, loads[:, at], alive[:, at] > 0, known) for at in told.tolist()]
    for place, spread in enumerate([*spreads, None]):
        if spread is not None and spread.skewed:
            begin = place if begin is None else begin
            continue
        if begin is not None:
            before = int(told[begin - 1]) if begin else -1
            ended = int(told[place]) if place < len(told) else -1
            span = Span(before, int(told[begin]), int(told[place - 1]), ended)
            last = spreads[place - 1]
            if last is not None and history.held_until[span.last] - history.times[span.first] >= DAY_MS:
                yield _finding(history, measure, span, last, told)
        begin = None


def _spread(measure: Measure, loads: Integers, up: npt.NDArray[np.bool_], known: Integers) -> Spread | None:
    if up.sum() < 2:
        return None
    pairs = list(zip(loads[up].tolist(), known[up].tolist(), strict=True))
    most = max(pairs, key=lambda pair: (pair[0], -pair[1]))
    return Spread(measure, most, min(pairs), sum(value for value, _ in pairs) / len(pairs))


def _finding(history: ClusterHistory, measure: Measure, span: Span, spread: Spread, told: Integers) -> FleetFinding:
    lasted = spell_duration(int(history.held_until[span.last] - history.times[span.first]) // 1000)
    number, broker = spread.most
    return history.finding(
        span,
        told,
        rule=NAME,
        severity=Severity.INFO,
        certainty=Certainty.PROVED,
        message=f"{measure.value} uneven for {lasted}: {number} on this broker, {spread.even:.1f} would be even",
        broker=broker,
        evidence=spread.as_row(),
    )


RULE = FleetRule(
    NAME,
    Severity.INFO,
    (BROKERS, PARTITIONS, REPLICAS),
    f"a broker had over {TOLERATED_PERCENT} % more leaders, replicas or bytes than the even share, for a day or longer",
    "kreplica imbalance tells why, kreplica rebalance evens it out",
    find,
)
