"""Evaluates the rules of health/rules.py over one snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Struct

from kreplica.health.rules import (
    ALL_RULES,
    GROUP_RULES,
    PARTITION_RULES,
    RACK_VIOLATION,
    Aggregate,
    GroupRule,
    Largest,
    PartitionRule,
    Rows,
    RowsWhere,
    Severity,
    Smallest,
)
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Expression
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Column, Indices, IntColumn, Integers, Mask, StringColumn
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.wording.words import counted

TELL_RACKS = frozenset({"kafka", "zookeeper", "znode-json", "kraft-metadata"})
"""Sources that report the rack of every broker that has one."""


class Finding(Struct, frozen=True):
    """One broken rule."""

    rule: Annotated[str, Meaning("name of the rule, see [rules](rules.md)")]
    severity: Annotated[Severity, Meaning("info, warning or critical")]
    topic: Annotated[str | None, Meaning("topic, null where the rule is about a broker")]
    partition: Annotated[Int32 | None, Meaning("partition, null where the rule is about a topic or a broker")]
    broker: Annotated[Int32 | None, Meaning("broker, null where the rule is about a partition or a topic", drop=1)]
    message: Annotated[str, Meaning("the finding in words", fold=True)]
    evidence: Annotated[Mapping[str, object], Meaning("the facts behind it, an object", screen=False)]
    """Integers, booleans, lists, None where not known."""


def find(snapshot: ClusterSnapshot, names: Collection[str] | None = None) -> list[Finding]:
    """All findings, the worst first, then by rule, topic, partition and broker.

    Args:
        snapshot: What is judged.
        names: Only these rules; None for all.
    """
    evaluator = Evaluator(snapshot)
    found: list[Finding] = []
    for rule in PARTITION_RULES:
        if names is None or rule.name in names:
            found.extend(findings_of(evaluator, rule, *broken_rows(evaluator, rule)))
    for group_rule in GROUP_RULES:
        if names is None or group_rule.name in names:
            found.extend(_group_findings(evaluator, group_rule))
    return sorted(found, key=_order)


def unjudged(
    snapshot: ClusterSnapshot, names: Collection[str] | None = None, least: Severity = Severity.INFO
) -> dict[str, int]:
    """Counts, by rule, the partitions for which missing facts leave open whether it is broken.

    Args:
        snapshot: What is judged.
        names: Only these rules; None for all.
        least: Only findings at least as severe.
    """
    evaluator = Evaluator(snapshot)
    found: dict[str, int] = {}
    for rule in ALL_RULES:
        if (names is None or rule.name in names) and not (rule is RACK_VIOLATION and _rackless(snapshot)):
            nulls = [evaluator.boolean(condition).is_null() for condition in _conditions(rule, least)]
            found[rule.name] = int(np.logical_or.reduce(nulls).sum()) if nulls else 0
    return {name: count for name, count in found.items() if count}


def _conditions(rule: PartitionRule | GroupRule, least: Severity) -> list[Expression]:
    """Conditions under which a rule has a finding of at least that severity."""
    if isinstance(rule, GroupRule):
        gathered = [aggregate.condition for _, aggregate in rule.facts if isinstance(aggregate, RowsWhere)]
        return gathered if rule.severity >= least else []
    if rule.severity >= least:
        return [rule.when]
    return [rule.when & rule.escalates] if rule.escalates is not None and rule.escalated >= least else []


def _rackless(snapshot: ClusterSnapshot) -> bool:
    """True if no broker has a rack and the source reports racks."""
    return not snapshot.racks and snapshot.source in TELL_RACKS


def spell(message: str, facts: Mapping[str, object]) -> str:
    """A rule's message with its facts filled in.

    Lists are ``1,2``, an empty list is ``none``, null is ``unknown``; ``{fact:noun}`` is ``1 noun`` or ``2 nouns``.
    """
    return message.format_map({name: _Fact(value) for name, value in facts.items()})


@dataclass(frozen=True, slots=True)
class _Fact:
    """A fact of a message, which has its noun as the format."""

    value: object

    def __format__(self, noun: str) -> str:
        if not noun:
            return _spelled(self.value)
        return counted(self.value, noun) if isinstance(self.value, int) else f"{_spelled(self.value)} {noun}s"


def _spelled(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list):
        return ",".join(str(item) for item in value) or "none"
    return str(value)


def _order(finding: Finding) -> tuple[object, ...]:
    """Sort key; partitions and brokers of one rule are already in order, which sorting keeps."""
    return -finding.severity.rank, finding.rule, finding.topic or ""


def broken_rows(evaluator: Evaluator, rule: PartitionRule) -> tuple[Indices, Mask]:
    """Rows that break a rule of partitions, and which of them do so with the severity that it escalates to.

    Args:
        evaluator: Over rows of partitions.
        rule: The rule.
    """
    rows = np.flatnonzero(evaluator.boolean(rule.when).is_true())
    if rule.escalates is None or not len(rows):
        return rows, np.zeros(len(rows), np.bool_)
    return rows, evaluator.boolean(rule.escalates).is_true()[rows]


def findings_of(evaluator: Evaluator, rule: PartitionRule, rows: Indices, worse: Mask) -> Iterator[Finding]:
    """The findings of a rule of partitions, one for each of the rows that break it.

    Args:
        evaluator: Over rows of partitions.
        rule: The rule.
        rows: Rows that break it.
        worse: Which of them do so with the severity that it escalates to.
    """
    if not len(rows):
        return
    names = [name for name, _ in rule.facts]
    values = [evaluator.column(expression).take(rows).to_list() for _, expression in rule.facts]
    topics, partitions = (evaluator.columns[name].take(rows).to_list() for name in ("topic", "partition"))
    for topic, partition, escalates, *facts in zip(topics, partitions, worse.tolist(), *values, strict=True):
        evidence = dict(zip(names, facts, strict=True))
        severity = rule.escalated if escalates else rule.severity
        message = spell(rule.message, evidence)
        yield Finding(rule.name, severity, topic, partition, None, message, evidence)


def _group_findings(evaluator: Evaluator, rule: GroupRule) -> Iterator[Finding]:
    if evaluator.length == 0:
        return
    labels, members = groups_of(evaluator, rule)
    facts: dict[str, Column] = {
        name: gathered(evaluator, aggregate, members, len(labels)) for name, aggregate in rule.facts
    }
    broken = Evaluator(evaluator.snapshot, facts).boolean(rule.when).is_true()
    for group in np.flatnonzero(broken).tolist():
        yield group_finding(rule, labels[group], {name: column[group] for name, column in facts.items()})


def group_finding(rule: GroupRule, label: str | int, evidence: Mapping[str, object]) -> Finding:
    """The finding of a rule of topics or brokers.

    Args:
        rule: The rule.
        label: The topic or the broker.
        evidence: The facts behind it.
    """
    topic, broker = (label, None) if rule.key is None else (None, label)
    message = spell(rule.message, evidence)
    return Finding(rule.name, rule.severity, topic, None, broker, message, evidence)  # type: ignore[arg-type]


def groups_of(evaluator: Evaluator, rule: GroupRule) -> tuple[list[str] | list[int], Integers]:
    """Labels of the groups, and for each row of partitions the number of its group, -1 for none."""
    if rule.key is None:
        topics = evaluator.columns["topic"]
        assert isinstance(topics, StringColumn), "topics have names"
        return list(topics.dictionary), topics.codes.astype(np.int64)
    key = evaluator.integer(rule.key)
    labels, numbers = np.unique(key.values, return_inverse=True)
    return labels.tolist(), numbers if key.valid is None else np.where(key.valid, numbers, -1)


def gathered(evaluator: Evaluator, aggregate: Aggregate, members: Integers, groups: int) -> IntColumn:
    """An aggregate for each group.

    Args:
        evaluator: Over rows of partitions.
        aggregate: The aggregate.
        members: The number of each row's group, -1 for none.
        groups: Number of groups.
    """
    inside = members >= 0
    if isinstance(aggregate, Rows | RowsWhere):
        return _count(members[inside & counted_rows(evaluator, aggregate)], groups)
    assert isinstance(aggregate, Smallest | Largest), f"no way to gather {aggregate}"
    value = evaluator.integer(aggregate.value)
    rows: Indices = np.flatnonzero(inside if value.valid is None else inside & value.valid)
    seen = np.zeros(groups, dtype=np.bool_)
    seen[members[rows]] = True
    extreme = np.minimum if isinstance(aggregate, Smallest) else np.maximum
    start = np.iinfo(np.int64).max if isinstance(aggregate, Smallest) else np.iinfo(np.int64).min
    found = np.full(groups, start, dtype=np.int64)
    extreme.at(found, members[rows], value.values[rows])
    return IntColumn(found, None if bool(seen.all()) else seen)


def counted_rows(evaluator: Evaluator, aggregate: Rows | RowsWhere) -> Mask:
    """Rows that an aggregate counts."""
    if isinstance(aggregate, Rows):
        return np.ones(evaluator.length, np.bool_)
    return evaluator.boolean(aggregate.condition).is_true()


def _count(members: Integers, groups: int) -> IntColumn:
    return IntColumn(np.bincount(members, minlength=groups).astype(np.int64))


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The highest severity, None if there are no findings."""
    return max((finding.severity for finding in findings), default=None)
