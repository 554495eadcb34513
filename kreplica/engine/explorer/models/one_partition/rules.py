"""Rules in which the models of one partition differ: what a leader takes for replicated, where a follower cuts its log.

Those that Kafka's code has are called from ``kreplica.engine.rules``; the others are of the published models alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kreplica.engine.explorer.models.one_partition.state import PartitionState, epoch_at, leads, log_end, record_at
from kreplica.engine.rules.controller.isr import zookeeper_remove_from_isr
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import leader_epoch_error
from kreplica.engine.rules.replication.follower_lag import may_join_isr
from kreplica.engine.rules.replication.log_truncation import truncate_to_high_watermark
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only, without

CANNOT_CUT = -1
"""No truncation: the follower does not take the request at all."""

Reached = Callable[[PartitionState, int, int, int], bool]
"""Judges whether a leader takes it that a follower has its log up to an offset: state, leader, follower, offset."""

Cut = Callable[[PartitionState, int, int, int], int]
"""The offset at which a follower cuts its log when it begins to follow: state, follower, leader, requested epoch."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one model.

    Args:
        fetches: A follower fetches once its log has reached its own end, as the leader takes it.
        acknowledges: The high watermark passes an offset once the whole ISR has reached the next.
        keeps_up: A follower leaves the ISR unless it has reached the leader's log end.
        catches_up: It joins the ISR once it has reached the high watermark,
        admits: and the leader admits others to the ISR: state, leader.
        cuts_at: Where a follower cuts its log when it begins to follow.
        removed: Leader and ISR once the controller takes a replica out of the ISR: replica, leader, ISR.
        cuts_later: Whether it cuts its log afterwards, too, when it finds that it differs.
    """

    fetches: Reached
    acknowledges: Reached
    keeps_up: Reached
    catches_up: Reached
    admits: Callable[[PartitionState, int], bool]
    cuts_at: Cut
    removed: Callable[[int, int, int], tuple[int, int]]
    cuts_later: bool = False


# -- a follower's log as the leader takes it


def reached(state: PartitionState, leader: int, follower: int, offset: int) -> bool:
    """True if a follower of this leader has the offset, whatever epoch it follows in: before KIP-320."""
    return state.leader[follower] == leader and log_end(state, follower) >= offset


def reached_in_epoch(state: PartitionState, leader: int, follower: int, offset: int) -> bool:
    """The same, of the leader's own epoch: since KIP-320 fetches carry it, ``fetching.leader_epoch_error``."""
    current = leader_epoch_error(state.epoch[follower], state.epoch[leader]) == ErrorCode.NONE
    return current and reached(state, leader, follower, offset)


def reached_same_epoch(state: PartitionState, leader: int, follower: int, offset: int) -> bool:
    """The same, if the last records before the offset are of one epoch: the first try at KIP-320."""
    if not reached(state, leader, follower, offset) or log_end(state, leader) < offset:
        return False
    return offset == 0 or epoch_at(state, leader, offset - 1) == epoch_at(state, follower, offset - 1)


def admits_always(_state: PartitionState, _leader: int) -> bool:
    """A leader takes followers into the ISR at any time: before KAFKA-7128."""
    return True


def admits_in_own_epoch(state: PartitionState, leader: int) -> bool:
    """A leader takes followers into the ISR once the high watermark has reached its own epoch.

    The published model asks of the high watermark what Kafka since 2.1 (KAFKA-7128) asks of the follower's log end
    offset: ``follower_lag.may_join_isr``.
    """
    high_watermark = state.high_watermark[leader]
    if high_watermark == log_end(state, leader):
        return True
    return epoch_at(state, leader, high_watermark) == state.epoch[leader]


def joins_in_epoch(state: PartitionState, leader: int, follower: int, high_watermark: int) -> bool:
    """True if a follower in the leader's own epoch may join the ISR: ``follower_lag.may_join_isr``, since 2.1.

    The leader's epoch began at its first record of that epoch, or at its log end as long as it has written none.
    """
    if not reached_in_epoch(state, leader, follower, high_watermark):
        return False
    start, leader_end = 0, log_end(state, leader)
    while start < leader_end and epoch_at(state, leader, start) != state.epoch[leader]:
        start += 1
    return may_join_isr(follower, 0, only(follower), log_end(state, follower), high_watermark, start, True)


# -- truncation


def cut_to_high_watermark(state: PartitionState, follower: int, _leader: int, _epoch: int) -> int:
    """Its own high watermark: before KIP-101."""
    return truncate_to_high_watermark(state.high_watermark[follower], log_end(state, follower))


def cut_by_last_epoch(state: PartitionState, follower: int, leader: int, _epoch: int) -> int:
    """The leader's end of the epoch of the follower's last record, its own high watermark if there is none: KIP-101.

    Of a leader's log as it is, whatever state the leader is in. An end above the follower's own cannot be cut to.
    """
    end, leader_end = log_end(state, follower), log_end(state, leader)
    if end == 0:
        return 0
    epoch = epoch_at(state, follower, end - 1)
    found = state.high_watermark[follower]
    if leader_end > 0 and epoch_at(state, leader, leader_end - 1) == epoch:
        found = leader_end
    else:
        for offset in range(leader_end - 1, -1, -1):
            if epoch_at(state, leader, offset) > epoch:
                found = offset
    return found if found <= end else CANNOT_CUT


def cut_behind_last_match(state: PartitionState, follower: int, leader: int, _epoch: int) -> int:
    """Behind the last record that both logs have at the same offset, of a leader's log as it is: KIP-279."""
    for offset in range(log_end(state, follower) - 1, -1, -1):
        if record_at(state, follower, offset) == record_at(state, leader, offset):
            return offset + 1
    return 0


def cut_in_epoch(state: PartitionState, follower: int, leader: int, epoch: int) -> int:
    """The same, once the leader leads in the epoch of the request: KIP-320."""
    if not leads(state, leader) or leader_epoch_error(epoch, state.epoch[leader]) != ErrorCode.NONE:
        return CANNOT_CUT
    return cut_behind_last_match(state, follower, leader, epoch)


def cut_by_last_epoch_in_epoch(state: PartitionState, follower: int, leader: int, epoch: int) -> int:
    """As KIP-101 does, once the leader leads in the epoch of the request."""
    if not leads(state, leader) or leader_epoch_error(epoch, state.epoch[leader]) != ErrorCode.NONE:
        return CANNOT_CUT
    return cut_by_last_epoch(state, follower, leader, epoch)


def cut_nothing(state: PartitionState, follower: int, _leader: int, _epoch: int) -> int:
    """Nothing yet: the first try at KIP-320 cuts when a fetch finds that the logs differ."""
    return log_end(state, follower)


# -- the controller


def removed_even_last(replica: int, leader: int, isr: int) -> tuple[int, int]:
    """Leader and ISR without a replica; without a leader even the last member leaves.

    The published models; in Kafka the last member stays (``isr.zookeeper_remove_from_isr``).
    """
    if leader == NO_LEADER and contains(isr, replica):
        return NO_LEADER, without(isr, only(replica))
    return zookeeper_remove_from_isr(replica, leader, isr)
