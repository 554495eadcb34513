"""Partitions as rows: the fields of ``kreplica describe``.

Counts over one snapshot: the number of partitions each predicate holds for, by topic, broker and rack.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from kreplica.health.causes import Explanation, explain
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import Column, Difference, Expression, First, If, Not
from kreplica.model.predicates.partitions import MISSING, PREDICATES, Predicate
from kreplica.model.tables.columns import Indices, IntListColumn
from kreplica.model.tables.schema import PARTITIONS, Kind

_IN_ORDER: Mapping[str, Expression] = {
    "leader": known.LEADER,
    "leader_epoch": Column("leader_epoch"),
    "replicas": known.REPLICAS,
    "isr": known.ISR,
    "elr": Column("elr"),
    "last_known_elr": Column("last_known_elr"),
    "adding": known.ADDING,
    "removing": known.REMOVING,
    "offline_replicas": Column("offline_replicas"),
    "replication_factor": known.REPLICATION_FACTOR,
    "min_isr": known.MIN_ISR,
    "under_replicated": known.UNDER_REPLICATED.expression,
    "masked": known.MASKED.expression,
    "under_min_isr": known.UNDER_MIN_ISR.expression,
    "under_min_isr_broker": known.UNDER_MIN_ISR_BROKER.expression,
    "at_min_isr": known.AT_MIN_ISR.expression,
    "unavailable": known.UNAVAILABLE.expression,
    "offline": known.OFFLINE.expression,
    "preferred": Not(known.NON_PREFERRED.expression),
    "preferred_leader": known.PREFERRED_LEADER,
    "reassigning": known.REASSIGNING.expression,
    "missing": known.MISSING,
}
_LABELLED = {one.name: one.expression for one in PREDICATES if one.label and one is not known.NON_PREFERRED}
PARTITION_FIELDS: Mapping[str, Expression] = {**_IN_ORDER, **_LABELLED}
"""Fields of a row after ``topic`` and ``partition``, and the expression of each; `preferred` is Not(NON_PREFERRED)."""


def _kind(name: str, expression: Expression) -> Kind:
    if isinstance(expression, Column):
        return PARTITIONS.field(name).kind
    if isinstance(expression, Difference):
        return Kind.INT_LIST
    return Kind.INT32 if isinstance(expression, First | If) else Kind.BOOL


ROW_KINDS: Mapping[str, Kind] = {
    "topic": Kind.STRING,
    "partition": Kind.INT32,
    **{name: _kind(name, expression) for name, expression in PARTITION_FIELDS.items()},
    "causes": Kind.STRING,
    "not_known": Kind.STRING,
}
"""Kinds of the fields; causes are objects, which flat forms write as JSON text."""

ROW_FIELDS: tuple[str, ...] = tuple(ROW_KINDS)

_OWN_MEANINGS = {
    "leader": "leader's broker id, null if none",
    "replication_factor": "replicas, less adding ones while a reassignment runs",
    "preferred": "led by the preferred leader",
    "preferred_leader": "the first of the replicas",
    "missing": "replicas that are not in sync",
    "causes": "what keeps missing replicas out, where the facts single it out: objects with kind, broker, leader where"
    " it stands on that too, since, evidence; [kinds](../health.md#causes)",
    "not_known": "missing replicas whose cause they do not single out: objects with broker, leader, candidates, read",
}


def row_meanings() -> dict[str, str]:
    """Meanings of the fields, for the reference: those of predicates and tables stand there."""
    known_ones = {predicate.name: predicate.meaning for predicate in PREDICATES}
    of_tables = {field.name: field.doc for field in PARTITIONS.fields}
    return {name: (known_ones | of_tables | _OWN_MEANINGS)[name] for name in ROW_FIELDS}


def partition_rows(
    evaluator: Evaluator, rows: Indices, why: Explanation | None = None, places: Indices | None = None
) -> list[dict[str, object]]:
    """The given partitions as rows with the fields ROW_FIELDS; no leader is None, as is every fact not known.

    Args:
        evaluator: Over the partitions looked at.
        rows: Which of them.
        why: The causes, of the whole cluster; found among the partitions looked at if left out.
        places: Rows of the given partitions in ``why``; as in ``rows`` if left out.
    """
    why = explain(evaluator) if why is None else why
    places = rows if places is None else places
    snapshot = evaluator.snapshot
    columns: dict[str, list[object]] = {
        "topic": list(snapshot.strings("topic").take(rows).to_list()),
        "partition": list(snapshot.integers("partition").take(rows).to_list()),
    }
    for name, expression in PARTITION_FIELDS.items():
        columns[name] = list(evaluator.column(expression).take(rows).to_list())
    columns["leader"] = [None if leader == -1 else leader for leader in columns["leader"]]
    columns["causes"], columns["not_known"] = list(why.causes(places)), list(why.not_known(places))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


TROUBLE: Mapping[str, str] = {
    known.OFFLINE.name: "without a leader",
    known.UNDER_MIN_ISR_BROKER.name: "under min ISR (acks=all writes fail)",
    known.UNDER_REPLICATED.name: "under-replicated",
    known.MASKED.name: "masked under-replicated",
    known.UNAVAILABLE.name: "unavailable",
}
"""Predicates of which none may hold in a healthy cluster, the worst first, in words."""


@dataclass(frozen=True, slots=True)
class Count:
    """Number of partitions for which a predicate is true, and for which it cannot be known."""

    predicate: Predicate
    true: int
    unknown: int


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """A topic and the number of its partitions that were picked."""

    topic: str
    partitions: int
    of: int


Label = TypeVar("Label", int, str | None)


@dataclass(frozen=True, slots=True)
class PlaceGroup(Generic[Label]):
    """A broker or a rack, and its share in the partitions that were picked.

    Args:
        label: Broker id or rack; None for brokers whose rack is not known.
        missing: Picked partitions that miss a replica of this place in their ISR.
        leading: Picked partitions led from here.
        partitions: Picked partitions with a replica here.
    """

    label: Label
    missing: int
    leading: int
    partitions: int


def count_all(evaluator: Evaluator) -> tuple[Count, ...]:
    """Counts of every predicate, in their order."""
    return tuple(_count(evaluator, predicate) for predicate in PREDICATES)


def _count(evaluator: Evaluator, predicate: Predicate) -> Count:
    column = evaluator.boolean(predicate.expression)
    return Count(predicate, int(column.is_true().sum()), int(column.is_null().sum()))


def by_topic(evaluator: Evaluator, rows: Indices) -> list[TopicGroup]:
    """Topics of the picked partitions, the most affected first."""
    topics = evaluator.snapshot.strings("topic")
    picked = np.bincount(topics.codes[rows], minlength=len(topics.dictionary)).tolist()
    whole = np.bincount(topics.codes, minlength=len(topics.dictionary)).tolist()
    groups = [TopicGroup(*counts) for counts in zip(topics.dictionary, picked, whole, strict=True) if counts[1]]
    return sorted(groups, key=lambda group: (-group.partitions, group.topic))


def by_broker(evaluator: Evaluator, rows: Indices) -> list[PlaceGroup[int]]:
    """Brokers of the picked partitions, those whose replicas are missing most first."""
    return _by_place(evaluator, rows, lambda broker: broker)


def by_rack(evaluator: Evaluator, rows: Indices) -> list[PlaceGroup[str | None]]:
    """Racks of the picked partitions; a partition with two replicas in one rack counts there once."""
    return _by_place(evaluator, rows, evaluator.snapshot.racks.get)


def _by_place(evaluator: Evaluator, rows: Indices, label: Callable[[int], Label]) -> list[PlaceGroup[Label]]:
    holding = _tally(evaluator.snapshot.lists("replicas").take(rows), label)
    missing = _tally(evaluator.list(MISSING).take(rows), label)
    leaders = evaluator.snapshot.integers("leader").take(rows)
    led = leaders.values[leaders.values >= 0 if leaders.valid is None else leaders.valid & (leaders.values >= 0)]
    leading = _tally(IntListColumn(led, np.arange(len(led) + 1, dtype=np.int64)), label)
    places = {**holding, **missing, **leading}
    groups = [
        PlaceGroup(place, missing.get(place, 0), leading.get(place, 0), holding.get(place, 0)) for place in places
    ]
    return sorted(groups, key=lambda group: (-group.missing, -group.partitions, str(group.label)))


def _tally(lists: IntListColumn, label: Callable[[int], Label]) -> dict[Label, int]:
    """Counts for each label the rows that have an element with it."""
    brokers, inverse = np.unique(lists.values, return_inverse=True)
    numbers: dict[Hashable, int] = {}
    labels = [label(int(broker)) for broker in brokers]
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in labels], dtype=np.int64)
    if not len(codes):
        return {}
    pairs = np.unique(lists.row_numbers() * len(numbers) + codes[inverse])
    counts = np.bincount(pairs % len(numbers), minlength=len(numbers)).tolist()
    return dict(zip(dict.fromkeys(labels), counts, strict=True))
