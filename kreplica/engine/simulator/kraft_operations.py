"""What operators and timers ask an active KRaft controller for: reassignments, elections, settings.

org.apache.kafka.controller.ReplicationControlManager: alterPartitionReassignments, electLeaders,
maybeBalancePartitionLeaders, maybeElectUncleanLeaders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.rules.elections import kraft_elect_preferred
from kreplica.engine.rules.isr import kraft_change, kraft_isr_of_elected
from kreplica.engine.rules.reassignment import completed, completes, kraft_cancelled, kraft_merged
from kreplica.engine.rules.replica_set import NO_LEADER
from kreplica.engine.rules.unclean_election import kraft_rechecks
from kreplica.engine.setup import topic_of
from kreplica.engine.simulator.partition_state import PartitionState
from kreplica.engine.trace import Kind
from kreplica.model.settings import MIN_ISR

if TYPE_CHECKING:
    from kreplica.engine.simulator.controller_kraft import KraftController


class KraftOperations:
    """See ``ControllerOperations``. Everything is decided on and written by the controller it belongs to."""

    __slots__ = ("controller",)

    def __init__(self, controller: KraftController) -> None:
        self.controller = controller

    def complete(self, state: PartitionState, isr: int) -> None:
        """Ends a reassignment whose replicas are all in sync."""
        replicas, isr = completed(state.everybody, state.places(state.removing), isr)
        self._reassigned(state, state.ids(replicas), state.ids(isr), (), (), "the reassignment is complete")

    def _reassigned(
        self,
        state: PartitionState,
        replicas: tuple[int, ...],
        in_sync: tuple[int, ...],
        adding: tuple[int, ...],
        removing: tuple[int, ...],
        why: str,
    ) -> None:
        """Another assignment: sets are by its places, and whoever led leads on if it still may."""
        moved = state.on(replicas)._replace(adding=adding, removing=removing)
        acceptable, min_isr, elr_enabled, _ = self.controller.electoral_facts(moved)
        changed = kraft_change(
            moved.leader,
            moved.isr,
            moved.elr,
            moved.last_known_elr,
            moved.places(in_sync),
            acceptable,
            min_isr,
            elr_enabled,
            False,
        )
        self.controller.settle(moved.decided(*changed), why, "reassignment.completes")

    # -- what operators ask for

    def reassign(self, partition: str, target: tuple[int, ...]) -> None:
        """Begins a reassignment; one whose target is in sync already is one record. PartitionChangeBuilder.build."""
        state = self.controller.partitions[partition]
        replicas, adding, removing = kraft_merged(state.replicas, target)
        awaited = self.controller.simulation.version.moves_wait_for
        new = state.on(replicas)._replace(adding=adding, removing=removing)
        if completes(new.everybody, new.places(adding), new.places(removing), new.isr, awaited):
            self.complete(new, new.isr)
        else:
            why = "a reassignment begins" if adding or removing else "its replicas get another order"
            self._reassigned(state, replicas, state.ids(state.isr), adding, removing, why)
        self.controller.commit(lambda: None)

    def cancel_reassignment(self, partition: str) -> None:
        """Ends a reassignment and keeps who was there before."""
        state = self.controller.partitions[partition]
        replicas, isr, lossy = kraft_cancelled(state.everybody, state.places(state.adding), state.isr)
        if lossy and not self.controller.unclean_enabled(topic_of(partition)):
            why = "InvalidReplicaAssignmentException, of the replicas before the move none is in sync"
            self.controller.voter.emit(Kind.MOVE_REFUSED, partition, why, "reassignment.kraft_cancelled")
            return
        self._reassigned(state, state.ids(replicas), state.ids(isr), (), (), "the reassignment is cancelled")
        self.controller.commit(lambda: None)

    def balance(self) -> None:
        """Elects every preferred leader that may lead."""
        for state in tuple(self.controller.partitions.values()):
            if state.leader != 0:
                self._elect_preferred(state)
        self.controller.commit(lambda: None)

    def elect_preferred(self, partition: str) -> None:
        """Elects one partition's preferred leader."""
        self._elect_preferred(self.controller.partitions[partition])
        self.controller.commit(lambda: None)

    def _elect_preferred(self, state: PartitionState) -> None:
        if self.controller.simulation.by_majority:
            return  # who is preferred may be behind
        elected, unclean = kraft_elect_preferred(
            state.leader,
            state.isr,
            state.elr,
            state.last_known_elr,
            self.controller.acceptable(state),
            self.controller.simulation.version.elr,
        )
        if elected in (NO_LEADER, state.leader) or unclean:
            return
        isr, elr = kraft_isr_of_elected(elected, state.isr, state.elr)
        rule = "elections.kraft_elect_preferred"
        new = state._replace(leader=elected, isr=isr, elr=elr, last_known_elr=0)
        self.controller.settle(new, "the preferred leader", rule)

    def elect_unclean(self, partition: str) -> None:
        """Elects whoever is there."""
        state = self.controller.partitions[partition]
        if state.leader == NO_LEADER:
            self.controller.elect_uncleanly(state, "an operator asked for an unclean election")
        self.controller.commit(lambda: None)

    def recheck_unclean(self) -> None:
        """Elects uncleanly where that has been enabled since: every unclean.leader.election.interval.ms."""
        for state in tuple(self.controller.partitions.values()):
            if kraft_rechecks(state.leader, self.controller.unclean_enabled(topic_of(state.partition))):
                self.controller.elect_uncleanly(state, "unclean elections are enabled")
        self.controller.commit(lambda: None)

    def topic_changed(self, topic: str, setting: str) -> None:
        """Hears of another setting: min.insync.replicas clears the ELR (KIP-966)."""
        for state in tuple(self.controller.partitions.values()):
            if topic_of(state.partition) == topic and setting == MIN_ISR and (state.elr or state.last_known_elr):
                new = state._replace(elr=0, last_known_elr=0)
                self.controller.settle(new, f"{setting} changed: the ELR is cleared")
        self.controller.commit(lambda: None)
