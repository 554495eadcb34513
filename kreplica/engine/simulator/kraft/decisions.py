"""Decisions of a KRaft controller on one partition: its state before, the circumstances, and its state afterwards.

org.apache.kafka.controller.ReplicationControlManager, which hands all of them to PartitionChangeBuilder. Pure: the
simulated controller writes what they return, and a metadata log of real controllers is compared with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kreplica.engine.rules.controller.controlled_shutdown import kraft_looks_at
from kreplica.engine.rules.controller.elections import eligible_leaders, only_last_leader_is_known
from kreplica.engine.rules.controller.isr import (
    kraft_change,
    kraft_eligible_leader_replicas,
    kraft_isr_of_elected,
    last_known_elr_until_4_1_0,
)
from kreplica.engine.rules.controller.leader_epoch_bump import kraft_leader_epoch, partition_epoch
from kreplica.engine.rules.controller.reassignment import Awaited, completed, completes, kraft_cancelled, kraft_merged
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, without
from kreplica.engine.simulator.broker.partition_state import PartitionState

Assigned = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Brokers with a replica, those being added, those being removed."""


class Circumstances(NamedTuple):
    """Facts that decide besides the partition itself.

    Args:
        may_lead: Brokers that are active and whose log directory with this partition is online.
        min_isr: min.insync.replicas, or the number of replicas that the topic's first partition is registered with
            where that is less (ReplicationControlManager.getTopicEffectiveMinIsr).
        elr_enabled: Whether the feature eligible.leader.replicas.version is 1.
        unclean_enabled: unclean.leader.election.enable, as far as the release obeys it.
        awaited: Replicas that have to be in sync for a move to end.
        rises_on_isr_shrink: Whether a smaller ISR raises the leader epoch.
        last_leader_must_be_back: See ``only_last_leader_is_known``.
        last_leader_noted_at_once: See ``last_known_elr_until_4_1_0``.
    """

    may_lead: tuple[int, ...]
    min_isr: int
    elr_enabled: bool
    unclean_enabled: bool
    awaited: Awaited
    rises_on_isr_shrink: bool
    last_leader_must_be_back: bool = True
    last_leader_noted_at_once: bool = True


def settled(old: PartitionState, new: PartitionState, rises_on_isr_shrink: bool) -> PartitionState:
    """A decided state with the epochs that follow from the change; the old one where nothing changed."""
    epoch = kraft_leader_epoch(
        old.leader_epoch,
        new.leader_id != old.leader_id,
        old.isr,
        old.places(new.ids(new.isr)),
        old.everybody,
        old.places(new.replicas),
        rises_on_isr_shrink,
    )
    new = new._replace(leader_epoch=epoch)
    return new if new == old else new._replace(partition_epoch=partition_epoch(old.partition_epoch, True))


def isr_made(
    state: PartitionState, isr: int, facts: Circumstances, unclean_shutdown: tuple[int, ...] = ()
) -> PartitionState:
    """The state once the controller has made an ISR, and elected where the leader may not lead on.

    PartitionChangeBuilder.build, 3.0 to 4.3, whatever the partition is looked at for: a reassignment that the ISR
    completes ends first (completeReassignmentIfNeeded). Since the election comes after that, one that an unclean
    election or one from the ELR makes complete is left over until the partition is looked at again.

    Args:
        state: The partition.
        isr: Replicas that shall be in sync.
        facts: What decides besides.
        unclean_shutdown: Brokers that may have lost records.
    """
    if ends_move(state, isr, facts):
        state, isr = _without_move(state, isr)
    lossy, acceptable = state.indexes(unclean_shutdown), state.places(facts.may_lead)
    left = only_last_leader_is_known(isr, _eligible(state, isr, facts, lossy), state.last_known_elr)
    dead_or_alive = facts.elr_enabled and not facts.last_leader_must_be_back and left
    leader, new_isr, elr, last_known = kraft_change(
        state.leader,
        state.isr,
        state.elr,
        state.last_known_elr,
        isr,
        acceptable | state.last_known_elr if dead_or_alive else acceptable,
        facts.min_isr,
        facts.elr_enabled,
        facts.unclean_enabled,
        lossy,
    )
    if facts.elr_enabled and not facts.last_leader_noted_at_once:
        last_known = last_known_elr_until_4_1_0(state.leader, state.last_known_elr, state.isr, new_isr, leader)
    new = state.decided(leader, new_isr, elr, last_known, target_isr=isr)
    return new._replace(recovering=True) if dead_or_alive and leader != state.leader else new


def _eligible(state: PartitionState, isr: int, facts: Circumstances, lossy: int = 0) -> int:
    """The ELR that goes with an ISR, before an election."""
    if not facts.elr_enabled:
        return state.elr
    return kraft_eligible_leader_replicas(state.isr, state.elr, isr, facts.min_isr, lossy)


def _without_move(state: PartitionState, isr: int) -> tuple[PartitionState, int]:
    """The state and the ISR on the replicas that a reassignment leaves: sets are by the indexes of these."""
    replicas, isr = completed(state.everybody, state.places(state.removing), isr)
    left, in_sync = state.ids(replicas), state.ids(isr)
    moved = state.moved_to(left)._replace(adding=(), removing=())
    return moved, moved.places(in_sync)


def broker_left(
    state: PartitionState, broker: int, facts: Circumstances, unclean_shutdown: bool = False, listed: bool = False
) -> PartitionState:
    """The state once a broker has left the ISR: fenced, stopping, restarted, or its log directory failed.

    Args:
        state: The partition.
        broker: The broker.
        facts: What decides besides.
        unclean_shutdown: Whether it may have lost records.
        listed: Whether the controller's index names the partition for it (``elr_index``), be it in the ELR or not: the
            partition is looked at then.
    """
    place = state.index_of(broker)
    if not listed and (place == NO_LEADER or not kraft_looks_at(place, state.isr, state.elr, unclean_shutdown)):
        return state
    others = facts._replace(may_lead=tuple(one for one in facts.may_lead if one != broker))
    isr = without(state.isr, state.indexes((broker,)))
    return isr_made(state, isr, others, (broker,) if unclean_shutdown else ())


def merged(now: PartitionState, before: PartitionState, decided: PartitionState) -> PartitionState:
    """The state once a record is replayed that was decided before another one was: what it names is as it says.

    PartitionRegistration.merge: what a record does not change stays as it is by then; one that names a leader raises
    the leader epoch, be it the same leader.

    Args:
        now: The partition when the record is replayed.
        before, decided: The partition that it was decided on, and what was decided.
    """

    def named(of: Callable[[PartitionState], Any]) -> Any:
        return of(decided) if of(decided) != of(before) else of(now)

    rise, replicas = decided.leader_epoch - before.leader_epoch, named(lambda one: one.replicas)
    leader = decided.leader_id if rise else now.leader_id
    isr, elr = named(lambda one: one.members(one.isr)), named(lambda one: one.members(one.elr))
    last_known = named(lambda one: one.members(one.last_known_elr))
    new = now._replace(
        replicas=replicas,
        leader=replicas.index(leader) if leader in replicas else NO_LEADER,
        leader_epoch=now.leader_epoch + rise,
        partition_epoch=partition_epoch(now.partition_epoch, True),
        recovering=named(lambda one: one.recovering),
        adding=named(lambda one: one.adding),
        removing=named(lambda one: one.removing),
        former=tuple(broker for broker in elr if broker not in replicas),
    )
    return new._replace(isr=new.places(isr), elr=new.indexes(elr), last_known_elr=new.places(last_known))


def directory_assigned(state: PartitionState, facts: Circumstances, keeps_elr: bool) -> PartitionState:
    """The state once a broker has said which of its log directories has its replica (KIP-858, since 3.7).

    ReplicationControlManager.handleAssignReplicasToDirs: the directory itself changes nothing that is played but the
    partition epoch, and the partition is looked at: a reassignment that was left over ends, a leader that may not lead
    on is replaced, never uncleanly. The broker may lead by the directory that it had before, not by this one. Up to 4.2
    it is looked at as if there were no ELRs, and loses its ELR.

    Args:
        state: The partition.
        facts: What decides besides.
        keeps_elr: Whether the release keeps the ELR.
    """
    looked = facts._replace(unclean_enabled=False, elr_enabled=facts.elr_enabled and keeps_elr)
    new = settled(state, isr_made(state, state.isr, looked), facts.rises_on_isr_shrink)
    return new if new != state else state._replace(partition_epoch=partition_epoch(state.partition_epoch, True))


def isr_accepted(state: PartitionState, isr: int, facts: Circumstances) -> PartitionState:
    """The state with the ISR that a leader asked for."""
    return isr_made(state._replace(recovering=False), isr, facts)


def ends_move(state: PartitionState, isr: int, facts: Circumstances) -> bool:
    """True if an ISR ends the reassignment of a partition."""
    adding, removing = state.places(state.adding), state.places(state.removing)
    return completes(state.everybody, adding, removing, isr, facts.awaited)


def move_that_can_end(state: PartitionState, facts: Circumstances) -> PartitionState | None:
    """The state with the end of a reassignment that was left over (see isr_made); None if there is none."""
    if not ends_move(state, state.isr, facts):
        return None
    return isr_made(state, state.isr, facts._replace(unclean_enabled=False))


def _reassigned(
    state: PartitionState, assigned: Assigned, in_sync: tuple[int, ...], facts: Circumstances
) -> PartitionState:
    """The state with another assignment: sets are by its indexes, and the leader stays if it still may lead."""
    replicas, adding, removing = assigned
    moved = state.moved_to(replicas)._replace(adding=adding, removing=removing)
    return isr_made(moved, moved.places(in_sync), facts)


def move_begun(state: PartitionState, target: tuple[int, ...], facts: Circumstances) -> PartitionState:
    """The state once a reassignment has begun; one whose target is in sync already ends with it.

    PartitionChangeBuilder.build.
    """
    new = move_asked(state, target)
    assigned = new.replicas, new.adding, new.removing
    return _reassigned(state, assigned, state.ids(state.isr), facts._replace(unclean_enabled=False))


def move_asked(state: PartitionState, target: tuple[int, ...]) -> PartitionState:
    """The state with the merged assignment of a reassignment, before anything else is decided."""
    replicas, adding, removing = kraft_merged(state.replicas, target, state.adding, state.removing)
    return state.moved_to(replicas)._replace(adding=adding, removing=removing)


def move_cancelled(state: PartitionState, facts: Circumstances) -> PartitionState | None:
    """The state once a reassignment is cancelled; None where that is refused, since it would lose records."""
    replicas, isr, lossy = kraft_cancelled(state.everybody, state.places(state.adding), state.isr)
    if lossy and not facts.unclean_enabled:
        return None
    return _reassigned(state, (state.ids(replicas), (), ()), state.ids(isr), facts)


def preferred_elected(state: PartitionState, facts: Circumstances) -> PartitionState | None:
    """The state after a preferred election; None where it changes nothing.

    ReplicationControlManager.electLeader, PartitionChangeBuilder.electPreferredLeader. Where the preferred replica may
    not lead, it is as if the partition were looked at for any other reason: a reassignment that was left over ends, and
    a leader that may not lead on is replaced, never uncleanly.
    """
    if state.leader == 0:
        return None
    ended, isr = _without_move(state, state.isr) if ends_move(state, state.isr, facts) else (state, state.isr)
    elr = _eligible(ended, isr, facts)
    if contains(eligible_leaders(isr, elr) & ended.places(facts.may_lead), 0):
        new_isr, new_elr = kraft_isr_of_elected(0, isr, elr)
        new = ended.decided(0, new_isr, new_elr if facts.elr_enabled else 0, 0, target_isr=isr)
    else:
        new = isr_made(state, state.isr, facts._replace(unclean_enabled=False))
    return None if new == state else new


def elected_uncleanly(state: PartitionState, facts: Circumstances) -> PartitionState:
    """The state after an unclean election, whatever the topic's setting; the same where nothing comes of it.

    One that gives no leader still ends a reassignment that was left over.
    """
    return isr_made(state, state.isr, facts._replace(unclean_enabled=True))


def elr_cleared(state: PartitionState) -> PartitionState:
    """The state without eligible leader replicas: min.insync.replicas of its topic has changed (KIP-966)."""
    return state._replace(elr=0, last_known_elr=0, former=())
