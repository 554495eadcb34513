"""Limits for waves of a restart: brokers of a snapshot that may not restart together, and those that never may.

A stop is safe when every partition that it touches keeps a leader in sync and min ISR (health/impact/stop.py judges
so). For a partition with ``k`` live replicas in sync and an effective min ISR of ``m`` that is: at most ``k - m`` of
them are in one wave. Where that is none, they can never restart safely; where ``k`` is below ``m`` already, no replica
can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kreplica.engine.projection.leaving_replicas import dead_replicas, min_isr_known
from kreplica.engine.projection.states import Bitmasks, PartitionStates, partition_states
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Integers, Mask
from kreplica.planner.restart_waves import Limit


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """Brokers that may not restart together, and those that never may.

    Args:
        limits: Over the indices of the given brokers.
        never: Brokers that cannot restart safely, alone or not, in order.
    """

    limits: tuple[Limit, ...]
    never: tuple[int, ...]


def restart_limits(snapshot: ClusterSnapshot, brokers: Sequence[int], counted: Mask) -> RestartLimits:
    """The limits of some brokers.

    Args:
        snapshot: The cluster; a partition whose min ISR is not known counts with 1.
        brokers: Brokers to restart, all live.
        counted: Partitions that count; what happens to the others is accepted.
    """
    counting = snapshot.select(np.flatnonzero(counted))
    states = partition_states(counting)
    in_sync = states.isr & ~dead_replicas(counting, states)
    online = in_sync & ~states.offline
    min_isr = np.maximum(min_isr_known(counting), 1)
    found = _limits(states, in_sync, min_isr, brokers)
    # A leader is needed besides: somebody in sync whose log directory is online.
    partial = np.flatnonzero((online != in_sync).astype(np.bool_))
    if len(partial):
        some = partition_states(counting, partial)
        found |= _limits(some, online[partial], np.ones(len(partial), dtype=np.int64), brokers)
    never = {broker for (members, most) in found if most < 1 for broker in members}
    places = {broker: place for place, broker in enumerate(brokers)}
    wide = {(tuple(one for one in members if one not in never), most) for members, most in found if most >= 1}
    limits = {Limit(sum(1 << places[one] for one in members), most) for members, most in wide if len(members) > most}
    return RestartLimits(tuple(sorted(limits, key=lambda one: (one.most, one.nodes))), tuple(sorted(never)))


def _limits(
    states: PartitionStates, members: Bitmasks, needed: npt.NDArray[np.int64], brokers: Sequence[int]
) -> set[tuple[tuple[int, ...], int]]:
    """Each distinct set of brokers with how many of it may be down; where nothing is left, all that hold a replica."""
    lists = states.brokers(members)
    spare = lists.lengths() - needed
    every = states.places.lengths()
    short = np.flatnonzero(spare < 0)
    room = np.flatnonzero(spare >= 0)
    wanted = np.array(sorted(brokers), dtype=np.int64)
    found = _distinct(lists.take(room).values, lists.lengths()[room], spare[room], wanted)
    return found | _distinct(states.places.take(short).values, every[short], np.zeros(len(short), np.int64), wanted)


def _distinct(
    values: Integers, lengths: Integers, most: Integers, wanted: Integers
) -> set[tuple[tuple[int, ...], int]]:
    """Distinct rows of brokers with their number, only brokers that are wanted, only rows that limit anything."""
    if not len(lengths):
        return set()
    width = int(lengths.max(initial=0))
    table = np.full((len(lengths), width + 1), -1, dtype=np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    columns = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    table[rows, columns] = np.where(np.isin(values, wanted), values, -1)
    table[:, :width] = np.sort(table[:, :width], axis=1)
    table[:, width] = most
    counts = (table[:, :width] >= 0).sum(axis=1)
    kept = np.unique(table[counts > most], axis=0).tolist()
    return {(tuple(one for one in row[:-1] if one >= 0), row[-1]) for row in kept}
