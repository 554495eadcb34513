"""A cluster's partitions after replicas have left: the rules of both controllers over a snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kreplica.engine.projection.states import Bitmasks, PartitionStates, for_each_state
from kreplica.engine.rules.controller.broker_failure import zookeeper_brokers_fail
from kreplica.engine.rules.controller.controlled_shutdown import (
    kraft_broker_stops,
    zookeeper_broker_failure,
    zookeeper_controlled_shutdown,
)
from kreplica.engine.rules.replication.replica_set import NO_LEADER, members, only
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import EFFECTIVE_MIN_ISR
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.tables.columns import BoolColumn, IntColumn, Mask
from kreplica.model.tables.table import Table

LEADER, ISR, ELR, LAST_KNOWN = range(4)
"""Columns of ``Outcomes``."""

Outcomes = npt.NDArray[np.object_]
"""One row for each partition: the leader's replica index, ISR, ELR and last-known ELR afterwards."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Replicas that leave, as bitmasks of each partition.

    Args:
        down: On brokers that are down already.
        failing: On brokers that crash together, or on log directories that fail; none that is down already.
        stopping: On brokers that shut down in a controlled way; none that is down already or fails.
    """

    down: Bitmasks
    failing: Bitmasks
    stopping: Bitmasks


def dead_replicas(snapshot: ClusterSnapshot, states: PartitionStates) -> Bitmasks:
    """The replicas of each partition that are on brokers that are down already."""
    distinct = np.unique(states.places.values).tolist()
    return states.on(broker for broker in distinct if snapshot.is_alive(broker) is False)


def outcomes(snapshot: ClusterSnapshot, states: PartitionStates, departure: Departure, unclean: Mask) -> Outcomes:
    """Returns the controller's decision on each partition. A cluster that does not show its mode is treated as KRaft.

    Args:
        snapshot: The partitions.
        states: The same as bitmasks.
        departure: The replicas that leave.
        unclean: unclean.leader.election.enable of each partition.
    """
    columns: list[npt.NDArray[Any]] = [states.leader, states.replicas, states.isr, states.elr, states.last_known_elr]
    columns += [states.offline, departure.down, departure.failing, departure.stopping]
    columns += [min_isr_known(snapshot), unclean]
    if snapshot.mode is MetadataMode.ZOOKEEPER:
        found = for_each_state(_zookeeper, *columns)
    else:
        columns.append(np.full(len(states), snapshot.elr_enabled))
        found = for_each_state(_kraft, *columns)
    return outcomes_table(found)


def outcomes_table(found: Sequence[tuple[int, int, int, int]]) -> Outcomes:
    """A row for each partition; sets of replicas are integers of any size."""
    table = np.empty((len(found), 4), dtype=object)
    if found:
        table[:] = found
    return table


def without_clean_leader(found: Outcomes, snapshot: ClusterSnapshot) -> Mask:
    """Partitions without a leader after outcomes without unclean elections; not those whose leader is not known."""
    known = snapshot.integers("leader").valid
    nobody: Mask = (found[:, LEADER] == NO_LEADER).astype(np.bool_)
    return nobody if known is None else nobody & known


def unclean_enabled(snapshot: ClusterSnapshot) -> Mask:
    """Partitions with unclean.leader.election.enable, as far as it is known.

    Counted as obeyed, which KRaft does since 3.9 (KAFKA-12670): a cluster's metadata does not tell the release of its
    brokers.
    """
    return snapshot.partitions.booleans("unclean_leader_election").is_true()


def min_isr_known(snapshot: ClusterSnapshot) -> npt.NDArray[np.int64]:
    """Effective min ISR, 1 where not known: it decides membership of the ELR, which counts only if the ISR is empty."""
    column = Evaluator(snapshot).integer(EFFECTIVE_MIN_ISR)
    return column.values if column.valid is None else np.where(column.valid, column.values, 1)


def with_outcomes(
    snapshot: ClusterSnapshot, states: PartitionStates, found: Outcomes, brokers: Collection[int]
) -> ClusterSnapshot:
    """The partitions with their outcomes, and the brokers without those that are gone."""
    isr, elr, last_known = (states.masks(found[:, column]) for column in (ISR, ELR, LAST_KNOWN))
    columns = dict(snapshot.partitions.columns)
    leader = states.broker_at(found[:, LEADER].astype(np.int64))
    columns["leader"] = IntColumn(leader, snapshot.integers("leader").valid)
    columns["isr"] = states.brokers(isr)
    columns["elr"] = replace(states.brokers(elr), valid=snapshot.lists("elr").valid)
    columns["last_known_elr"] = replace(states.brokers(last_known), valid=snapshot.lists("last_known_elr").valid)
    partitions = Table(snapshot.partitions.schema, columns)
    return replace(snapshot, partitions=partitions, brokers=brokers_without(snapshot.brokers, brokers))


def brokers_without(table: Table, brokers: Collection[int]) -> Table:
    """The brokers table with some of them dead."""
    ids, alive = table.integers("broker"), table.booleans("alive")
    gone = np.isin(ids.values, sorted(brokers))
    valid = None if alive.valid is None else alive.valid | gone
    return Table(table.schema, {**table.columns, "alive": BoolColumn(alive.values & ~gone, valid)})


def _kraft(  # noqa: PLR0913 - the facts of one state
    leader: int,
    replicas: int,
    isr: int,
    elr: int,
    last_known_elr: int,
    offline: int,
    down: int,
    failing: int,
    stopping: int,
    min_isr: int,
    unclean: bool,
    elr_enabled: bool,
) -> tuple[int, int, int, int]:
    """Brokers that are down may not lead; one that fails or stops together with others may until it is fenced."""
    acceptable = replicas & ~offline & ~down
    leaving = (failing | stopping) & ~down
    for replica in (*members(down), *members(leaving)):
        acceptable &= ~only(replica)
        leader, isr, elr, last_known_elr = kraft_broker_stops(
            replica, leader, isr, elr, last_known_elr, acceptable, min_isr, elr_enabled, unclean
        )
    return leader, isr, elr, last_known_elr


def _zookeeper(
    leader: int,
    replicas: int,
    isr: int,
    _elr: int,
    _last_known_elr: int,
    offline: int,
    down: int,
    failing: int,
    stopping: int,
    _min_isr: int,
    unclean: bool,
) -> tuple[int, int, int, int]:
    """Brokers whose session has ended are gone for the controller, all of them at once."""
    gone = down | failing
    live = (replicas | isr) & ~offline & ~gone
    leader, isr = zookeeper_brokers_fail(gone, leader, replicas, isr, live, unclean)
    shutting_down = 0
    for replica in members(stopping & ~gone):
        shutting_down |= only(replica)
        leader, isr = zookeeper_controlled_shutdown(replica, leader, replicas, isr, live, shutting_down)
    for replica in members(shutting_down):
        live &= ~only(replica)
        leader, isr = zookeeper_broker_failure(replica, leader, replicas, isr, live, unclean)
    return leader, isr, 0, 0
