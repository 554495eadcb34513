"""Goals of the models of a KRaft cluster: what comes about once no fault comes any more."""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.explorer.model import Goal, Healing
from kreplica.engine.explorer.models.kraft.actions import actions
from kreplica.engine.explorer.models.kraft.invariants import leads_now
from kreplica.engine.explorer.models.kraft.rules import KraftRules
from kreplica.engine.explorer.models.kraft.state import RUNNING, KraftBounds, KraftState, log_end, now
from kreplica.engine.rules.replication.replica_set import everybody, size

FAULTS = ("fence", "lose-log", "stop")


def healing(bounds: KraftBounds, rules: KraftRules) -> Healing:
    """Actions that go on without faults; no leader takes a follower for too slow, nobody writes.

    Args:
        bounds: The bounds.
        rules: The rules of the model.
    """
    healed = actions(bounds._replace(shrinks=0), rules)
    going_on = tuple(each for each in healed if each.name not in (*FAULTS, "write"))
    return Healing(going_on, concerned, _goals(bounds.min_isr))


def concerned(_state: KraftState) -> bool:
    """Every state: faults are what is bounded, nothing that heals."""
    return True


def _takes_writes(min_isr: int) -> Callable[[KraftState], bool]:
    """Builds whether the leader that was decided on takes a write of acks=all and has committed all that it has."""

    def reached(state: KraftState) -> bool:
        leader = state.leader[now(state)]
        if leader < 0 or state.status[leader] != RUNNING or not leads_now(state, leader):
            return False
        enough = size(state.maximal_isr[leader]) >= min_isr
        return enough and state.high_watermark[leader] == log_end(state, leader)

    return reached


def everybody_in_sync(state: KraftState) -> bool:
    """True if the ISR is all replicas."""
    return state.isr[now(state)] == everybody(len(state.status))


def everybody_knows(state: KraftState) -> bool:
    """True if every broker runs, is active and goes by the leader and the leader epoch of the last decision."""
    at, count = now(state), len(state.status)
    if state.unfenced[0] != everybody(count) or state.leader[at] < 0:
        return False
    for broker in range(count):
        if state.status[broker] != RUNNING or state.known_leader[broker] != state.leader[at]:
            return False
        if state.known_epoch[broker] != state.leader_epoch[at]:
            return False
    return state.known_isr[state.leader[at]] == state.isr[at]


def _goals(min_isr: int) -> tuple[Goal, ...]:
    return (
        Goal(
            "write-taken",
            _takes_writes(min_isr),
            "without faults there is a leader that takes and commits writes, in the end",
        ),
        Goal("isr-settles", everybody_in_sync, "without faults every replica is in sync in the end"),
        Goal("metadata-settles", everybody_knows, "without faults every broker goes by the last decision in the end"),
    )
