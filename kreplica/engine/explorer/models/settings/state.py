"""State of one partition of a KRaft cluster: the controller's decision, each replica's log and view, faults left.

Replicas, leader epochs and offsets count from 0. A log holds one number an offset: 0 for nothing, otherwise 1 + the
record. Settings are part of the state, though none ever changes: one compiled search serves all of them.
"""

from __future__ import annotations

from typing import NamedTuple

from kreplica.engine.explorer.layout import Field, Layout
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.durability import RecoveryPoint, flush_is_due
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody
from kreplica.engine.versions.version import NEVER, Version

NOT_WRITTEN = -1
UNKNOWN_END = -1
NO_EPOCH = -1
MOST_REPLICAS = 4
MOST_RECORDS = 3
MOST_FAULTS = 5
EPOCHS_A_FAULT = 4
"""Leader epochs that a fault brings at most: nobody leads, another does, one comes back, the preferred leads again."""
MOST_EPOCH = 30
"""The largest leader epoch that there is room for."""
ANY_LEADER = 0


class SettingsBounds(NamedTuple):
    """Settings, and the limits within which they are explored.

    Args:
        replicas: Replicas of the partition.
        records: Records that producers write.
        acks: 1 or ``ACKS_ALL``, of every producer.
        min_isr: min.insync.replicas.
        unclean: unclean.leader.election.enable.
        faults: Faults, of any kind.
        losses: The faults among them by which a broker may crash and lose its log.
        stops: The faults among them by which a broker may crash and keep it.
        first_leader: The broker that leads at first, counted from 1, which is the preferred one; ``ANY_LEADER``.
        cut_offs: The faults among them by which a broker that runs may be fenced, or leave the ISR as it does not keep
            up; as many as there are, if this is more.
        power_losses: The faults among them by which the machine of a broker may lose power.
        power_losses_of_all: The faults among them by which all machines may, at once.
        flush_messages: flush.messages.
    """

    replicas: int
    records: int
    acks: int
    min_isr: int
    unclean: bool
    faults: int
    losses: int
    stops: int
    first_leader: int = ANY_LEADER
    cut_offs: int = MOST_FAULTS
    power_losses: int = 0
    power_losses_of_all: int = 0
    flush_messages: int = NEVER

    @property
    def last_epoch(self) -> int:
        """The largest leader epoch that so many faults lead to: one more if another than the preferred leads first."""
        return 1 + self.faults * EPOCHS_A_FAULT + self.power_losses_of_all * self.replicas


class SettingsState(NamedTuple):
    """Numbers of a state, each field a list.

    Args:
        records: Each replica's log, one after the other.
        written_in: The leader epoch in which each record was written.
        acknowledged: Records that were acknowledged, as a set.
        running: Replicas whose broker runs, as a set.
        active: Replicas whose broker the controller has not fenced, as a set.
        unassigned: Replicas on a new disk, in a log directory that their broker has not told the controller yet, as a
            set (KIP-858); empty where that takes no ELR away.
        true_leader, true_epoch, true_isr, elr, last_known_elr: The controller's decision.
        leader: The leader that each replica knows.
        epoch: Its epoch.
        high_watermark: Of each leader, 0 of others: no rule asks for a follower's.
        epoch_start: The log end offset of each leader at the beginning of its epoch, 0 of others.
        led_from: The same of the first epoch since which it has led on, as far as it knows: producers of what it has
            appended since wait for the high watermark.
        isr: The ISR as each leader knows it, empty of others.
        known_end: For each leader the log end offset of each replica, as it knows it.
        flushed: The offset up to which each replica's log is on the disk whatever happens; what follows is in the page
            cache.
        recovery_point: The offset up to which its broker takes it for flushed.
        faults, losses, stops, cut_offs, power_losses, power_losses_of_all: Those that are left.
        acks_all, min_isr, unclean, flush_messages: The settings.
        elr_enabled, assigned_keep_elr, positions_outlive_leaders, recovered_point: What the release does.
    """

    records: list[int]
    written_in: list[int]
    acknowledged: list[int]
    running: list[int]
    active: list[int]
    unassigned: list[int]
    true_leader: list[int]
    true_epoch: list[int]
    true_isr: list[int]
    elr: list[int]
    last_known_elr: list[int]
    leader: list[int]
    epoch: list[int]
    high_watermark: list[int]
    epoch_start: list[int]
    led_from: list[int]
    isr: list[int]
    known_end: list[int]
    flushed: list[int]
    recovery_point: list[int]
    faults: list[int]
    losses: list[int]
    stops: list[int]
    cut_offs: list[int]
    power_losses: list[int]
    power_losses_of_all: list[int]
    acks_all: list[int]
    min_isr: list[int]
    unclean: list[int]
    flush_messages: list[int]
    elr_enabled: list[int]
    assigned_keep_elr: list[int]
    positions_outlive_leaders: list[int]
    recovered_point: list[int]


def layout(bounds: SettingsBounds) -> Layout:
    """The fields of a state within bounds; settings and faults need the same room whatever they are.

    In this order three replicas with one record take two words, and no bit of them is left.
    """
    count, records = bounds.replicas, bounds.records
    some, leader = Field(everybody(count)), Field(count - 1, NO_LEADER)
    flag = Field(1)
    return Layout(
        SettingsState,
        {
            "records": Field(records, count=count * records),
            "written_in": Field(MOST_EPOCH, NOT_WRITTEN, records),
            "acknowledged": Field(everybody(records)),
            "running": some,
            "active": some,
            "unassigned": some,
            "true_leader": leader,
            "true_epoch": Field(MOST_EPOCH),
            "true_isr": some,
            "elr": some,
            "last_known_elr": some,
            "leader": Field(count - 1, NO_LEADER, count),
            "epoch": Field(MOST_EPOCH, NO_EPOCH, count),
            "high_watermark": Field(records, count=count),
            "epoch_start": Field(records, count=count),
            "led_from": Field(records, count=count),
            "isr": Field(everybody(count), count=count),
            "known_end": Field(records, UNKNOWN_END, count * count),
            "flushed": Field(records, count=count),
            "recovery_point": Field(records, count=count),
            "faults": Field(MOST_FAULTS),
            "losses": Field(MOST_FAULTS),
            "stops": Field(MOST_FAULTS),
            "cut_offs": Field(MOST_FAULTS),
            "power_losses": Field(MOST_FAULTS),
            "power_losses_of_all": Field(MOST_FAULTS),
            "acks_all": flag,
            "min_isr": Field(MOST_REPLICAS, 1),
            "unclean": flag,
            "flush_messages": Field(MOST_RECORDS + 1, 1),
            "elr_enabled": flag,
            "assigned_keep_elr": flag,
            "positions_outlive_leaders": flag,
            "recovered_point": Field(max(RecoveryPoint)),
        },
    )


def initial(bounds: SettingsBounds, version: Version, leader: int) -> SettingsState:
    """The state in which a replica leads, everybody is in sync and knows it."""
    count, everyone = bounds.replicas, everybody(bounds.replicas)
    return SettingsState(
        records=[0] * (count * bounds.records),
        written_in=[NOT_WRITTEN] * bounds.records,
        acknowledged=[0],
        running=[everyone],
        active=[everyone],
        unassigned=[0],
        true_leader=[leader],
        true_epoch=[0],
        true_isr=[everyone],
        elr=[0],
        last_known_elr=[0],
        leader=[leader] * count,
        epoch=[0] * count,
        high_watermark=[0] * count,
        epoch_start=[0] * count,
        led_from=[0] * count,
        isr=[everyone if replica == leader else 0 for replica in range(count)],
        known_end=[UNKNOWN_END] * (count * count),
        flushed=[0] * count,
        recovery_point=[0] * count,
        faults=[bounds.faults],
        losses=[bounds.losses],
        stops=[bounds.stops],
        cut_offs=[min(bounds.cut_offs, bounds.faults)],
        power_losses=[bounds.power_losses],
        power_losses_of_all=[bounds.power_losses_of_all],
        acks_all=[int(bounds.acks == ACKS_ALL)],
        min_isr=[bounds.min_isr],
        unclean=[int(bounds.unclean)],
        flush_messages=[min(bounds.flush_messages, MOST_RECORDS + 1)],
        elr_enabled=[int(version.elr)],
        assigned_keep_elr=[int(version.assigned_keep_elr)],
        positions_outlive_leaders=[int(version.positions_outlive_leaders)],
        recovered_point=[int(version.recovered_point)],
    )


def log_end(state: SettingsState, replica: int) -> int:
    """The log end offset of a replica."""
    log = len(state.written_in)
    end = 0
    while end < log and state.records[replica * log + end] != 0:
        end += 1
    return end


def cut(state: SettingsState, replica: int, end: int) -> None:
    """Drops a replica's records from an offset on."""
    log = len(state.written_in)
    for offset in range(end, log):
        state.records[replica * log + offset] = 0
    state.flushed[replica] = min(state.flushed[replica], end)
    state.recovery_point[replica] = min(state.recovery_point[replica], end)


def append(state: SettingsState, replica: int, record: int) -> None:
    """Appends a record to a replica's log, and flushes it if flush.messages asks for it."""
    end = log_end(state, replica)
    state.records[replica * len(state.written_in) + end] = record
    if flush_is_due(end + 1, state.recovery_point[replica], state.flush_messages[0]):
        state.flushed[replica] = end + 1
        state.recovery_point[replica] = end + 1


def leads(state: SettingsState, replica: int) -> bool:
    """True if a replica runs and takes itself for the leader."""
    return (state.running[0] >> replica) & 1 == 1 and state.leader[replica] == replica


def begin_role(state: SettingsState, replica: int, leader: int, epoch: int) -> None:
    """Makes a replica lead or follow in an epoch, or neither; a leader knows nothing of its followers at first."""
    state.leader[replica] = leader
    state.epoch[replica] = epoch
    state.isr[replica] = 0
    state.high_watermark[replica] = 0
    start = log_end(state, replica) if leader == replica else 0
    state.epoch_start[replica] = start
    state.led_from[replica] = start
    forget_positions(state, replica)


def forget_positions(state: SettingsState, leader: int) -> None:
    """Makes a leader forget what it knows of the other replicas' logs."""
    count = len(state.leader)
    for peer in range(count):
        state.known_end[leader * count + peer] = UNKNOWN_END
