"""What a cluster is like once brokers have stopped: the rules of controlled shutdown over a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kreplica.engine.partition_states import PartitionStates, for_each_state, partition_states
from kreplica.engine.rules.controlled_shutdown import (
    kraft_broker_stops,
    zookeeper_broker_failure,
    zookeeper_controlled_shutdown,
)
from kreplica.engine.rules.replica_set import NO_LEADER, only
from kreplica.model.columns import BoolColumn, Indices, IntColumn, Mask
from kreplica.model.evaluate import Evaluator
from kreplica.model.predicates import EFFECTIVE_MIN_ISR
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class StoppedBrokers:
    """What stopping some brokers does.

    Args:
        rows: Partitions with a replica on one of them, as rows of the snapshot.
        before: These partitions as they are.
        after: These partitions, and the brokers, once the named ones are gone.
        last_in_sync: Which of these partitions have nobody left that could lead without losing records.
    """

    rows: Indices
    before: ClusterSnapshot
    after: ClusterSnapshot
    last_in_sync: Mask


def stop_brokers(snapshot: ClusterSnapshot, brokers: Collection[int]) -> StoppedBrokers:
    """Stops brokers together: each shuts down in a controlled way, then all are gone.

    What is down already is gone first, so that a broker which the metadata has not yet taken out of an ISR counts as
    lost. Which of the brokers goes first changes nothing in who is left.

    Args:
        snapshot: The cluster. One that does not show its mode is taken for KRaft: without ELR both modes come to the
            same leaders.
        brokers: Ids of those to stop.
    """
    every = partition_states(snapshot)
    rows = np.flatnonzero(every.on(brokers))
    before = snapshot.select(rows)
    states = partition_states(before)
    unclean, elr_enabled = _unclean(before), snapshot.elr_enabled
    outcome = _outcomes(before, states, brokers, unclean, elr_enabled)
    clean = _outcomes(before, states, brokers, np.zeros_like(unclean), elr_enabled)
    led_before = before.integers("leader").valid
    last_in_sync = (clean[:, 0] == NO_LEADER) & (True if led_before is None else led_before)
    return StoppedBrokers(rows, before, _after(before, states, brokers, outcome), last_in_sync.astype(np.bool_))


def _unclean(snapshot: ClusterSnapshot) -> Mask:
    column = snapshot.partitions["unclean_leader_election"]
    assert isinstance(column, BoolColumn)
    return column.is_true()


def _outcomes(
    snapshot: ClusterSnapshot, states: PartitionStates, brokers: Collection[int], unclean: Mask, elr_enabled: bool
) -> npt.NDArray[np.object_]:
    """Leader, ISR and ELR of each partition afterwards, one row each."""
    distinct = np.unique(states.places.values).tolist()
    dead = states.on(broker for broker in distinct if snapshot.is_alive(broker) is False)
    columns: list[npt.NDArray[Any]] = [
        states.leader,
        states.replicas,
        states.isr,
        states.elr,
        states.last_known_elr,
        states.offline,
    ]
    columns += [dead, states.on(brokers), _min_isr(snapshot), unclean]
    if snapshot.mode is MetadataMode.ZOOKEEPER:
        found = for_each_state(_zookeeper, *columns)
    else:
        columns.append(np.full(len(states), elr_enabled))
        found = for_each_state(_kraft, *columns)
    outcomes = np.empty((len(found), 3), dtype=object)
    if found:
        outcomes[:] = found
    return outcomes


def _min_isr(snapshot: ClusterSnapshot) -> npt.NDArray[np.int64]:
    """Effective min ISR, 1 where not known: it decides who is in the ELR, which counts only when the ISR is empty."""
    column = Evaluator(snapshot).integer(EFFECTIVE_MIN_ISR)
    return column.values if column.valid is None else np.where(column.valid, column.values, 1)


def _kraft(  # noqa: PLR0913 - the facts of one state
    leader: int,
    replicas: int,
    isr: int,
    elr: int,
    last_known_elr: int,
    offline: int,
    dead: int,
    leaving: int,
    min_isr: int,
    unclean: bool,
    elr_enabled: bool,
) -> tuple[int, int, int]:
    acceptable = replicas & ~offline & ~dead
    for replica in (*_members(dead), *_members(leaving & ~dead)):
        acceptable &= ~only(replica)
        leader, isr, elr, last_known_elr = kraft_broker_stops(
            replica, leader, isr, elr, last_known_elr, acceptable, min_isr, elr_enabled, unclean
        )
    return leader, isr, elr


def _zookeeper(
    leader: int,
    replicas: int,
    isr: int,
    _elr: int,
    _last_known_elr: int,
    offline: int,
    dead: int,
    leaving: int,
    _min_isr: int,
    unclean: bool,
) -> tuple[int, int, int]:
    live = (replicas | isr) & ~offline & ~dead
    for replica in _members(dead):
        leader, isr = zookeeper_broker_failure(replica, leader, replicas, isr, live, unclean)
    shutting_down = 0
    for replica in _members(leaving & ~dead):
        shutting_down |= only(replica)
        leader, isr = zookeeper_controlled_shutdown(replica, leader, replicas, isr, live, shutting_down)
    for replica in _members(shutting_down):
        live &= ~only(replica)
        leader, isr = zookeeper_broker_failure(replica, leader, replicas, isr, live, unclean)
    return leader, isr, 0


def _members(replicas: int) -> Iterator[int]:
    place = 0
    while replicas >> place:
        if replicas >> place & 1:
            yield place
        place += 1


def _after(
    snapshot: ClusterSnapshot, states: PartitionStates, brokers: Collection[int], outcomes: npt.NDArray[np.object_]
) -> ClusterSnapshot:
    isr, elr = (states.masks(outcomes[:, column]) for column in (1, 2))
    columns = dict(snapshot.partitions.columns)
    columns["leader"] = IntColumn(states.broker_at(outcomes[:, 0].astype(np.int64)), snapshot.integers("leader").valid)
    columns["isr"] = states.brokers(isr)
    columns["elr"] = replace(states.brokers(elr), valid=snapshot.lists("elr").valid)
    return replace(
        snapshot,
        partitions=Table(snapshot.partitions.schema, columns),
        brokers=_brokers_after(snapshot.brokers, brokers),
    )


def _brokers_after(table: Table, brokers: Collection[int]) -> Table:
    ids, alive = table["broker"], table["alive"]
    assert isinstance(ids, IntColumn)
    assert isinstance(alive, BoolColumn)
    gone = np.isin(ids.values, sorted(brokers))
    valid = None if alive.valid is None else alive.valid | gone
    return Table(table.schema, {**table.columns, "alive": BoolColumn(alive.values & ~gone, valid)})
