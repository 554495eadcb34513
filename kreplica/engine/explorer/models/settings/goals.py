"""Goals of the models of settings: what comes about once no fault comes any more."""

from __future__ import annotations

from kreplica.engine.explorer.model import Action, Goal, Healing
from kreplica.engine.explorer.models.settings.actions import min_isr_of
from kreplica.engine.explorer.models.settings.state import SettingsState, leads, log_end
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL, append_error
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import everybody

GOES_ON = ("fetch", "hear", "expire", "start", "assign-directory", "unfence", "elect-preferred")
"""Actions that are no faults; what clients do is left out."""


def healing(actions: tuple[Action, ...]) -> Healing:
    """Those actions of a model that go on without faults."""
    return Healing(tuple(each for each in actions if each.name in GOES_ON), concerned, GOALS)


def concerned(_state: SettingsState) -> bool:
    """Every state: faults are what is bounded, nothing that heals."""
    return True


def takes_writes(state: SettingsState) -> bool:
    """True if the leader of the latest epoch takes a write of acks=all and has committed all that it has."""
    leader = state.true_leader[0]
    if leader < 0 or not leads(state, leader) or state.epoch[leader] != state.true_epoch[0]:
        return False
    error = append_error(ACKS_ALL, state.isr[leader], min_isr_of(state))
    return error == ErrorCode.NONE and state.high_watermark[leader] == log_end(state, leader)


def everybody_in_sync(state: SettingsState) -> bool:
    """True if the ISR is all replicas."""
    return state.true_isr[0] == everybody(len(state.leader))


def everybody_knows(state: SettingsState) -> bool:
    """True if every broker runs, is active and goes by the controller's last decision."""
    everyone, leader = everybody(len(state.leader)), state.true_leader[0]
    if state.running[0] != everyone or state.active[0] != everyone or leader < 0:
        return False
    for replica in range(len(state.leader)):
        if state.leader[replica] != leader or state.epoch[replica] != state.true_epoch[0]:
            return False
    return state.isr[leader] == state.true_isr[0]


GOALS = (
    Goal("write-taken", takes_writes, "without faults there is a leader that takes and commits writes, in the end"),
    Goal("isr-settles", everybody_in_sync, "without faults every replica is in sync in the end"),
    Goal("metadata-settles", everybody_knows, "without faults every broker goes by the last decision in the end"),
)
