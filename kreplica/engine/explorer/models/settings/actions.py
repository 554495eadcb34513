"""Actions of the models of settings. Each builder binds the bounds; what a rule of the engine says, it is asked.

The controller decides at once. Brokers hear of its last decision at any time or never, and go on until then. A fetch
and its answer are one action, as are a leader's request for an ISR and the answer: what lies between them is explored
by ``async-isr`` and the models of a KRaft cluster.
"""

from __future__ import annotations

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.settings.state import (
    NO_EPOCH,
    SettingsBounds,
    SettingsState,
    append,
    begin_role,
    cut,
    forget_positions,
    leads,
    log_end,
)
from kreplica.engine.rules.controller.alter_partition import (
    expanded_isr,
    ineligible_replicas,
    kraft_alter_partition_error,
)
from kreplica.engine.rules.controller.controlled_shutdown import kraft_broker_stops
from kreplica.engine.rules.controller.elections import kraft_elect_preferred
from kreplica.engine.rules.controller.isr import kraft_change, kraft_isr_of_elected
from kreplica.engine.rules.controller.leader_epoch_bump import kraft_leader_epoch
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL, append_error, completion_error
from kreplica.engine.rules.replication.durability import (
    flushed_after_start,
    recovered_end_offset,
    recovery_point_after_start,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import leader_epoch_error
from kreplica.engine.rules.replication.follower_lag import is_caught_up, may_join_isr
from kreplica.engine.rules.replication.high_watermark import (
    effective_min_isr,
    high_watermark_stands_still,
    leader_high_watermark,
    replicas_that_hold_it,
)
from kreplica.engine.rules.replication.leader_and_isr import keeps_positions
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, everybody, only, without

NOBODY_CAUGHT_UP = 0
"""Replicas outside the ISR that hold the high watermark back: none, as time may have passed since they caught up."""


def actions(bounds: SettingsBounds) -> tuple[Action, ...]:
    """All actions of a model, in the order in which they are taken."""
    return (
        _writes(bounds),
        _fetches(bounds),
        _hears(bounds),
        _crashes(bounds),
        _loses_log(bounds),
        _loses_power(bounds),
        _all_lose_power(bounds),
        _is_cut_off(bounds),
        _is_too_slow(bounds),
        _expires(bounds),
        _starts(bounds),
        _assigns(bounds),
        _unfences(bounds),
        _elects_preferred(),
    )


# -- the controller


def min_isr_of(state: SettingsState) -> int:
    """The effective min.insync.replicas."""
    return effective_min_isr(state.min_isr[0], len(state.leader))


def settle(state: SettingsState, changed: tuple[int, int, int, int]) -> None:
    """Writes leader, ISR, ELR and last-known ELR of the controller, and the leader epoch that goes with them."""
    leader, isr, elr, last_known_elr = changed
    everyone = everybody(len(state.leader))
    other = leader != state.true_leader[0]
    state.true_epoch[0] = kraft_leader_epoch(
        state.true_epoch[0], other, state.true_isr[0], isr, everyone, everyone, False
    )
    state.true_leader[0] = leader
    state.true_isr[0] = isr
    state.elr[0] = elr
    state.last_known_elr[0] = last_known_elr


def change_isr(state: SettingsState, isr: int) -> None:
    """Makes the ISR another, and elects if nobody leads."""
    decide(state, isr, state.elr_enabled[0] == 1, state.unclean[0] == 1)


def decide(state: SettingsState, isr: int, elr_enabled: bool, unclean_enabled: bool) -> None:
    """Has the controller look at the partition, and elect if nobody leads.

    Args:
        state: Is changed.
        isr: The ISR from now on.
        elr_enabled: Whether there are eligible leader replicas.
        unclean_enabled: Whether a replica may be elected that is none of them, nor in the ISR.
    """
    settle(
        state,
        kraft_change(
            state.true_leader[0],
            state.true_isr[0],
            state.elr[0],
            state.last_known_elr[0],
            isr,
            state.active[0],
            min_isr_of(state),
            elr_enabled,
            unclean_enabled,
            0,
        ),
    )


def broker_leaves(state: SettingsState, replica: int, unclean_shutdown: bool) -> None:
    """Takes a broker out of the ISR that was fenced, or comes back from an unclean shutdown."""
    settle(
        state,
        kraft_broker_stops(
            replica,
            state.true_leader[0],
            state.true_isr[0],
            state.elr[0],
            state.last_known_elr[0],
            state.active[0],
            min_isr_of(state),
            state.elr_enabled[0] == 1,
            state.unclean[0] == 1,
            unclean_shutdown,
        ),
    )


def asks_for_isr(state: SettingsState, leader: int, isr: int) -> bool:
    """Has a leader ask for an ISR and hear the answer; False if it is refused.

    A leader that has not heard of the last decision sends an old partition epoch. The ISR stands for that epoch: it
    comes back to what it was only by way of a request of the leader's.
    """
    everyone = everybody(len(state.leader))
    partition_epoch = 1
    sent_partition_epoch = 1 if state.isr[leader] == state.true_isr[0] else 0
    error = kraft_alter_partition_error(
        state.true_leader[0],
        state.true_epoch[0],
        partition_epoch,
        everyone,
        False,
        leader,
        state.epoch[leader],
        sent_partition_epoch,
        isr,
        False,
        ineligible_replicas(isr, everyone, without(everyone, state.active[0]), 0, 0),
    )
    if error != ErrorCode.NONE:
        return False
    change_isr(state, isr)
    state.isr[leader] = state.true_isr[0]
    raise_high_watermark(state, leader)
    return True


# -- leaders


def raise_high_watermark(state: SettingsState, leader: int) -> None:
    """Moves a leader's high watermark as far as it may, and acknowledges what it has written itself and passes."""
    count, min_isr, log = len(state.leader), min_isr_of(state), len(state.written_in)
    isr, before = state.isr[leader], state.high_watermark[leader]
    if high_watermark_stands_still(isr, min_isr):
        return
    ends = [state.known_end[leader * count + peer] for peer in range(count)]
    ends[leader] = log_end(state, leader)
    holding = replicas_that_hold_it(everybody(count), leader, isr, NOBODY_CAUGHT_UP, state.active[0])
    after = leader_high_watermark(before, ends, holding)
    state.high_watermark[leader] = after
    if state.acks_all[0] == 0 or completion_error(isr, min_isr) != ErrorCode.NONE:
        return
    for offset in range(max(before, state.led_from[leader]), after):
        state.acknowledged[0] |= only(state.records[leader * log + offset] - 1)


def _writes(bounds: SettingsBounds) -> Action:
    records = bounds.records

    def take(state: SettingsState, leader: int) -> bool:
        acks = ACKS_ALL if state.acks_all[0] == 1 else 1
        new = 0
        while new < records and state.written_in[new] >= 0:
            new += 1
        if not leads(state, leader) or new == records:
            return False
        if append_error(acks, state.isr[leader], min_isr_of(state)) != ErrorCode.NONE:
            return False
        append(state, leader, 1 + new)
        state.written_in[new] = state.epoch[leader]
        if acks != ACKS_ALL:
            state.acknowledged[0] |= only(new)
        raise_high_watermark(state, leader)
        return True

    return Action("write", take, (bounds.replicas,), "a producer writes a record to broker {0}", (1,))


def agreed_end(state: SettingsState, follower: int, leader: int) -> int:
    """The offset behind the last record that both logs have: ``log_truncation.truncate_by_leader_epoch``."""
    log = len(state.written_in)
    end = 0
    while end < log and state.records[follower * log + end] != 0:
        if state.records[follower * log + end] != state.records[leader * log + end]:
            return end
        end += 1
    return end


def _fetches(bounds: SettingsBounds) -> Action:
    count, records = bounds.replicas, bounds.records

    def take(state: SettingsState, follower: int) -> bool:
        leader, end = state.leader[follower], log_end(state, follower)
        if not contains(state.running[0], follower) or leader in (NO_LEADER, follower) or not leads(state, leader):
            return False
        if leader_epoch_error(state.epoch[follower], state.epoch[leader]) != ErrorCode.NONE:
            return False
        agreed = agreed_end(state, follower, leader)
        if agreed < end:
            cut(state, follower, agreed)
            return True
        place = leader * count + follower
        known, isr = state.known_end[place], state.isr[leader]
        state.known_end[place] = end
        joined = False
        high_watermark, start = state.high_watermark[leader], state.epoch_start[leader]
        if may_join_isr(follower, isr, state.active[0], end, high_watermark, start, True):
            joined = asks_for_isr(state, leader, expanded_isr(isr, follower))
        raise_high_watermark(state, leader)
        at = leader * records + end
        if end < records and state.records[at] != 0:
            append(state, follower, state.records[at])
            return True
        return known != end or joined

    return Action("fetch", take, (count,), "broker {0} fetches", (1,))


def leads_on(state: SettingsState, leader: int, epoch: int) -> None:
    """Begins another epoch of a leader that has heard of no other in between."""
    if not keeps_positions(epoch, state.epoch[leader], state.positions_outlive_leaders[0] == 1):
        forget_positions(state, leader)
    state.epoch[leader] = epoch
    state.epoch_start[leader] = log_end(state, leader)


def _hears(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        if not contains(state.running[0], replica):
            return False
        leader, epoch = state.true_leader[0], state.true_epoch[0]
        begins = epoch != state.epoch[replica]
        if not begins and (leader != replica or state.isr[replica] == state.true_isr[0]):
            return False
        if begins and leader == replica and leads(state, replica):
            leads_on(state, replica, epoch)
        elif begins:
            begin_role(state, replica, leader, epoch)
        if leader == replica:
            state.isr[replica] = state.true_isr[0]
            raise_high_watermark(state, replica)
        return True

    return Action("hear", take, (bounds.replicas,), "broker {0} hears of the controller's decision", (1,))


# -- faults


def is_left(state: SettingsState, kind: list[int]) -> bool:
    """True if a fault is left, and one of its kind."""
    return state.faults[0] > 0 and kind[0] > 0


def spend(state: SettingsState, kind: list[int]) -> None:
    """Takes a fault from those that are left. Of no kind are more left than of all: those could not be told apart."""
    kind[0] -= 1
    state.faults[0] -= 1
    left = state.faults[0]
    state.losses[0] = min(state.losses[0], left)
    state.stops[0] = min(state.stops[0], left)
    state.cut_offs[0] = min(state.cut_offs[0], left)
    state.power_losses[0] = min(state.power_losses[0], left)
    state.power_losses_of_all[0] = min(state.power_losses_of_all[0], left)


def goes_down(state: SettingsState, replica: int, kind: list[int]) -> bool:
    """Ends a broker's process by a kind of fault; False if it does not run, or no such fault is left."""
    if not is_left(state, kind) or not contains(state.running[0], replica):
        return False
    spend(state, kind)
    ends(state, replica)
    return True


def ends(state: SettingsState, replica: int) -> None:
    """Ends a broker's process; what it has written stays in the page cache."""
    state.running[0] = without(state.running[0], only(replica))
    begin_role(state, replica, NO_LEADER, NO_EPOCH)


def _crashes(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        return goes_down(state, replica, state.stops)

    return Action("crash", take, (bounds.replicas,), "broker {0} crashes and keeps its log", (1,))


def _loses_log(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        if not goes_down(state, replica, state.losses):
            return False
        cut(state, replica, 0)
        if elr_is_taken_away(state):
            state.unassigned[0] |= only(replica)
        return True

    return Action("lose-log", take, (bounds.replicas,), "broker {0} crashes and loses its log", (1,))


def loses_page_cache(state: SettingsState, replica: int, kept: int) -> None:
    """Takes what was not flushed from a machine without power, but for as many records as reached the disk by then."""
    end, flushed = log_end(state, replica), state.flushed[replica]
    cut(state, replica, recovered_end_offset(end, flushed, True, kept))
    state.flushed[replica] = flushed_after_start(log_end(state, replica), flushed, True)


def unflushed(state: SettingsState, replica: int) -> int:
    """Count of the records of a replica that are in the page cache alone, as far as its broker knows."""
    return log_end(state, replica) - state.flushed[replica]


def _loses_power(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int, kept: int) -> bool:
        if kept > unflushed(state, replica) or not goes_down(state, replica, state.power_losses):
            return False
        loses_page_cache(state, replica, kept)
        return True

    sentence = "the machine of broker {0} loses power; of what was not flushed its disk has {1}"
    return Action("lose-power", take, (bounds.replicas, bounds.records + 1), sentence, (1, 0))


def kept_of(kept: int, replica: int, records: int) -> int:
    """Count of the records that one replica keeps, of a number that has a digit for each."""
    digit: int = kept // (records + 1) ** replica % (records + 1)
    return digit


def _all_lose_power(bounds: SettingsBounds) -> Action:
    count, records = bounds.replicas, bounds.records

    def take(state: SettingsState, kept: int) -> bool:
        if not is_left(state, state.power_losses_of_all):
            return False
        for replica in range(count):
            if kept_of(kept, replica, records) > unflushed(state, replica):
                return False
        spend(state, state.power_losses_of_all)
        for replica in range(count):
            # also of a process that was killed before: its machine ran on
            loses_page_cache(state, replica, kept_of(kept, replica, records))
            ends(state, replica)
        return True

    return Action("all-lose-power", take, ((records + 1) ** count,), "all machines lose power", (0,))


def is_fenced(state: SettingsState, replica: int) -> None:
    """Has the controller fence a broker."""
    state.active[0] = without(state.active[0], only(replica))
    broker_leaves(state, replica, False)


def _is_cut_off(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        runs = contains(state.running[0], replica) and contains(state.active[0], replica)
        if not runs or not is_left(state, state.cut_offs):
            return False
        spend(state, state.cut_offs)
        is_fenced(state, replica)
        return True

    return Action("cut-off", take, (bounds.replicas,), "broker {0} runs on, but its session expires: fenced", (1,))


def _is_too_slow(bounds: SettingsBounds) -> Action:
    count = bounds.replicas

    def take(state: SettingsState, leader: int, replica: int) -> bool:
        isr = state.isr[leader]
        if leader == replica or not leads(state, leader) or not contains(isr, replica):
            return False
        # it last fetched longer ago than replica.lag.time.max.ms, which does not matter while it has everything
        if is_caught_up(state.known_end[leader * count + replica], log_end(state, leader), 0, 1, 0, True):
            return False
        runs = contains(state.running[0], replica)
        if runs and not is_left(state, state.cut_offs):
            return False
        if not asks_for_isr(state, leader, without(isr, only(replica))):
            return False
        if runs:
            spend(state, state.cut_offs)
        return True

    sentence = "broker {0} takes broker {1} out of the ISR: it does not keep up"
    return Action("shrink-isr", take, (bounds.replicas, bounds.replicas), sentence, (1, 1))


# -- what follows from faults


def _expires(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        if contains(state.running[0], replica) or not contains(state.active[0], replica):
            return False
        is_fenced(state, replica)
        return True

    return Action("expire", take, (bounds.replicas,), "the session of broker {0} expires: fenced", (1,))


def recovers(state: SettingsState, replica: int) -> None:
    """Has a broker read its log again. Nothing of it is below the recovery point that was lost with a machine."""
    end, point, rule = log_end(state, replica), state.recovery_point[replica], state.recovered_point[0]
    state.recovery_point[replica] = recovery_point_after_start(end, point, False, rule)


def _starts(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        # until its last session is over a registration is refused: broker_registration.registration_refused
        if contains(state.running[0], replica) or contains(state.active[0], replica):
            return False
        state.running[0] |= only(replica)
        if state.elr_enabled[0] == 1:
            broker_leaves(state, replica, True)
        recovers(state, replica)
        begin_role(state, replica, state.true_leader[0], state.true_epoch[0])
        return True

    return Action("start", take, (bounds.replicas,), "broker {0} starts, is registered and knows all decisions", (1,))


def elr_is_taken_away(state: SettingsState) -> bool:
    """True if a broker that tells a log directory takes the ELR away. Where not, that changes nothing: it just starts.

    Nobody can be elected then who could not before, as the broker is not active yet.
    """
    return state.elr_enabled[0] == 1 and state.assigned_keep_elr[0] == 0


def directory_assigned(state: SettingsState, replica: int) -> None:
    """Has the controller look at the partition as a broker tells it the new log directory of its replica.

    ReplicationControlManager.handleAssignReplicasToDirs, as the simulator's ``decisions.directory_assigned``: it elects
    nobody uncleanly, and up to 4.2 decides as if there were no ELR, which is empty from then on. A broker that is
    unfenced before has a replica that is not elected until the controller looks at it again: as if it were unfenced
    then.
    """
    decide(state, state.true_isr[0], state.elr_enabled[0] == 1 and state.assigned_keep_elr[0] == 1, False)
    state.unassigned[0] = without(state.unassigned[0], only(replica))


def _assigns(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        if not contains(state.running[0], replica) or not contains(state.unassigned[0], replica):
            return False
        directory_assigned(state, replica)
        return True

    sentence = "broker {0} tells the controller the log directory on its new disk"
    return Action("assign-directory", take, (bounds.replicas,), sentence, (1,))


def _unfences(bounds: SettingsBounds) -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        if not contains(state.running[0], replica) or contains(state.active[0] | state.unassigned[0], replica):
            return False
        state.active[0] |= only(replica)
        if state.true_leader[0] == NO_LEADER:
            change_isr(state, state.true_isr[0])
        return True

    return Action("unfence", take, (bounds.replicas,), "broker {0} is active again", (1,))


def _elects_preferred() -> Action:
    def take(state: SettingsState, replica: int) -> bool:
        leader, isr, elr = state.true_leader[0], state.true_isr[0], state.elr[0]
        elected, _ = kraft_elect_preferred(
            leader, isr, elr, state.last_known_elr[0], state.active[0], state.elr_enabled[0] == 1
        )
        if leader in (NO_LEADER, elected) or elected != replica:
            return False
        isr, elr = kraft_isr_of_elected(elected, isr, elr)
        settle(state, (elected, isr, elr, state.last_known_elr[0]))
        return True

    return Action("elect-preferred", take, (1,), "the controller elects broker {0}, the preferred leader", (1,))
