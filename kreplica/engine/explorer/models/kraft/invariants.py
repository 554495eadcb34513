"""Invariants of the models of a KRaft cluster."""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.explorer.model import Invariant
from kreplica.engine.explorer.models.kraft.actions import pending
from kreplica.engine.explorer.models.kraft.state import LEADS, RUNNING, KraftState, log_end, now, record_at, value_of
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only, size, without


def values(state: KraftState, replica: int) -> int:
    """The records of a replica, as a set."""
    found = 0
    for offset in range(log_end(state, replica)):
        found |= only(value_of(record_at(state, replica, offset)))
    return found


def leader_completeness(state: KraftState) -> bool:
    """True if the leader, if it runs, has all that is committed and all that was acknowledged."""
    leader = state.leader[now(state)]
    if state.committed[0] == 0 or leader == NO_LEADER or state.status[leader] != RUNNING:
        return True
    complete = without(state.acknowledged[0], values(state, leader)) == 0
    return complete and log_end(state, leader) >= state.committed[0]


def candidate_completeness(state: KraftState) -> bool:
    """True if every member of ISR and ELR that runs has all that is committed."""
    at = now(state)
    candidates = state.isr[at] | state.elr[at]
    for replica in range(len(state.status)):
        runs = contains(candidates, replica) and state.status[replica] == RUNNING
        if runs and log_end(state, replica) < state.committed[0]:
            return False
    return True


def leads_now(state: KraftState, replica: int) -> bool:
    """True if a replica leads in the epoch of the last decision."""
    return state.role[replica] == LEADS and state.known_epoch[replica] == state.leader_epoch[now(state)]


def log_matching(state: KraftState) -> bool:
    """True if replicas have the same records below the lower of their high watermarks, as far as both have any."""
    for one in range(len(state.status)):
        for other in range(one):
            end = min(log_end(state, one), log_end(state, other))
            for offset in range(min(end, state.high_watermark[one], state.high_watermark[other])):
                if value_of(record_at(state, one, offset)) != value_of(record_at(state, other, offset)):
                    return False
    return True


def consistent_read(state: KraftState) -> bool:
    """True if the leader has what was read before, at the same offsets."""
    for replica in range(len(state.status)):
        if leads_now(state, replica):
            for offset in range(state.committed[0]):
                if record_at(state, replica, offset) != state.consumed[offset]:
                    return False
    return True


def committed_kept(state: KraftState) -> bool:
    """True if some replica has each record that was acknowledged."""
    left = state.acknowledged[0]
    for replica in range(len(state.status)):
        left = without(left, values(state, replica))
    return left == 0


def _quorum_superset(min_isr: int, elr: bool) -> Callable[[KraftState], bool]:
    def holds(state: KraftState) -> bool:
        at = now(state)
        for replica in range(len(state.status)):
            if leads_now(state, replica):
                maximal, isr = state.maximal_isr[replica], state.known_isr[replica]
                if not pending(state, replica) and maximal != isr:
                    return False
                counts = not elr or size(isr) >= min_isr
                if counts and without(state.isr[at] | state.elr[at], maximal) != 0:
                    return False
        return True

    return holds


def _recovery_quorum(min_isr: int) -> Callable[[KraftState], bool]:
    def holds(state: KraftState) -> bool:
        at = now(state)
        return state.isr[at] | state.elr[at] != 0 or size(state.last_known_elr[at]) == min_isr

    return holds


_OF_BOTH = (
    Invariant("leader-completeness", leader_completeness, "a leader that runs has all that was committed"),
    Invariant("candidate-completeness", candidate_completeness, "members of ISR and ELR have all that was committed"),
    Invariant("log-matching", log_matching, "replicas agree below the lower of their high watermarks"),
    Invariant("consistent-read", consistent_read, "a leader has what was read before"),
    Invariant("committed-kept", committed_kept, "some replica has each record that was acknowledged"),
)


def invariants(min_isr: int, elr: bool) -> tuple[Invariant, ...]:
    """The invariants of a model.

    Args:
        min_isr: min.insync.replicas.
        elr: Whether the model has ELR.
    """
    promise = "the replicas that a leader counts with hold all that may be elected"
    found = (*_OF_BOTH, Invariant("quorum-superset", _quorum_superset(min_isr, elr), promise))
    if not elr:
        return found
    promise = "without ISR and ELR, as many replicas as min ISR asks for are remembered"
    return (*found, Invariant("recovery-quorum", _recovery_quorum(min_isr), promise))
