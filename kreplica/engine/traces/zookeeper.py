"""Decisions by which a state znode can have been written in ZooKeeper mode: by the controller, or for its leader.

The controller acts on the live brokers that it knows of, some time after they changed: every set of brokers that was
live in that time is tried. That a broker shuts down, has failed directories or has restarted is in no znode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.rules.controller.alter_partition import zookeeper_alter_partition_error
from kreplica.engine.rules.controller.controlled_shutdown import zookeeper_controlled_shutdown
from kreplica.engine.rules.controller.elections import (
    zookeeper_elect_preferred,
    zookeeper_first_in_isr,
    zookeeper_leader_for_offline,
)
from kreplica.engine.rules.controller.isr import zookeeper_remove_from_isr
from kreplica.engine.rules.controller.leader_epoch_bump import partition_epoch, zookeeper_leader_epoch
from kreplica.engine.rules.controller.reassignment import zookeeper_elect_reassigned
from kreplica.engine.rules.controller.unclean_election import recovering_after
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, members, only, without
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.traces.kraft import Explanation
from kreplica.engine.traces.trace_rule import TraceRule

Decided = tuple[TraceRule, int, int]
"""Rule, leader and ISR afterwards."""


def zookeeper_decisions(
    old: PartitionState, seen: PartitionState, live: Sequence[frozenset[int]], unclean: Sequence[bool]
) -> Iterator[Explanation]:
    """Every write that can follow a state.

    Args:
        old: The state before, with the assignment of now.
        seen: The state afterwards, off which it is read which ISR a leader asked for.
        live: Sets of brokers that were live of late.
        unclean: Values of unclean.leader.election.enable that are possible.
    """
    for rule, leader, isr in _by_leader(old, seen, live):
        yield Explanation(rule, _written(old, leader, isr, by_leader=True))
    for some in live:
        up = old.places(tuple(some))
        for rule, leader, isr in _by_controller(old, up, unclean):
            new = _written(old, leader, isr, by_leader=False)
            yield Explanation(rule, new._replace(recovering=_recovers(old, seen, rule)))


def _written(old: PartitionState, leader: int, isr: int, *, by_leader: bool) -> PartitionState:
    return old._replace(
        leader=leader,
        isr=isr,
        leader_epoch=zookeeper_leader_epoch(old.leader_epoch, by_leader),
        partition_epoch=partition_epoch(old.partition_epoch, True),
        recovering=False,
    )


def _recovers(old: PartitionState, seen: PartitionState, rule: TraceRule) -> bool:
    """True if the leader recovers: until it has said otherwise (KIP-704); releases before 3.2 do not write it at all.

    kafka.api.LeaderAndIsr.newLeaderAndIsr keeps it, newRecoveringLeaderAndIsr sets it.
    """
    unclean = rule is TraceRule.unclean_election and seen.recovering
    return recovering_after(unclean, old.recovering, False)


def _by_leader(old: PartitionState, seen: PartitionState, live: Sequence[frozenset[int]]) -> Iterator[Decided]:
    """The ISR that the leader asked for: it is among the replicas, and all of it was live."""
    isr = old.places(seen.ids(seen.isr))
    if old.leader == NO_LEADER or not contains(isr, old.leader):
        return
    for some in live:
        ineligible = without(isr, old.places(tuple(some)))
        error = zookeeper_alter_partition_error(
            old.leader,
            old.leader_epoch,
            old.partition_epoch,
            old.isr,
            old.leader,
            old.leader_epoch,
            old.partition_epoch,
            isr,
            ineligible,
        )
        if error == ErrorCode.NONE:
            rule = TraceRule.isr_shrunk if without(isr, old.isr) == 0 else TraceRule.isr_expanded
            yield TraceRule.recovered if isr == old.isr else rule, old.leader, isr
            return


def _by_controller(old: PartitionState, up: int, unclean: Sequence[bool]) -> Iterator[Decided]:
    """Elections, and replicas that leave the ISR; brokers that are up may be about to stop.

    A replica that leaves is written also where nothing is left to change: the last of an ISR, without a leader
    (ReplicaStateMachine.doRemoveReplicasFromIsr).
    """
    replicas = old.everybody
    asked = (True,) if old.leader == NO_LEADER else ()  # an operator elects uncleanly whatever the setting
    for enabled in dict.fromkeys((*unclean, *asked)):
        for stopping in (0, *map(only, members(up))):
            found = zookeeper_leader_for_offline(replicas, old.isr, without(up, stopping), enabled)
            if found[0] != NO_LEADER and not contains(without(up, stopping), old.leader):
                clean = contains(old.isr, found[0])
                yield TraceRule.broker_fenced if clean else TraceRule.unclean_election, *found
    for replica in members(old.isr):
        rule = TraceRule.broker_stops if contains(up, replica) else TraceRule.broker_fenced
        rule = TraceRule.move_ended if old.replicas[replica] in old.removing else rule
        yield rule, *zookeeper_remove_from_isr(replica, old.leader, old.isr)
    for stopping in range(1, 1 << min(len(old.replicas), 6)):
        if contains(stopping, old.leader):
            found = zookeeper_controlled_shutdown(old.leader, old.leader, replicas, old.isr, up, stopping)
            if found != (old.leader, old.isr):
                yield TraceRule.broker_stops, *found
    preferred = zookeeper_elect_preferred(old.isr, up)
    if preferred not in (NO_LEADER, old.leader):
        yield TraceRule.preferred_election, preferred, old.isr
    yield from _moves(old, up)


def _moves(old: PartitionState, up: int) -> Iterator[Decided]:
    """A new leader epoch as a move begins, and the leader of its target as it ends.

    A move to the replicas that are there ends with a new leader epoch, before its assignment is written
    (KafkaController.updateLeaderEpochAndSendRequest).
    """
    if not (old.adding or old.removing):
        if contains(up, old.leader):
            yield TraceRule.move_ended, old.leader, old.isr
        return
    yield TraceRule.move_begun, old.leader, old.isr
    target = without(old.everybody, old.places(old.removing))
    elected = zookeeper_elect_reassigned(target, old.isr, up, old.leader)
    if elected != NO_LEADER:
        yield TraceRule.move_ended, elected, old.isr


def first_state(state: PartitionState, live: frozenset[int]) -> PartitionState:
    """The state of a new partition: its live replicas are in sync, the first of them leads.

    kafka.controller.PartitionStateMachine.initializeLeaderAndIsrForPartitions.
    """
    isr = state.places(tuple(live))
    return state._replace(leader=zookeeper_first_in_isr(range(len(state.replicas)), isr), isr=isr)
