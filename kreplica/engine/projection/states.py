"""Partitions of a snapshot in the form that rules take: a bitmask for each set of replicas.

Bits are indexes in the partition's own assignment, so that a cluster may have any number of brokers. Members outside
the assignment (an in-sync replica of ZooKeeper mode, a leader, a last known leader) get the indexes after it.

Rules are called once for each distinct state: 200,000 partitions have a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices, IntColumn, IntListColumn

Bitmasks = npt.NDArray[np.object_] | npt.NDArray[np.int64]

Outcome = TypeVar("Outcome")

_SETS = ("replicas", "isr", "elr", "last_known_elr", "offline_replicas")
"""Columns that hold brokers of a partition."""

MOST_PLACES = 62
"""Bits of an int64 less its sign; partitions with more indexes get Python's integers, which have no limit."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionStates:
    """States of n partitions.

    Args:
        places: The brokers of each partition: the assignment in order, then any others.
        replicas: The assignment.
        isr: In-sync replicas.
        elr: Eligible leader replicas; empty where not known.
        last_known_elr: Last-known eligible leader replicas; empty where not known.
        offline: Offline replicas; empty where not known.
        leader: Index of the leader; NO_LEADER for none and where not known.
    """

    places: IntListColumn
    replicas: Bitmasks
    isr: Bitmasks
    elr: Bitmasks
    last_known_elr: Bitmasks
    offline: Bitmasks
    leader: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.leader)

    def on(self, brokers: Iterable[int]) -> Bitmasks:
        """The replicas of each partition on any of these brokers, those outside the assignment included."""
        wanted = np.isin(self.places.values, np.array(sorted(brokers), dtype=np.int64))
        return _bitmasks(self.places, _place_numbers(self.places), wanted)

    def masks(self, found: npt.NDArray[np.object_]) -> Bitmasks:
        """Bitmasks returned by a rule, in the form of the others."""
        return found if self.replicas.dtype == object else found.astype(np.int64)

    def brokers(self, masks: Bitmasks) -> IntListColumn:
        """The brokers of each set, in the order of their indexes."""
        rows, numbers = self.places.row_numbers(), _place_numbers(self.places)
        kept = ((masks[rows] >> numbers.astype(masks.dtype)) & 1).astype(np.bool_)
        lengths = np.bincount(rows[kept], minlength=len(self.places))
        offsets = np.zeros(len(self.places) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return IntListColumn(self.places.values[kept], offsets)

    def broker_at(self, replicas: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The broker at one index of each partition, -1 for NO_LEADER."""
        starts = self.places.offsets[:-1]
        padded = np.append(self.places.values, -1)
        return np.where(replicas >= 0, padded[starts + np.maximum(replicas, 0)], -1)


def partition_states(snapshot: ClusterSnapshot, rows: Indices | None = None) -> PartitionStates:
    """Returns the given partitions, all if none are given, as bitmasks."""
    table = snapshot.partitions if rows is None else snapshot.partitions.take(rows)
    columns = [table[name] for name in _SETS]
    lists = [_without_nulls(column) for column in columns if isinstance(column, IntListColumn)]
    led = _leaders_as_lists(table.integers("leader"))
    places = _places([*lists, led])
    masks = [_bitmasks(items, _numbers_in(places, items)) for items in lists]
    at = np.full(len(places), NO_LEADER, dtype=np.int64)
    at[led.row_numbers()] = _numbers_in(places, led)
    return PartitionStates(places, masks[0], masks[1], masks[2], masks[3], masks[4], at)


def rows_on(snapshot: ClusterSnapshot, brokers: Iterable[int]) -> Indices:
    """The partitions with a replica on any of these brokers, in the assignment or any other set, or led by one."""
    wanted = np.array(sorted(brokers), dtype=np.int64)
    leader = snapshot.integers("leader")
    hit = np.isin(leader.values, wanted) & (True if leader.valid is None else leader.valid)
    for name in _SETS:
        items = snapshot.lists(name)
        found = items.row_numbers()[np.isin(items.values, wanted)]
        hit[found] |= True if items.valid is None else items.valid[found]
    return np.flatnonzero(hit)


def for_each_state(rule: Callable[..., Outcome], *columns: npt.NDArray[np.generic]) -> list[Outcome]:
    """The rule's result for each row of the columns; the rule is called once for equal rows."""
    known: dict[tuple[object, ...], Outcome] = {}
    answers = []
    for state in zip(*(column.tolist() for column in columns), strict=True):
        if state not in known:
            known[state] = rule(*state)
        answers.append(known[state])
    return answers


def _without_nulls(items: IntListColumn) -> IntListColumn:
    if items.valid is None:
        return items
    lengths = np.where(items.valid, items.lengths(), 0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return IntListColumn(items.values[np.repeat(items.valid, items.lengths())], offsets)


def _leaders_as_lists(leader: IntColumn) -> IntListColumn:
    """A list of one leader for each partition with a leader, an empty one for each without."""
    led = leader.values >= 0 if leader.valid is None else (leader.values >= 0) & leader.valid
    offsets = np.concatenate([[0], np.cumsum(led)]).astype(np.int64)
    return IntListColumn(leader.values[led], offsets)


def _places(lists: list[IntListColumn]) -> IntListColumn:
    """Every broker of each partition once: those of the first list in order, then those only in the others."""
    rows = np.concatenate([items.row_numbers() for items in lists])
    brokers = np.concatenate([items.values for items in lists])
    order = np.argsort(rows, kind="stable")
    rows, brokers = rows[order], brokers[order]
    low = int(brokers.min(initial=0))
    keys = rows * (int(brokers.max(initial=0)) - low + 1) + (brokers - low)
    kept = np.zeros(len(keys), dtype=np.bool_)
    kept[np.unique(keys, return_index=True)[1]] = True
    offsets = np.zeros(len(lists[0]) + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows[kept], minlength=len(lists[0])), out=offsets[1:])
    return IntListColumn(brokers[kept], offsets)


def _place_numbers(places: IntListColumn) -> npt.NDArray[np.int64]:
    """0, 1, 2, ... for each partition."""
    return np.arange(len(places.values), dtype=np.int64) - np.repeat(places.offsets[:-1], places.lengths())


def _numbers_in(places: IntListColumn, items: IntListColumn) -> npt.NDArray[np.int64]:
    """The index of each element's broker in its partition."""
    rows, lengths, starts = items.row_numbers(), places.lengths(), places.offsets[:-1]
    found = np.zeros(len(rows), dtype=np.int64)
    for place in range(int(lengths.max(initial=0))):
        reaching = np.flatnonzero(lengths[rows] > place)
        same = places.values[starts[rows[reaching]] + place] == items.values[reaching]
        found[reaching[same]] = place
    return found


def _bitmasks(
    items: IntListColumn, numbers: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_] | None = None
) -> Bitmasks:
    rows = items.row_numbers()
    if kept is not None:
        rows, numbers = rows[kept], numbers[kept]
    if int(numbers.max(initial=0)) > MOST_PLACES:
        return _long_bitmasks(len(items), rows, numbers)
    masks = np.zeros(len(items), dtype=np.int64)
    np.bitwise_or.at(masks, rows, np.left_shift(np.int64(1), numbers))
    return masks


def _long_bitmasks(length: int, rows: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
    masks = np.zeros(length, dtype=object)
    for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
        masks[row] |= 1 << number
    return masks
