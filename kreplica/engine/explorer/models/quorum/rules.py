"""Rules of the models of the quorum: the engine's, and each without one guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kreplica.engine.rules.replication.quorum import (
    grants_vote,
    has_majority,
    log_is_up_to_date,
    quorum_high_watermark,
    resigns_without_fetches,
)
from kreplica.engine.rules.replication.replica_set import NO_LEADER


@dataclass(frozen=True, slots=True)
class QuorumRules:
    """The rules in which the models differ.

    Args:
        high_watermark: The leader's: log end offsets of all voters, start of its epoch, the one before.
        up_to_date: Whether a candidate's log is not behind: its last epoch and end, the voter's.
        grants: Whether a voter votes: candidate, its epoch, the voter's epoch, vote and leader, the answer of the last.
        elects: Whether so many votes of so many voters elect.
        resigns: Whether a leader resigns: time since a majority has fetched, the timeout of fetches.
        keeps_vote: Whether a voter that crashes knows afterwards whom it has voted for.
    """

    high_watermark: Callable[[Sequence[int], int, int], int]
    up_to_date: Callable[[int, int, int, int], bool]
    grants: Callable[[int, int, int, int, int, bool], bool]
    elects: Callable[[int, int], bool]
    resigns: Callable[[int, int], bool]
    keeps_vote: bool


ENGINE = QuorumRules(
    quorum_high_watermark, log_is_up_to_date, grants_vote, has_majority, resigns_without_fetches, keeps_vote=True
)


def high_watermark_of_any_epoch(end_offsets: Sequence[int], _epoch_start: int, high_watermark: int) -> int:
    """The records of a majority, be they of an earlier leader: figure 8 of the Raft paper."""
    return quorum_high_watermark(end_offsets, -1, high_watermark)


def never_behind(_last_epoch: int, _end_offset: int, _own_last_epoch: int, _own_end_offset: int) -> bool:
    """Takes every candidate's log for good."""
    return True


def grants_everybody(
    candidate: int, candidate_epoch: int, epoch: int, _voted_for: int, leader: int, up_to_date: bool
) -> bool:
    """Votes for several candidates of an epoch."""
    return grants_vote(candidate, candidate_epoch, epoch, NO_LEADER, leader, up_to_date)


def elected_by_any(_voters: int, votes: int) -> bool:
    """One's own vote is enough."""
    return votes > 0


def never_resigns(_since_majority_fetched_ms: int, _fetch_timeout_ms: int) -> bool:
    """Leads until it hears of a later epoch: before KAFKA-15489 (3.7)."""
    return False
