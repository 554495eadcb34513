"""A cluster after brokers or log directories have failed: no warning, no controlled shutdown.

KRaft: a crashed broker is fenced after broker.session.timeout.ms (handleBrokerFenced), a failed log directory is
reported by its broker (handleDirectoriesOffline, since 3.7, KIP-858); both remove the replica from the ISR and elect.
ZooKeeper, up to 3.9: KafkaController.onBrokerFailure and onReplicasBecomeOffline. Without a controller neither happens.

Also a cluster after brokers have stopped: the rules of controlled shutdown over a snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kreplica.engine.projection.leaving_replicas import (
    Departure,
    brokers_without,
    dead_replicas,
    outcomes,
    unclean_enabled,
    with_outcomes,
    without_clean_leader,
)
from kreplica.engine.projection.states import Bitmasks, PartitionStates, partition_states, rows_on
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices, Mask

Disk = tuple[int, str]
"""Broker and path of one of its log directories."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Brokers and log directories that fail together.

    Args:
        brokers: Brokers that crash.
        disks: Log directories that go offline while their broker lives on.
        controller_left: Whether a controller is left that can elect and change ISRs.
    """

    brokers: Sequence[int] = ()
    disks: Sequence[Disk] = ()
    controller_left: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class FailedCluster:
    """Effect of a failure, partition by partition of the snapshot.

    Args:
        after: The cluster afterwards.
        touched: Partitions with a replica that fails.
        no_clean_leader: Partitions that no broker could lead without losing records.
        unavailable: Partitions without a leader, or whose leader is lost; false where the leader is not known.
        frozen: Led partitions whose ISR keeps a lost replica, because there is no controller to remove it.
    """

    after: ClusterSnapshot
    touched: Mask
    no_clean_leader: Mask
    unavailable: Mask
    frozen: Mask


def fail(snapshot: ClusterSnapshot, failure: Failure) -> FailedCluster:
    """Returns the cluster after a failure.

    Brokers that are down already are gone first. Of several that crash together the controller notices one after
    another; their order can change which replica remains in an ELR, or in an ISR without a leader, never the leader.

    Args:
        snapshot: The cluster. One that does not show its mode is taken for KRaft.
        failure: What fails.
    """
    states = partition_states(snapshot)
    lost = states.on(failure.brokers) | replicas_on_disks(snapshot, states, failure.disks)
    down = dead_replicas(snapshot, states)
    gone = down | lost
    departure = Departure(down, lost & ~down, np.zeros_like(gone))
    never = np.zeros(len(states), dtype=np.bool_)
    no_clean_leader = without_clean_leader(outcomes(snapshot, states, departure, never), snapshot)
    touched = (lost != 0).astype(np.bool_)
    if not failure.controller_left:
        unavailable, frozen = _left_alone(snapshot, states, gone)
        after = replace(snapshot, brokers=brokers_without(snapshot.brokers, failure.brokers))
        return FailedCluster(after, touched, no_clean_leader, unavailable, frozen)
    found = outcomes(snapshot, states, departure, unclean_enabled(snapshot))
    after = with_outcomes(snapshot, states, found, failure.brokers)
    return FailedCluster(after, touched, no_clean_leader, without_clean_leader(found, snapshot), never)


def _left_alone(snapshot: ClusterSnapshot, states: PartitionStates, gone: Bitmasks) -> tuple[Mask, Mask]:
    """Partitions without a leader, and those with a lost replica in the ISR: the metadata stays as it is."""
    leaders = np.where(states.leader >= 0, states.leader, 0).astype(gone.dtype)
    led_by_lost = (np.right_shift(gone, leaders) & 1 != 0) & (states.leader >= 0)
    known = snapshot.integers("leader").valid
    unavailable: Mask = (led_by_lost | (states.leader == NO_LEADER)).astype(np.bool_)
    unavailable &= True if known is None else known
    return unavailable, ((states.isr & gone) != 0).astype(np.bool_) & ~unavailable


def replicas_on_disks(snapshot: ClusterSnapshot, states: PartitionStates, disks: Sequence[Disk]) -> Bitmasks:
    """The replicas of each partition that are in one of these log directories."""
    found = np.zeros_like(states.replicas)
    for broker, path in disks:
        rows = partitions_on_disk(snapshot, broker, path)
        found[rows] |= states.on([broker])[rows]
    return found


def partitions_on_disk(snapshot: ClusterSnapshot, broker: int, path: str) -> Indices:
    """Rows of the partitions with a replica in a log directory; future copies do not count."""
    table = snapshot.replicas
    ids, folders, future = table.integers("broker"), table.strings("log_dir"), table.booleans("future")
    code = folders.dictionary.index(path) if path in folders.dictionary else -1
    there = np.flatnonzero((ids.values == broker) & (folders.codes == code) & ~future.is_true() & (code >= 0))
    copies = table.take(there)
    keys = zip(copies["topic"].to_list(), copies["partition"].to_list(), strict=True)
    rows = [snapshot.find_row(str(topic), int(str(number))) for topic, number in keys]
    return np.array([row for row in rows if row is not None], dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class StoppedBrokers:
    """Effect of stopping some brokers.

    Args:
        rows: Partitions with a replica on one of them, as rows of the snapshot.
        before: These partitions before the stop.
        after: These partitions, and the brokers, after the named ones have stopped.
        last_in_sync: Of these partitions, those that no remaining broker could lead without losing records.
    """

    rows: Indices
    before: ClusterSnapshot
    after: ClusterSnapshot
    last_in_sync: Mask


def stop_brokers(snapshot: ClusterSnapshot, brokers: Collection[int]) -> StoppedBrokers:
    """Stops brokers together: each shuts down in a controlled way, then all are gone.

    Brokers that are down already are gone first, so that one which the metadata has not yet removed from an ISR counts
    as lost. The order of the brokers does not change which replicas are left.

    Args:
        snapshot: The cluster. One that does not show its mode is treated as KRaft: without ELR both modes have the same
            leaders.
        brokers: Ids of those to stop.
    """
    rows = rows_on(snapshot, brokers)
    before = snapshot.select(rows)
    states = partition_states(before)
    down = dead_replicas(before, states)
    departure = Departure(down, np.zeros_like(down), states.on(brokers))
    found = outcomes(before, states, departure, unclean_enabled(before))
    clean = outcomes(before, states, departure, np.zeros(len(rows), dtype=np.bool_))
    after = with_outcomes(before, states, found, brokers)
    return StoppedBrokers(rows, before, after, without_clean_leader(clean, before))
