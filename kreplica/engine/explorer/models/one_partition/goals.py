"""Goals of the models of one partition: what comes about once no fault comes any more."""

from __future__ import annotations

from kreplica.engine.explorer.model import Action, Goal, Healing
from kreplica.engine.explorer.models.one_partition.actions import actions, leads_truly
from kreplica.engine.explorer.models.one_partition.rules import Rules
from kreplica.engine.explorer.models.one_partition.state import Bounds, PartitionState, log_end
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody

GOES_ON = ("become-leader", "become-follower", "fetch", "truncate", "raise-high-watermark", "expand-isr")
"""Actions that are no faults; what clients do is left out."""


def healing(bounds: Bounds, rules: Rules) -> Healing:
    """Actions that go on without faults: the controller elects where nobody leads.

    Args:
        bounds: The bounds.
        rules: The rules of the model.
    """
    taken = {each.name: each for each in actions(bounds, rules)}
    going_on = [taken[name] for name in GOES_ON if name in taken]
    return Healing((_elects_if_needed(taken["elect-leader"]), *going_on), concerned, GOALS)


def _elects_if_needed(elects: Action) -> Action:
    elect = elects.take

    def take(state: PartitionState, replica: int) -> bool:
        return state.true_leader[0] == NO_LEADER and bool(elect(state, replica))

    return Action(elects.name, take, elects.choices, elects.sentence, elects.first)


def concerned(state: PartitionState) -> bool:
    """True if there is a leader, or a leader epoch is left for one: epochs are bounded, elections are not."""
    return state.true_leader[0] != NO_LEADER or state.begun[0] < len(state.sent_isr)


def takes_writes(state: PartitionState) -> bool:
    """True if the controller's leader knows that it leads, and has committed all that it has."""
    leader = state.true_leader[0]
    return leader >= 0 and leads_truly(state, leader) and state.high_watermark[leader] == log_end(state, leader)


def everybody_in_sync(state: PartitionState) -> bool:
    """True if the ISR is all replicas."""
    return state.true_isr[0] == everybody(len(state.leader))


def everybody_knows(state: PartitionState) -> bool:
    """True if every replica goes by the controller's leader, in its epoch."""
    leader = state.true_leader[0]
    for replica in range(len(state.leader)):
        if state.leader[replica] != leader or state.epoch[replica] != state.begun[0] - 1:
            return False
    return leader >= 0


GOALS = (
    Goal("write-taken", takes_writes, "without faults there is a leader that takes and commits writes, in the end"),
    Goal("isr-settles", everybody_in_sync, "without faults every replica is in sync in the end"),
    Goal("metadata-settles", everybody_knows, "without faults every broker goes by the last decision in the end"),
)
