"""The plan and the snapshot as arrays, for those who check the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices, Integers, IntListColumn, Mask
from kreplica.planner.reassignment.certificates.certificate import Certificate, Load

Targets = Mapping[tuple[str, int], tuple[int, ...]]
"""Replicas of each partition that changes."""


class PlanArrays:
    """Arrays of positions of brokers, -1 for none: ``before``, what is ``planned``, and ``after`` with the rest."""

    def __init__(self, snapshot: ClusterSnapshot, targets: Targets, given: Certificate) -> None:
        self.given, rest = given, {(topic, number): after for topic, number, after in given.rest}
        rows = _rows_in_scope(snapshot, given)
        names, numbers = (snapshot.partitions[name].take(rows).to_list() for name in ("topic", "partition"))
        self.key: list[Any] = list(zip(names, numbers, strict=True))
        self.place = {key: at for at, key in enumerate(self.key)}
        lists, targeted = snapshot.lists("replicas").take(rows), (*targets.values(), *rest.values())
        said: tuple[Mapping[int, int], ...] = (
            given.lower,
            given.upper,
            *(each for one in given.loads for each in (one.lower, one.upper)),
        )
        sets = (given.receivers, given.emptied, given.staying, *(brokers for brokers, _ in given.totals))
        named: tuple[Iterable[int], ...] = (snapshot.racks, *said, *sets, *targeted)
        known = {broker for brokers in named for broker in brokers}
        self.ids = np.union1d(lists.values, sorted(known)).astype(np.int64)
        self.width = max(1, int(lists.lengths().max(initial=0)), *map(len, targeted))
        self.before = self._matrix(lists)
        self.planned = self._changed(self.before, targets)
        self.after = self._changed(self.planned, rest)
        isr, elr = (held(self.before, self._matrix(snapshot.lists(name).take(rows))) for name in ("isr", "elr"))
        self.last = isr | (elr & ~isr.any(axis=1, keepdims=True))
        self.stuck = np.isin(np.arange(len(rows)), [self.place.get(key, -1) for key in given.stuck])
        self.receives, self.emptied, self.stays = map(self.marked, (given.receivers, given.emptied, given.staying))
        self.racks = np.unique([snapshot.racks.get(one, "") for one in self.ids.tolist()], return_inverse=True)[1]
        weights = {(topic, number): weight for topic, number, weight in given.weights}
        self.load = {Load.COUNT: np.ones(len(rows), np.int64), Load.BYTES: _sizes(snapshot)[rows]}
        self.load[Load.WEIGHTS] = np.array([weights.get(key, 0) for key in self.key], np.int64)

    def _matrix(self, lists: IntListColumn) -> Integers:
        found, row = (
            np.full((len(lists), max(self.width, int(lists.lengths().max(initial=0)))), -1),
            lists.row_numbers(),
        )
        place = np.searchsorted(self.ids[:-1], lists.values)
        found[row, np.arange(len(row)) - lists.offsets[row]] = np.where(self.ids[place] == lists.values, place, -1)
        return found

    def _changed(self, matrix: Integers, targets: Targets) -> Integers:
        found, place = matrix.copy(), {broker: at for at, broker in enumerate(self.ids.tolist())}
        for key, after in targets.items():
            if key in self.place:
                found[self.place[key]] = [*map(place.__getitem__, after), *[-1] * (self.width - len(after))]
        return found

    def marked(self, brokers: tuple[int, ...]) -> Mask:
        """Marks positions of brokers that are given by id."""
        return np.isin(self.ids, brokers)

    def by_id(self, values: Mapping[int, int]) -> list[int]:
        """Values by position, 0 for brokers that are not named."""
        return [values.get(broker, 0) for broker in self.ids.tolist()]

    def on_brokers(self, matrix: Integers, load: Integers) -> Integers:
        """Load of each broker."""
        found = np.zeros(len(self.ids) + 1, np.int64)
        np.add.at(found, matrix, load[:, None])  # nobody is the last one
        return found[:-1]

    def copies(self, matrix: Integers) -> Integers:
        """Number of replicas of each partition that are not there before."""
        copies: Integers = ((matrix >= 0) & ~held(matrix, self.before)).sum(axis=1)
        return copies


def held(replicas: Integers, others: Integers) -> Mask:
    """Entries of a matrix that stand in the same row of the other one."""
    found: Mask = (replicas[:, :, None] == others[:, None, :]).any(axis=2) & (replicas >= 0)
    return found


def _rows_in_scope(snapshot: ClusterSnapshot, given: Certificate) -> Indices:
    """Partitions that could be changed: of these topics, led by a live broker, and not being reassigned."""
    topics, leader = snapshot.strings("topic"), snapshot.integers("leader")
    dead = [one for one in np.unique(leader.values).tolist() if one < 0 or snapshot.is_alive(one) is False]
    led = ~np.isin(leader.values, dead) | (np.zeros(len(leader), np.bool_) if leader.valid is None else ~leader.valid)
    moving = np.add(*(snapshot.lists(name).lengths() for name in ("adding", "removing"))) > 0
    chosen = np.isin(topics.dictionary, given.topics)[topics.codes]
    return np.flatnonzero(chosen & led & ~moving & (snapshot.lists("replicas").lengths() > 0))


def _sizes(snapshot: ClusterSnapshot) -> Integers:
    """Bytes of one replica of each partition: of the leader's where known, otherwise of the largest."""
    copies, table = snapshot.replicas, snapshot.partitions
    code = {name: at for at, name in enumerate(table.strings("topic").dictionary)}
    known = np.array([code.get(name, -1) for name in copies.strings("topic").dictionary] or [-1])
    span = 1 + max(int(one.integers("partition").values.max(initial=0)) for one in (copies, table))
    wanted = table.strings("topic").codes.astype(np.int64) * span + table.integers("partition").values
    given = known[copies.strings("topic").codes] * span + copies.integers("partition").values
    order = np.argsort(wanted)
    place = order[np.minimum(np.searchsorted(wanted, given, sorter=order), len(order) - 1)] if len(order) else order
    there = np.flatnonzero((wanted[place] == given) & ~copies.booleans("future").is_true()) if len(order) else order
    place, size = place[there], copies.integers("size").values[there]
    found = np.zeros(len(table), np.int64)
    np.maximum.at(found, place, size)
    led = copies.integers("broker").values[there] == table.integers("leader").values[place]
    found[place[led]] = np.maximum(size[led], 0)
    return found
