"""State of one partition: logs and views of its replicas, what the controller has decided and sent.

Replicas, leader epochs and offsets count from 0. A log holds one number an offset: 0 for nothing, otherwise
``1 + record * epochs + epoch`` of a record that is unlike every other.
"""

from __future__ import annotations

from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.symmetry import Symmetry
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody

NO_EPOCH = -1
"""The leader epoch before the first."""


class Bounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        replicas: Replicas of the partition.
        log: Offsets of a log.
        records: Records that producers write.
        last_epoch: The largest leader epoch, counted from 0.
    """

    replicas: int
    log: int
    records: int
    last_epoch: int

    @property
    def epochs(self) -> int:
        """Count of the leader epochs."""
        return self.last_epoch + 1


class PartitionState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        records: Each replica's log, one after the other.
        high_watermark: Each replica's.
        epoch: The leader epoch that each replica knows.
        leader: The leader that each replica knows.
        isr: The ISR that each replica knows, as a set.
        written: How many records have been written.
        begun: How many leader epochs have begun.
        true_leader: The leader that the controller has decided on.
        true_isr: The ISR, as the controller and the leader that it knows have last written it.
        sent_leader: The leader in the request of each epoch.
        sent_isr: The ISR in it.
    """

    records: list[int]
    high_watermark: list[int]
    epoch: list[int]
    leader: list[int]
    isr: list[int]
    written: list[int]
    begun: list[int]
    true_leader: list[int]
    true_isr: list[int]
    sent_leader: list[int]
    sent_isr: list[int]


def layout(bounds: Bounds) -> Layout:
    """The fields of a state within bounds."""
    replicas, everyone, leaders = bounds.replicas, everybody(bounds.replicas), bounds.replicas - 1
    return Layout(
        PartitionState,
        {
            "records": Field(bounds.records * bounds.epochs, count=replicas * bounds.log),
            "high_watermark": Field(bounds.log, count=replicas),
            "epoch": Field(bounds.last_epoch, NO_EPOCH, replicas),
            "leader": Field(leaders, NO_LEADER, replicas),
            "isr": Field(everyone, count=replicas),
            "written": Field(bounds.records),
            "begun": Field(bounds.epochs),
            "true_leader": Field(leaders, NO_LEADER),
            "true_isr": Field(everyone),
            "sent_leader": Field(leaders, NO_LEADER, bounds.epochs),
            "sent_isr": Field(everyone, count=bounds.epochs),
        },
    )


def symmetry(bounds: Bounds) -> Symmetry:
    """The replicas, which are all alike at first."""
    return Symmetry(
        bounds.replicas,
        each=("records", "high_watermark", "epoch", "leader", "isr"),
        leaders=("leader", "true_leader", "sent_leader"),
        sets=("isr", "true_isr", "sent_isr"),
    )


def initial(bounds: Bounds) -> PartitionState:
    """The state in which nothing has been decided: everybody is in sync, nobody leads."""
    replicas = bounds.replicas
    return PartitionState(
        records=[0] * (replicas * bounds.log),
        high_watermark=[0] * replicas,
        epoch=[NO_EPOCH] * replicas,
        leader=[NO_LEADER] * replicas,
        isr=[0] * replicas,
        written=[0],
        begun=[0],
        true_leader=[NO_LEADER],
        true_isr=[everybody(replicas)],
        sent_leader=[NO_LEADER] * bounds.epochs,
        sent_isr=[0] * bounds.epochs,
    )


def log_end(state: PartitionState, replica: int) -> int:
    """The log end offset of a replica."""
    log = len(state.records) // len(state.leader)
    end = 0
    while end < log and state.records[replica * log + end] != 0:
        end += 1
    return end


def record_at(state: PartitionState, replica: int, offset: int) -> int:
    """The record of a replica at an offset of its log; 0 behind its end."""
    return state.records[replica * (len(state.records) // len(state.leader)) + offset]


def epoch_at(state: PartitionState, replica: int, offset: int) -> int:
    """The leader epoch of the record of a replica at an offset; the log has one there."""
    return (record_at(state, replica, offset) - 1) % len(state.sent_isr)


def leads(state: PartitionState, replica: int) -> bool:
    """True if a replica takes itself for the leader."""
    return state.leader[replica] == replica


def cut(state: PartitionState, replica: int, end: int) -> None:
    """Drops a replica's records from an offset on, and lowers its high watermark to it."""
    log = len(state.records) // len(state.leader)
    for offset in range(end, log):
        state.records[replica * log + offset] = 0
    state.high_watermark[replica] = min(state.high_watermark[replica], end)
