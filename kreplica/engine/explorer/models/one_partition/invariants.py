"""Invariants of the models of one partition."""

from __future__ import annotations

from kreplica.engine.explorer.model import Invariant
from kreplica.engine.explorer.models.one_partition.state import PartitionState, leads, log_end, record_at
from kreplica.engine.rules.replication.replica_set import contains


def agree(state: PartitionState, one: int, other: int, end: int) -> bool:
    """True if two replicas have the same records before an offset, and both have some up to there."""
    for offset in range(end):
        record = record_at(state, one, offset)
        if record == 0 or record != record_at(state, other, offset):
            return False
    return True


def isr_agrees(state: PartitionState, leader: int, isr: int) -> bool:
    """True if every member of a set has the leader's records before its high watermark."""
    for replica in range(len(state.leader)):
        if contains(isr, replica) and not agree(state, leader, replica, state.high_watermark[leader]):
            return False
    return True


def strong_isr(state: PartitionState) -> bool:
    """True if the whole ISR has what any replica that takes itself for the leader holds for committed."""
    for leader in range(len(state.leader)):
        if leads(state, leader) and not isr_agrees(state, leader, state.true_isr[0]):
            return False
    return True


def weak_isr(state: PartitionState) -> bool:
    """The same of the ISR that this replica knows."""
    for leader in range(len(state.leader)):
        if leads(state, leader) and not isr_agrees(state, leader, state.isr[leader]):
            return False
    return True


def high_watermark_prefix(state: PartitionState) -> bool:
    """True if any two replicas have the same records below the lower of their high watermarks."""
    for one in range(len(state.leader)):
        for other in range(one):
            if not agree(state, one, other, min(state.high_watermark[one], state.high_watermark[other])):
                return False
    return True


def epoch_prefix(state: PartitionState) -> bool:
    """True if a follower in its leader's epoch has the leader's records as far as both logs go."""
    for follower in range(len(state.leader)):
        leader = state.leader[follower]
        if leader in (-1, follower) or not leads(state, leader) or state.epoch[leader] != state.epoch[follower]:
            continue
        if not agree(state, leader, follower, min(log_end(state, leader), log_end(state, follower))):
            return False
    return True


INVARIANTS = (
    Invariant("strong-isr", strong_isr, "records that a leader holds for committed are on the whole ISR"),
    Invariant("weak-isr", weak_isr, "records that a leader holds for committed are on the ISR that it knows"),
    Invariant("hw-prefix", high_watermark_prefix, "replicas agree below the lower of their high watermarks"),
    Invariant("epoch-prefix", epoch_prefix, "a follower in the leader's epoch agrees with the leader's log"),
)
