"""Findings of the rules of check from scene to scene: each row is judged once for all scenes that show it.

Rules judge rows of partitions, some of them with the brokers of the scene. What a rule says of topics and brokers is
gathered from the rows that come and go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.fleet.incidents.shown import Places, Shown
from kreplica.health.findings import (
    Finding,
    broken_rows,
    counted_rows,
    findings_of,
    gathered,
    group_finding,
    groups_of,
)
from kreplica.health.rules import GROUP_RULES, PARTITION_RULES, GroupRule, PartitionRule, Rows, RowsWhere
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Alive, Expression, RackCount, RacksOf
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Column, Indices, IntColumn, Integers, Mask

_OF_BROKERS = (Alive, RackCount, RacksOf)


@dataclass(frozen=True, slots=True)
class Broken:
    """A finding from scene to scene, with its gravest words.

    Args:
        begin: Place of the first scene that shows it.
        end: Place of the first one after it that does not; the number of scenes if none does.
        finding: The finding.
    """

    begin: int
    end: int
    finding: Finding


@dataclass(frozen=True, slots=True, eq=False)
class Brokers:
    """Scenes with the same brokers.

    Args:
        snapshot: A cluster of these brokers; its partitions are not looked at.
        begin: Place of the first of each run of such scenes.
        end: Place of the first scene after it.
    """

    snapshot: ClusterSnapshot
    begin: Integers
    end: Integers

    def inside(self, places: Places) -> Places:
        """The part of each row's scenes that are such ones, in order; none that has no part is left."""
        first = np.searchsorted(self.end, places.begin, side="right")
        count = np.maximum(np.searchsorted(self.begin, places.end) - first, 0)
        own = np.repeat(np.arange(len(places)), count)
        turns = np.arange(len(own)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
        begin, end = np.maximum(places.begin[own], self.begin[turns]), np.minimum(places.end[own], self.end[turns])
        return Places(places.rows[own], begin, end)


def broken_over_time(shown: Shown, brokers: Sequence[Brokers]) -> Iterator[Broken]:
    """All findings, each from the first scene that shows it to the first that does not.

    Args:
        shown: Rows of partitions over scenes.
        brokers: Scenes by their brokers; together they are all scenes.
    """
    if not len(shown):
        return
    every = Places(np.arange(len(shown)), shown.places.begin, shown.places.end)
    judges = [(Evaluator(one.snapshot, shown.columns), one) for one in brokers]
    for rule in PARTITION_RULES:
        alone = not any(map(_asks_for_brokers, _expressions(rule)))
        yield from _of_partitions(shown, rule, every, judges[:1] if alone else judges, alone=alone)
    for group_rule in GROUP_RULES:
        assert not any(map(_asks_for_brokers, _group_expressions(group_rule))), "it would change with the brokers"
        yield from _of_groups(shown, group_rule, judges[0][0])


def _expressions(rule: PartitionRule) -> list[Expression]:
    return [rule.when, *([] if rule.escalates is None else [rule.escalates]), *(one for _, one in rule.facts)]


def _group_expressions(rule: GroupRule) -> list[Expression]:
    conditions = [one.condition for _, one in rule.facts if isinstance(one, RowsWhere)]
    values = [one.value for _, one in rule.facts if not isinstance(one, Rows | RowsWhere)]  # type: ignore[attr-defined]
    return [*([] if rule.key is None else [rule.key]), *conditions, *values]


def _asks_for_brokers(expression: Expression) -> bool:
    """True if what an expression says depends on the cluster's brokers."""
    return isinstance(expression, _OF_BROKERS) or any(map(_asks_for_brokers, expression.operands()))


def _of_partitions(
    shown: Shown, rule: PartitionRule, every: Places, judges: Sequence[tuple[Evaluator, Brokers]], *, alone: bool
) -> Iterator[Broken]:
    """Findings of single partitions: rows that break the rule one after the other are one, told by the first worst."""
    parts, grave, judge = [], [], []
    for number, (evaluator, brokers) in enumerate(judges):
        rows, worse = broken_rows(evaluator, rule)
        places = every.take(rows)
        inside = places if alone else brokers.inside(places)
        parts.append(inside)
        grave.append(worse[np.searchsorted(rows, inside.rows)])
        judge.append(np.full(len(inside), number))
    places = Places(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "begin", "end")))
    order = np.lexsort((places.begin, shown.keys[places.rows]))
    places, worse = places.take(order), np.concatenate(grave)[order]
    heads = _heads(shown.keys[places.rows], places.begin, places.end)
    ends = np.append(heads[1:], len(places))[: len(heads)]
    chosen = _first_worst(worse, heads)
    judges_of = np.concatenate(judge)[order][chosen]
    begin, end = places.begin[heads], places.end[ends - 1]
    for number, (evaluator, _) in enumerate(judges):
        own = np.flatnonzero(judges_of == number)
        found = findings_of(evaluator, rule, places.rows[chosen[own]], worse[chosen[own]])
        for first, last, finding in zip(begin[own].tolist(), end[own].tolist(), found, strict=False):
            yield Broken(first, last, finding)


def _heads(keys: Integers, begin: Integers, end: Integers) -> Indices:
    """The first of each chain of rows of one key, each of which begins where the one before ends."""
    goes_on = (keys[1:] == keys[:-1]) & (begin[1:] == end[:-1])
    return np.flatnonzero(np.append(True, ~goes_on))[: len(keys)]


def _first_worst(worse: Mask, heads: Indices) -> Indices:
    """For each chain the first row that is worse than others; its first row if none is."""
    found = heads.copy()
    grave = np.flatnonzero(worse)
    chains = np.searchsorted(heads, grave, side="right") - 1
    own, first = np.unique(chains, return_index=True)
    found[own] = grave[first]
    return found


def _of_groups(shown: Shown, rule: GroupRule, evaluator: Evaluator) -> Iterator[Broken]:
    """Findings of topics and brokers: what is gathered of a group is looked at where any of it changes."""
    labels, members = groups_of(evaluator, rule)
    joined = _alike(shown, rule, members)
    joined = joined.take(members[joined.rows] >= 0)
    groups = members[joined.rows]
    width = shown.scenes + 1
    cells, inverse = np.unique(
        np.concatenate([groups * width + joined.begin, groups * width + joined.end]), return_inverse=True
    )
    first, last = inverse[: len(joined)], inverse[len(joined) :]
    facts: dict[str, Column] = {}
    for name, aggregate in rule.facts:
        if isinstance(aggregate, Rows | RowsWhere):
            counts = counted_rows(evaluator, aggregate)[joined.rows]
            changes = np.bincount(first[counts], minlength=len(cells)) - np.bincount(last[counts], minlength=len(cells))
            facts[name] = IntColumn(np.cumsum(changes).astype(np.int64))
        else:
            rows, at = _spread(first, last)
            of_rows = {key: column.take(joined.rows[rows]) for key, column in shown.columns.items()}
            facts[name] = gathered(Evaluator(evaluator.snapshot, of_rows), aggregate, at, len(cells))
    broken = Evaluator(evaluator.snapshot, facts).boolean(rule.when).is_true() if len(cells) else np.zeros(0, np.bool_)
    own = cells // width
    follows = np.append(False, broken[:-1] & (own[1:] == own[:-1]))[: len(cells)]
    goes_on = np.append(broken[1:] & (own[1:] == own[:-1]), False)[: len(cells)]
    heads, tails = np.flatnonzero(broken & ~follows), np.flatnonzero(broken & ~goes_on)
    for head, tail in zip(heads.tolist(), tails.tolist(), strict=True):
        begin, end = int(cells[head] % width), int(cells[tail + 1] % width)
        finding = group_finding(rule, labels[int(own[head])], {name: column[head] for name, column in facts.items()})
        yield Broken(begin, end, finding)


def _alike(shown: Shown, rule: GroupRule, members: Integers) -> Places:
    """Rows that follow each other and differ in nothing that a rule asks for, as one."""
    names = sorted(set[str]().union(*(one.column_names() for one in _group_expressions(rule))))
    codes = np.column_stack([members, *(shown.codes(name) for name in names)])
    before, after = shown.successions
    same = (codes[before] == codes[after]).all(axis=1)
    heads = np.ones(len(shown), np.bool_)
    heads[after[same]] = False
    rows = np.flatnonzero(heads)
    tails = np.append(rows[1:], len(shown))[: len(rows)] - 1
    return Places(rows, shown.places.begin[rows], shown.places.end[tails])


def _spread(first: Integers, last: Integers) -> tuple[Indices, Integers]:
    """Rows, each as often as there are cells from its first one up to its last one; and these cells."""
    count = last - first
    rows = np.repeat(np.arange(len(first)), count)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count) + first[rows]
