"""Topics and brokers that are not there any more, by snapshots that list all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.lasting import Lasting
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.health.rules import Severity
from kreplica.model.columns import Indices, Mask
from kreplica.model.schema import BROKERS, PARTITIONS
from kreplica.model.words import counted

TOPIC, BROKER = "vanished-topic", "vanished-broker"


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which a thing was not there.

    Args:
        before: The row that it was last seen as.
        last: Number of the observation that saw it last.
        first: Number of the first observation without it.
        back: Number of the observation that saw it again, -1 if none did.
        after: The row that it came back as, -1 if it did not.
    """

    before: int
    last: int
    first: int
    back: int
    after: int

    def span(self, table: Lasting) -> Span:
        """The time, by the observations that list the table."""
        whole = table.listing
        end = len(whole) if self.back < 0 else int(np.searchsorted(whole, self.back))
        last = max(self.first, int(whole[end - 1]) if end else self.first)
        return Span(self.last, self.first, last, self.back)


def absences(table: Lasting, things: Sequence[Indices], there: Mask | None = None) -> Iterator[Absence]:
    """Times in which things were not there, though they had been before.

    Args:
        table: The table.
        things: Rows of each thing, in any order; a thing is there while any of its rows lasts.
        there: Rows that count as being there; all if None.
    """
    runs = table.runs
    for every in things:
        rows = every if there is None else every[there[every]]
        rows = rows[np.argsort(runs.first[rows], kind="stable")]
        seen = -1  # place among the rows of the one that lasted longest so far
        for at, row in enumerate(rows.tolist()):
            if seen >= 0 and 0 <= runs.ended[rows[seen]] < runs.first[row]:
                yield _absence(table, int(rows[seen]), row)
            if seen < 0 or _end(table, row) > _end(table, int(rows[seen])):
                seen = at
        if seen >= 0 and runs.ended[rows[seen]] >= 0:
            yield _absence(table, int(rows[seen]), -1)


def _end(table: Lasting, row: int) -> float:
    ended = int(table.runs.ended[row])
    return float("inf") if ended < 0 else ended


def _absence(table: Lasting, before: int, after: int) -> Absence:
    runs = table.runs
    back = -1 if after < 0 else int(runs.first[after])
    return Absence(before, int(runs.last[before]), int(runs.ended[before]), back, after)


def find_topics(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics without any partition in snapshots that list all, and topics that came back as others."""
    table = history.partitions
    if not len(table):
        return
    codes = table.strings("topic").codes
    order = np.argsort(codes, kind="stable")
    things = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    for one in absences(table, _that_end(table, things)):
        topic = table.strings("topic")[one.before]
        anew = one.after >= 0 and _recreated(table, one.before, one.after)
        back = ", and was created anew since" if anew else ", and came back since" if one.after >= 0 else ""
        yield history.finding(
            one.span(table),
            table.listing,
            rule=TOPIC,
            severity=Severity.WARNING,
            certainty=Certainty.PROVED,
            message=f"the topic {'was not there' if back else 'is not there any more'}{back}",
            topic=topic,
            evidence={"topic_id": table.strings("topic_id")[one.before], "created_anew": anew},
        )


def _that_end(table: Lasting, things: Sequence[Indices]) -> list[Indices]:
    """Things without a row that lasts from their first to the end: few are looked at one by one."""
    return [rows for rows in things if not ((table.runs.ended[rows] < 0) & (table.runs.first[rows] == 0)).any()]


def _recreated(table: Lasting, before: int, after: int) -> bool:
    one, other = (table.strings("topic_id")[row] for row in (before, after))
    return one is not None and other is not None and one != other


def find_brokers(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Brokers that a snapshot lists and later ones do not, or list as not alive."""
    table = history.brokers
    if not len(table):
        return
    alive = table.booleans("alive")
    there = alive.values | alive.is_null()
    brokers = table.integers("broker").values
    order = np.argsort(brokers, kind="stable")
    things = np.split(order, np.flatnonzero(np.diff(brokers[order])) + 1)
    for one in absences(table, things, there):
        broker = int(brokers[one.before])
        left = _replicas_on(history.partitions, broker, one.first)
        told = f"{counted(left, 'partition')} still placed on it" if left else "no partition is placed on it"
        yield history.finding(
            one.span(table),
            table.tellers,
            rule=BROKER,
            severity=Severity.WARNING if left else Severity.INFO,
            certainty=Certainty.PROVED,
            message=f"the broker {'is not there any more' if one.back < 0 else 'was not there'}; {told}",
            broker=broker,
            evidence={"partitions": left, "rack": table.strings("rack")[one.before]},
        )


def _replicas_on(table: Lasting, broker: int, at: int) -> int:
    """Number of partitions that have a replica on a broker at an observation."""
    replicas = table.lists("replicas")
    runs = table.runs
    hits = np.unique(replicas.row_numbers()[replicas.values == broker])
    inside = (runs.first[hits] <= at) & ((runs.ended[hits] < 0) | (runs.ended[hits] > at))
    return int(inside.sum())


TOPIC_RULE = FleetRule(
    TOPIC,
    Severity.WARNING,
    (PARTITIONS,),
    "a topic was deleted: its records are gone",
    "ask who deleted it; consumers and producers of it fail, or create it anew with default settings",
    find_topics,
)
BROKER_RULE = FleetRule(
    BROKER,
    Severity.INFO,
    (BROKERS, PARTITIONS),
    "a broker stopped, or was taken out of the cluster; a warning while partitions are placed on it",
    "start it again, or move its replicas to other brokers",
    find_brokers,
    worst=Severity.WARNING,
)
