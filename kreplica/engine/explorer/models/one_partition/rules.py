"""Rules in which the models of one partition differ: what a leader takes for replicated, where a follower cuts its log.

Those that Kafka's code has are called from ``kreplica.engine.rules``; the others are of the published models alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kreplica.engine.explorer.models.one_partition.state import PartitionState, epoch_at, leads, log_end, record_at
from kreplica.engine.rules.controller.isr import zookeeper_remove_from_isr
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import diverges, leader_epoch_error, updates_follower_fetch_state
from kreplica.engine.rules.replication.follower_lag import may_join_isr
from kreplica.engine.rules.replication.log_truncation import truncate_to_high_watermark
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only, without

CANNOT_CUT = -1
"""No truncation: the follower does not take the request at all, or has nothing to cut."""

Reached = Callable[[PartitionState, int, int, int], bool]
"""Judges whether a leader takes it that a follower has its log up to an offset: state, leader, follower, offset."""

Cut = Callable[[PartitionState, int, int, int], int]
"""The offset at which a follower cuts its log: state, follower, leader, the epoch that it follows in."""


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
        cuts_later: Where it cuts its log afterwards, when a fetch finds that it differs; None if it never does.
    """

    fetches: Reached
    acknowledges: Reached
    keeps_up: Reached
    catches_up: Reached
    admits: Callable[[PartitionState, int], bool]
    cuts_at: Cut
    removed: Callable[[int, int, int], tuple[int, int]]
    cuts_later: Cut | None = None


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


def epoch_end(state: PartitionState, replica: int, epoch: int) -> tuple[int, int]:
    """The largest epoch of a log that is not above ``epoch``, and where it ends: ``log_truncation.epoch_end_offset``.

    Of a replica that has noted an epoch at least as high: a leader its own since 2.0.1 (KAFKA-7415), before the first
    record of it.
    """
    end, leader_end = 0, log_end(state, replica)
    while end < leader_end and epoch_at(state, replica, end) <= epoch:
        end += 1
    return (epoch_at(state, replica, end - 1), end) if end > 0 else (epoch, 0)


def diverges_at_fetch(state: PartitionState, leader: int, follower: int) -> bool:
    """True if a leader answers a fetch with the end of a diverging epoch: ``fetching.diverges``, since 2.8.

    The follower tells the epoch of its last record, Kafka's the last that it has noted. If it led in that one and
    wrote nothing, it may need one more fetch, and cuts no other records.
    """
    end = log_end(state, follower)
    if end == 0:
        return False
    last = epoch_at(state, follower, end - 1)
    epoch, leader_end = epoch_end(state, leader, last)
    return diverges(last, end, epoch, leader_end)


def reached_by_fetch(state: PartitionState, leader: int, follower: int, offset: int) -> bool:
    """As ``reached_in_epoch``, by a fetch that does not diverge: since 2.8.1 (KAFKA-13141).

    ``fetching.updates_follower_fetch_state``.
    """
    if not reached_in_epoch(state, leader, follower, offset):
        return False
    return updates_follower_fetch_state(False, diverges_at_fetch(state, leader, follower), False)


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


def joins_by_fetch(state: PartitionState, leader: int, follower: int, high_watermark: int) -> bool:
    """The same of a follower whose fetches do not diverge: since 2.8.1."""
    joins = joins_in_epoch(state, leader, follower, high_watermark)
    return joins and reached_by_fetch(state, leader, follower, high_watermark)


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
    """Nothing yet: the first try at KIP-320, and Kafka since 2.8, cut when a fetch finds that the logs differ."""
    return log_end(state, follower)


def cut_where_records_differ(state: PartitionState, follower: int, leader: int, _epoch: int) -> int:
    """Behind the last match, if a follower ends behind its leader or its last record has another epoch than there.

    The first try at KIP-320.
    """
    end, leader_end = log_end(state, follower), log_end(state, leader)
    differs = end > leader_end
    if 0 < end <= leader_end:
        differs = epoch_at(state, follower, end - 1) != epoch_at(state, leader, end - 1)
    return cut_behind_last_match(state, follower, leader, 0) if differs else CANNOT_CUT


def cut_on_fetch(state: PartitionState, follower: int, leader: int, epoch: int) -> int:
    """One step of ``log_truncation.truncation_round``, by the answer to a fetch: since 2.8 (KAFKA-10554)."""
    fenced = leader_epoch_error(epoch, state.epoch[leader]) != ErrorCode.NONE
    if fenced or not diverges_at_fetch(state, leader, follower):
        return CANNOT_CUT
    last = epoch_at(state, follower, log_end(state, follower) - 1)
    answered, leader_end = epoch_end(state, leader, last)
    own, own_end = epoch_end(state, follower, answered)
    return min(own_end, leader_end) if own == answered else own_end


# -- the controller


def removed_even_last(replica: int, leader: int, isr: int) -> tuple[int, int]:
    """Leader and ISR without a replica; without a leader even the last member leaves.

    The published models; in Kafka the last member stays (``isr.zookeeper_remove_from_isr``).
    """
    if leader == NO_LEADER and contains(isr, replica):
        return NO_LEADER, without(isr, only(replica))
    return zookeeper_remove_from_isr(replica, leader, isr)
