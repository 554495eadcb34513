"""State of one partition of a KRaft cluster: controller, brokers, replicas, and the messages under way.

Brokers, offsets and metadata records count from 0; leader epochs, partition epochs, broker epochs and incarnations from
1, and 0 is none of them. A log holds one number an offset: 0 for nothing, otherwise ``1 + record * EPOCHS + epoch``.
"""

from __future__ import annotations

from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.explorer.models.kraft.messages import EPOCHS, MOST
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody, size

UNKNOWN = -1
"""An offset that is not known."""

STOPPED, CRASHED, STARTING, RUNNING = range(4)
"""Statuses of a broker."""

NO_ROLE, LEADS, FOLLOWS = range(3)
"""Roles of a replica, as its broker takes it."""


class KraftBounds(NamedTuple):
    """Limits within which a model is explored.

    Args:
        replicas: Brokers, each with a replica.
        records: Records that producers write.
        min_isr: min.insync.replicas.
        isr: Replicas in sync at the beginning, the leader among them; the others are fenced.
        fences: How often the controller fences a broker that runs.
        losses: How often a broker crashes and loses its log.
        stops: How often a broker stops without losing its log: cleanly, or not.
        shrinks: How often a leader takes others for too slow.
        messages: Messages under way at once.
    """

    replicas: int
    records: int
    min_isr: int
    isr: int
    fences: int
    losses: int
    stops: int
    shrinks: int
    messages: int

    @property
    def starts(self) -> int:
        """Number of times that brokers can start."""
        return self.losses + self.stops

    @property
    def decisions(self) -> int:
        """Room for records of the metadata log: faults, what removes and admits brokers after them, elections."""
        outside = self.replicas - self.isr
        removed = self.fences + self.starts + self.shrinks * (self.replicas - 1)
        return 1 + self.fences + 2 * self.starts + self.shrinks + removed + self.fences + 2 * outside


class KraftState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        unfenced: Brokers that the controller counts as active, as a set.
        registered_epoch, registered_incarnation: Each broker's, as the controller has them.
        decided: How many records the metadata log has.
        leader, leader_epoch, isr, elr, last_known_elr: The partition in each of them.
        status: Each broker's.
        broker_epoch, incarnation: As each broker knows its own; 0 while it is down.
        heard: How many records of the metadata log each broker has read.
        role: Each replica's.
        known_leader, known_epoch, known_isr, maximal_isr, partition_epoch: The partition as each broker knows it; the
            maximal ISR is what its leader counts with.
        records: Each replica's log, one after the other.
        high_watermark: Each replica's.
        epoch_start: Where the epoch of each leader began.
        peer_end, peer_epoch: Log end and broker epoch of each replica, as each broker has last heard by a fetch.
        asked: The request for an ISR that each leader waits for, 0 if none.
        fetches_from: The broker that each fetches from.
        fetch_offset, fetch_epoch, delayed: Where it goes on, the epoch of its last record, whether it waits a while.
        waits_for: The brokers that it waits for an answer of, as a set.
        first_own: The first offset that each leader has written and not given up.
        written: How many records have been written.
        acknowledged, refused: Those that producers were told to be committed, or not to be, as sets.
        committed: The largest high watermark that a leader ever had.
        consumed: The records below it.
        fences, losses, stops, shrinks: How often that happened.
        overflow: 1 once there was no room for a message or a decision.
        messages: Those under way, the largest number first; 0 for none.
    """

    unfenced: list[int]
    registered_epoch: list[int]
    registered_incarnation: list[int]
    decided: list[int]
    leader: list[int]
    leader_epoch: list[int]
    isr: list[int]
    elr: list[int]
    last_known_elr: list[int]
    status: list[int]
    broker_epoch: list[int]
    incarnation: list[int]
    heard: list[int]
    role: list[int]
    known_leader: list[int]
    known_epoch: list[int]
    known_isr: list[int]
    maximal_isr: list[int]
    partition_epoch: list[int]
    records: list[int]
    high_watermark: list[int]
    epoch_start: list[int]
    peer_end: list[int]
    peer_epoch: list[int]
    asked: list[int]
    fetches_from: list[int]
    fetch_offset: list[int]
    fetch_epoch: list[int]
    delayed: list[int]
    waits_for: list[int]
    first_own: list[int]
    written: list[int]
    acknowledged: list[int]
    refused: list[int]
    committed: list[int]
    consumed: list[int]
    fences: list[int]
    losses: list[int]
    stops: list[int]
    shrinks: list[int]
    overflow: list[int]
    messages: list[int]


def layout(bounds: KraftBounds) -> Layout:
    """The fields of a state within bounds."""
    count, log, decisions = bounds.replicas, bounds.records, bounds.decisions
    everyone, last = everybody(count), count - 1
    broker_epochs = count + bounds.starts
    partition_epochs = decisions + 1
    record = bounds.records * EPOCHS
    return Layout(
        KraftState,
        {
            "unfenced": Field(everyone),
            "registered_epoch": Field(broker_epochs, count=count),
            "registered_incarnation": Field(broker_epochs, count=count),
            "decided": Field(decisions),
            "leader": Field(last, NO_LEADER, decisions),
            "leader_epoch": Field(decisions, count=decisions),
            "isr": Field(everyone, count=decisions),
            "elr": Field(everyone, count=decisions),
            "last_known_elr": Field(everyone, count=decisions),
            "status": Field(RUNNING, count=count),
            "broker_epoch": Field(broker_epochs, count=count),
            "incarnation": Field(broker_epochs, count=count),
            "heard": Field(decisions, count=count),
            "role": Field(FOLLOWS, count=count),
            "known_leader": Field(last, NO_LEADER, count),
            "known_epoch": Field(decisions, count=count),
            "known_isr": Field(everyone, count=count),
            "maximal_isr": Field(everyone, count=count),
            "partition_epoch": Field(partition_epochs, count=count),
            "records": Field(record, count=count * log),
            "high_watermark": Field(log, count=count),
            "epoch_start": Field(log, UNKNOWN, count),
            "peer_end": Field(log, UNKNOWN, count * count),
            "peer_epoch": Field(broker_epochs, count=count * count),
            "asked": Field(MOST, count=count),
            "fetches_from": Field(last, NO_LEADER, count),
            "fetch_offset": Field(log, count=count),
            "fetch_epoch": Field(decisions, count=count),
            "delayed": Field(1, count=count),
            "waits_for": Field(everyone, count=count),
            "first_own": Field(log, UNKNOWN, count),
            "written": Field(log),
            "acknowledged": Field(everybody(log)),
            "refused": Field(everybody(log)),
            "committed": Field(log),
            "consumed": Field(record, count=log),
            "fences": Field(bounds.fences),
            "losses": Field(bounds.losses),
            "stops": Field(bounds.stops),
            "shrinks": Field(bounds.shrinks),
            "overflow": Field(0),
            "messages": Field(MOST, count=bounds.messages),
        },
    )


def initial(bounds: KraftBounds) -> KraftState:
    """Everybody runs, broker 1 leads; replicas outside the ISR have not heard of their removal yet."""
    count, decisions = bounds.replicas, bounds.decisions
    everyone, in_sync = everybody(count), everybody(bounds.isr)
    stale = bounds.isr < count
    of_isr = [broker < bounds.isr for broker in range(count)]
    numbers = list(range(1, count + 1))
    none = [0] * count
    later = [0] * (decisions - 1)
    return KraftState(
        unfenced=[in_sync],
        registered_epoch=list(numbers),
        registered_incarnation=list(numbers),
        decided=[1],
        leader=[0, *([NO_LEADER] * (decisions - 1))],
        leader_epoch=[1, *later],
        isr=[in_sync, *later],
        elr=[0, *later],
        last_known_elr=[0, *later],
        status=[RUNNING] * count,
        broker_epoch=list(numbers),
        incarnation=list(numbers),
        heard=[int(known) for known in of_isr],
        role=[LEADS, *([FOLLOWS] * (count - 1))],
        known_leader=list(none),
        known_epoch=[1] * count,
        known_isr=[in_sync if known else everyone for known in of_isr],
        maximal_isr=[in_sync if known else everyone for known in of_isr],
        partition_epoch=[1 + stale if known else 1 for known in of_isr],
        records=[0] * (count * bounds.records),
        high_watermark=list(none),
        epoch_start=[0, *([UNKNOWN] * (count - 1))],
        peer_end=[UNKNOWN] * (count * count),
        peer_epoch=[0] * (count * count),
        asked=list(none),
        fetches_from=[NO_LEADER, *([0] * (count - 1))],
        fetch_offset=list(none),
        fetch_epoch=list(none),
        delayed=list(none),
        waits_for=list(none),
        first_own=[UNKNOWN] * count,
        written=[0],
        acknowledged=[0],
        refused=[0],
        committed=[0],
        consumed=[0] * bounds.records,
        fences=[0],
        losses=[0],
        stops=[0],
        shrinks=[0],
        overflow=[0],
        messages=[0] * bounds.messages,
    )


# -- the controller's metadata log


def now(state: KraftState) -> int:
    """The last record of the metadata log."""
    return state.decided[0] - 1


def partition_epoch_of(state: KraftState, record: int) -> int:
    """The partition epoch of a record: each is one more than the one before."""
    outside = len(state.status) - size(state.isr[0])
    return record + 1 + (1 if outside > 0 else 0)


def decide(state: KraftState, leader: int, leader_epoch: int, isr: int, elr: int, last_known_elr: int) -> None:
    """Appends a record to the metadata log."""
    record = state.decided[0]
    if record == len(state.leader):
        state.overflow[0] = 1
        return
    state.decided[0] = record + 1
    state.leader[record] = leader
    state.leader_epoch[record] = leader_epoch
    state.isr[record] = isr
    state.elr[record] = elr
    state.last_known_elr[record] = last_known_elr


# -- logs


def log_end(state: KraftState, replica: int) -> int:
    """The log end offset of a replica."""
    log = len(state.consumed)
    end = 0
    while end < log and state.records[replica * log + end] != 0:
        end += 1
    return end


def record_at(state: KraftState, replica: int, offset: int) -> int:
    """The record of a replica at an offset of its log; 0 behind its end."""
    return state.records[replica * len(state.consumed) + offset]


def epoch_of(record: int) -> int:
    """The leader epoch of a record."""
    return (record - 1) % EPOCHS


def value_of(record: int) -> int:
    """The number of a record, the first that was written being 0."""
    return (record - 1) // EPOCHS


def last_epoch(state: KraftState, replica: int) -> int:
    """The leader epoch of a replica's last record, 0 if it has none."""
    end = log_end(state, replica)
    return epoch_of(record_at(state, replica, end - 1)) if end > 0 else 0


def cut(state: KraftState, replica: int, end: int) -> None:
    """Drops a replica's records from an offset on."""
    log = len(state.consumed)
    for offset in range(end, log):
        state.records[replica * log + offset] = 0


# -- messages under way


def send(state: KraftState, message: int) -> None:
    """Adds a message; one that is under way already stays one."""
    slots = len(state.messages)
    place = 0
    while place < slots and state.messages[place] > message:
        place += 1
    if place < slots and state.messages[place] == message:
        return
    if state.messages[slots - 1] != 0:
        state.overflow[0] = 1
        return
    for slot in range(slots - 1, place, -1):
        state.messages[slot] = state.messages[slot - 1]
    state.messages[place] = message


def take_out(state: KraftState, slot: int) -> None:
    """Removes the message of a slot."""
    slots = len(state.messages)
    for each in range(slot, slots - 1):
        state.messages[each] = state.messages[each + 1]
    state.messages[slots - 1] = 0
