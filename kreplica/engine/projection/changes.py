"""Settings changed in a snapshot, with what a controller does at once when they change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kreplica.engine.projection.leaving_replicas import dead_replicas, min_isr_known, outcomes_table, with_outcomes
from kreplica.engine.projection.states import for_each_state, partition_states
from kreplica.engine.rules.controller.elections import zookeeper_leader_for_offline
from kreplica.engine.rules.controller.isr import kraft_change
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.model.settings import ELR_FEATURE
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, IntListColumn
from kreplica.model.tables.table import Table


@dataclass(frozen=True, slots=True)
class Changes:
    """New settings for every topic; None keeps the present one.

    Args:
        min_isr: min.insync.replicas.
        unclean: unclean.leader.election.enable.
        elr: Whether the feature eligible.leader.replicas.version is 1 (KIP-966); of KRaft only.
    """

    min_isr: int | None = None
    unclean: bool | None = None
    elr: bool | None = None

    @property
    def any(self) -> bool:
        """True if anything is changed."""
        return self != NO_CHANGES


NO_CHANGES = Changes()


def with_changes(snapshot: ClusterSnapshot, changes: Changes) -> ClusterSnapshot:
    """Returns the cluster after the changes and the controller's reaction to them.

    A changed min.insync.replicas clears the ELRs that were counted by the old one, since 4.0
    (ReplicationControlManager.getPartitionElrUpdatesForConfigChanges), and so does a controller without the feature.
    Where unclean elections are allowed, partitions without a leader get one: KRaft looks for them every
    unclean.leader.election.interval.ms, 5 minutes, and ZooKeeper's controller when the setting changes.
    """
    columns, length = dict(snapshot.partitions.columns), len(snapshot.partitions)
    features = dict(snapshot.features)
    if changes.min_isr is not None:
        columns["min_isr"] = IntColumn(np.full(length, changes.min_isr, dtype=np.int64))
    if changes.unclean is not None:
        columns["unclean_leader_election"] = BoolColumn(np.full(length, changes.unclean))
    if changes.elr is not None:
        features[ELR_FEATURE] = int(changes.elr)
    if changes.elr is False or (changes.min_isr is not None and snapshot.elr_enabled):
        columns |= _no_elrs(length)
    changed = replace(snapshot, partitions=Table(snapshot.partitions.schema, columns), features=features)
    return _leaderless_elected(changed) if changes.unclean else changed


def _no_elrs(length: int) -> dict[str, Column]:
    nothing = IntListColumn(np.empty(0, np.int64), np.zeros(length + 1, np.int64))
    return {"elr": nothing, "last_known_elr": nothing}


def _leaderless_elected(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    states = partition_states(snapshot)
    known = snapshot.integers("leader").valid
    leader = states.leader if known is None else np.where(known, states.leader, 0)
    columns = [leader, states.replicas, states.isr, states.elr, states.last_known_elr, states.offline]
    columns += [dead_replicas(snapshot, states)]
    if snapshot.mode is MetadataMode.ZOOKEEPER:
        found = for_each_state(_zookeeper, *columns)
    else:
        enabled = np.full(len(states), snapshot.elr_enabled)
        found = for_each_state(_kraft, *columns, min_isr_known(snapshot), enabled)
    return with_outcomes(snapshot, states, outcomes_table(found), ())


def _kraft(  # noqa: PLR0913 - the facts of one state
    leader: int,
    replicas: int,
    isr: int,
    elr: int,
    last_known_elr: int,
    offline: int,
    dead: int,
    min_isr: int,
    elr_enabled: bool,
) -> tuple[int, int, int, int]:
    if leader != NO_LEADER:
        return leader, isr, elr, last_known_elr
    acceptable = replicas & ~offline & ~dead
    return kraft_change(leader, isr, elr, last_known_elr, isr, acceptable, min_isr, elr_enabled, True)


def _zookeeper(
    leader: int, replicas: int, isr: int, elr: int, last_known_elr: int, offline: int, dead: int
) -> tuple[int, int, int, int]:
    if leader == NO_LEADER:
        leader, isr = zookeeper_leader_for_offline(replicas, isr, replicas & ~offline & ~dead, True)
    return leader, isr, elr, last_known_elr
