"""State of a quorum: logs and roles of its voters, votes that were given, what has been committed.

Voters and offsets count from 0, epochs from 1; 0 is the epoch before the first. A log holds one number an offset: 0 for
nothing, otherwise the epoch of its record. A record of an epoch is appended by its leader, so offset and epoch tell it
from every other as long as an epoch has one leader.
"""

from __future__ import annotations

from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody

FOLLOWS, STANDS, LEADS = range(3)
"""Roles of a voter; one that knows no leader, or has resigned, follows nobody."""

UNKNOWN_END = -1
NOBODY = -1


class QuorumBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        replicas: Voters.
        log: Records of a log, among them one of each leader that begins.
        last_epoch: The largest epoch, counted from 1.
        records: Records that leaders write besides.
        stops: How often a voter crashes and starts again.
        fences: Voters that are cut off from the others, from then on: 0 or 1.
    """

    replicas: int
    log: int
    last_epoch: int
    records: int
    stops: int
    fences: int


class QuorumState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        records: Each voter's log, one after the other.
        role: Each voter's.
        epoch: The epoch that each knows.
        leader: The leader that each knows in it.
        voted_for: The candidate that each has voted for in it.
        high_watermark: Each voter's.
        epoch_start: The log end offset of each leader before its first record, 0 of others.
        known_end: For each leader the log end offset of each voter, as it knows it.
        votes: For each epoch and voter 1 + the candidates that it has voted for, as a set: answers under way, which
            may arrive at any time or never.
        won: For each epoch those that ever led in it, as a set.
        committed: The record that was first committed at each offset, as in a log.
        foreign: 1 once a leader has committed no record of its own epoch.
        written: Records written besides those that leaders begin with.
        stops: Crashes that are left.
        fences: Whether a voter may still be cut off.
        cut_off: The voter that is cut off.
    """

    records: list[int]
    role: list[int]
    epoch: list[int]
    leader: list[int]
    voted_for: list[int]
    high_watermark: list[int]
    epoch_start: list[int]
    known_end: list[int]
    votes: list[int]
    won: list[int]
    committed: list[int]
    foreign: list[int]
    written: list[int]
    stops: list[int]
    fences: list[int]
    cut_off: list[int]


def layout(bounds: QuorumBounds) -> Layout:
    """The fields of a state within bounds."""
    count, log, epochs = bounds.replicas, bounds.log, bounds.last_epoch
    everyone, voter = everybody(count), Field(count - 1, NO_LEADER, count)
    offset = Field(log, count=count)
    return Layout(
        QuorumState,
        {
            "records": Field(epochs, count=count * log),
            "role": Field(LEADS, count=count),
            "epoch": Field(epochs, count=count),
            "leader": voter,
            "voted_for": voter,
            "high_watermark": offset,
            "epoch_start": offset,
            "known_end": Field(log, UNKNOWN_END, count * count),
            "votes": Field(everyone, count=epochs * count),
            "won": Field(everyone, count=epochs),
            "committed": Field(epochs, count=log),
            "foreign": Field(1),
            "written": Field(bounds.records),
            "stops": Field(bounds.stops),
            "fences": Field(bounds.fences),
            "cut_off": Field(count - 1, NOBODY),
        },
    )


def initial(bounds: QuorumBounds) -> QuorumState:
    """Nobody leads, every log is empty."""
    count, log, epochs = bounds.replicas, bounds.log, bounds.last_epoch
    return QuorumState(
        records=[0] * (count * log),
        role=[FOLLOWS] * count,
        epoch=[0] * count,
        leader=[NO_LEADER] * count,
        voted_for=[NO_LEADER] * count,
        high_watermark=[0] * count,
        epoch_start=[0] * count,
        known_end=[UNKNOWN_END] * (count * count),
        votes=[0] * (epochs * count),
        won=[0] * epochs,
        committed=[0] * log,
        foreign=[0],
        written=[0],
        stops=[bounds.stops],
        fences=[bounds.fences],
        cut_off=[NOBODY],
    )


def log_end(state: QuorumState, voter: int) -> int:
    """The log end offset of a voter."""
    log, end = len(state.committed), 0
    while end < log and state.records[voter * log + end] != 0:
        end += 1
    return end


def record_at(state: QuorumState, voter: int, offset: int) -> int:
    """The record of a voter at an offset, which is its epoch; 0 behind the end of its log."""
    return state.records[voter * len(state.committed) + offset]


def last_epoch(state: QuorumState, voter: int) -> int:
    """The epoch of a voter's last record, 0 if it has none."""
    end = log_end(state, voter)
    return record_at(state, voter, end - 1) if end > 0 else 0


def cut(state: QuorumState, voter: int, end: int) -> None:
    """Drops a voter's records from an offset on."""
    log = len(state.committed)
    for offset in range(end, log):
        state.records[voter * log + offset] = 0


def connected(state: QuorumState, one: int, other: int) -> bool:
    """True if neither of two voters is cut off."""
    return state.cut_off[0] not in (one, other)


def follow(state: QuorumState, voter: int, leader: int, epoch: int) -> None:
    """Makes a voter a follower in an epoch, of nobody yet if its leader is not known; a later one forgets its vote."""
    if epoch > state.epoch[voter]:
        state.voted_for[voter] = NO_LEADER
    state.role[voter] = FOLLOWS
    state.epoch[voter] = epoch
    state.leader[voter] = leader
    state.epoch_start[voter] = 0
    forget_positions(state, voter)


def forget_positions(state: QuorumState, leader: int) -> None:
    """Makes a voter forget what it knows of the others' logs."""
    count = len(state.role)
    for peer in range(count):
        state.known_end[leader * count + peer] = UNKNOWN_END
