"""Counts over one snapshot: how many partitions each predicate holds for, and where they gather."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from kreplica.model import predicates as known
from kreplica.model.columns import Indices, IntListColumn
from kreplica.model.evaluate import Evaluator
from kreplica.model.predicates import MISSING, PREDICATES, Predicate

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
    """How many partitions a predicate is true for, and for how many it cannot be known."""

    predicate: Predicate
    true: int
    unknown: int


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """A topic and how many of its partitions were picked."""

    topic: str
    partitions: int
    of: int


@dataclass(frozen=True, slots=True)
class PlaceGroup:
    """A broker or a rack and what it has to do with the partitions that were picked.

    Args:
        label: Broker id or rack; None for brokers whose rack is not known.
        missing: Picked partitions that miss a replica of this place in their ISR.
        leading: Picked partitions led from here.
        partitions: Picked partitions with a replica here.
    """

    label: int | str | None
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


def by_broker(evaluator: Evaluator, rows: Indices) -> list[PlaceGroup]:
    """Brokers of the picked partitions, those whose replicas are missing most first."""
    return _by_place(evaluator, rows, lambda broker: broker)


def by_rack(evaluator: Evaluator, rows: Indices) -> list[PlaceGroup]:
    """Racks of the picked partitions; a partition with two replicas in one rack counts there once."""
    return _by_place(evaluator, rows, evaluator.snapshot.racks.get)


def _by_place(evaluator: Evaluator, rows: Indices, label: Callable[[int], int | str | None]) -> list[PlaceGroup]:
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


def _tally(lists: IntListColumn, label: Callable[[int], int | str | None]) -> dict[int | str | None, int]:
    """How many rows have an element of each label."""
    brokers, inverse = np.unique(lists.values, return_inverse=True)
    numbers: dict[Hashable, int] = {}
    labels = [label(int(broker)) for broker in brokers]
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in labels], dtype=np.int64)
    if not len(codes):
        return {}
    pairs = np.unique(lists.row_numbers() * len(numbers) + codes[inverse])
    counts = np.bincount(pairs % len(numbers), minlength=len(numbers)).tolist()
    return dict(zip(dict.fromkeys(labels), counts, strict=True))
