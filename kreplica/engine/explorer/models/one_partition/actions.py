"""Actions of the models of one partition. Each builder binds the bounds and the rules of one model."""

from __future__ import annotations

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.one_partition.rules import CANNOT_CUT, Cut, Rules
from kreplica.engine.explorer.models.one_partition.state import (
    Bounds,
    PartitionState,
    cut,
    leads,
    log_end,
    record_at,
)
from kreplica.engine.rules.replication.high_watermark import follower_high_watermark
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only, without


def actions(bounds: Bounds, rules: Rules) -> tuple[Action, ...]:
    """All actions of a model, in the order in which they are taken."""
    found = (
        _elects(bounds),
        _removes(bounds, rules),
        _becomes_leader(bounds),
        _expands_isr(bounds, rules),
        _shrinks_isr(bounds, rules),
        _writes(bounds),
        _raises_high_watermark(bounds, rules),
        _becomes_follower(bounds, rules),
        _fetches(bounds, rules),
    )
    return (*found, _cuts(bounds, rules.cuts_later)) if rules.cuts_later else found


# -- the controller


def decide(state: PartitionState, leader: int, isr: int) -> bool:
    """Writes a decision of the controller and sends it, in the next leader epoch; False if there is none left."""
    epoch = state.begun[0]
    if epoch == len(state.sent_isr):
        return False
    state.begun[0] = epoch + 1
    state.true_leader[0] = leader
    state.true_isr[0] = isr
    state.sent_leader[epoch] = leader
    state.sent_isr[epoch] = isr
    return True


def _elects(bounds: Bounds) -> Action:
    def take(state: PartitionState, replica: int) -> bool:
        if state.true_leader[0] == replica or not contains(state.true_isr[0], replica):
            return False
        return decide(state, replica, state.true_isr[0])

    return Action("elect-leader", take, (bounds.replicas,), "the controller elects broker {0}", (1,))


def _removes(bounds: Bounds, rules: Rules) -> Action:
    removed = rules.removed

    def take(state: PartitionState, replica: int) -> bool:
        leader, isr = state.true_leader[0], state.true_isr[0]
        new_leader, new_isr = removed(replica, leader, isr)
        if new_leader == leader and new_isr == isr:
            return False
        return decide(state, new_leader, new_isr)

    return Action("remove-from-isr", take, (bounds.replicas,), "the controller removes broker {0} from the ISR", (1,))


# -- leaders


def _becomes_leader(bounds: Bounds) -> Action:
    def take(state: PartitionState, epoch: int) -> bool:
        leader = state.sent_leader[epoch]
        if leader == NO_LEADER or epoch <= state.epoch[leader]:
            return False
        state.epoch[leader] = epoch
        state.leader[leader] = leader
        state.isr[leader] = state.sent_isr[epoch]
        return True

    return Action("become-leader", take, (bounds.epochs,), "the leader of epoch {0} hears that it leads", (0,))


def _writes(bounds: Bounds) -> Action:
    log, records, epochs = bounds.log, bounds.records, bounds.epochs

    def take(state: PartitionState, leader: int) -> bool:
        end = log_end(state, leader)
        if not leads(state, leader) or end == log or state.written[0] == records:
            return False
        state.records[leader * log + end] = 1 + state.written[0] * epochs + state.epoch[leader]
        state.written[0] += 1
        return True

    return Action("write", take, (bounds.replicas,), "a producer writes a record to broker {0}", (1,))


def _raises_high_watermark(bounds: Bounds, rules: Rules) -> Action:
    log, replicas, acknowledges = bounds.log, bounds.replicas, rules.acknowledges

    def take(state: PartitionState, leader: int) -> bool:
        high_watermark = state.high_watermark[leader]
        if not leads(state, leader) or high_watermark == log:
            return False
        for replica in range(replicas):
            if contains(state.isr[leader], replica) and not acknowledges(state, leader, replica, high_watermark + 1):
                return False
        state.high_watermark[leader] = high_watermark + 1
        return True

    return Action("raise-high-watermark", take, (bounds.replicas,), "broker {0} raises its high watermark", (1,))


def leads_truly(state: PartitionState, leader: int) -> bool:
    """True if a replica leads in the epoch of the controller's last decision: it alone may write the ISR."""
    return state.true_leader[0] == leader and leads(state, leader) and state.epoch[leader] == state.begun[0] - 1


def _shrinks_isr(bounds: Bounds, rules: Rules) -> Action:
    keeps_up = rules.keeps_up

    def take(state: PartitionState, leader: int, follower: int) -> bool:
        isr = state.isr[leader]
        if follower == leader or not contains(isr, follower) or not leads_truly(state, leader):
            return False
        if keeps_up(state, leader, follower, log_end(state, leader)):
            return False
        state.isr[leader] = state.true_isr[0] = without(isr, only(follower))
        return True

    pair = (bounds.replicas, bounds.replicas)
    return Action("shrink-isr", take, pair, "broker {0} removes broker {1} from the ISR", (1, 1))


def _expands_isr(bounds: Bounds, rules: Rules) -> Action:
    catches_up, admits = rules.catches_up, rules.admits

    def take(state: PartitionState, leader: int, follower: int) -> bool:
        isr = state.isr[leader]
        if contains(isr, follower) or not leads_truly(state, leader):
            return False
        if not catches_up(state, leader, follower, state.high_watermark[leader]) or not admits(state, leader):
            return False
        state.isr[leader] = state.true_isr[0] = isr | only(follower)
        return True

    pair = (bounds.replicas, bounds.replicas)
    return Action("expand-isr", take, pair, "broker {0} takes broker {1} into the ISR", (1, 1))


# -- followers


def _becomes_follower(bounds: Bounds, rules: Rules) -> Action:
    cuts_at = rules.cuts_at

    def take(state: PartitionState, follower: int, epoch: int) -> bool:
        leader = state.sent_leader[epoch]
        if leader in (NO_LEADER, follower) or epoch <= state.epoch[follower]:
            return False
        end = cuts_at(state, follower, leader, epoch)
        if end == CANNOT_CUT:
            return False
        cut(state, follower, end)
        state.epoch[follower] = epoch
        state.leader[follower] = leader
        state.isr[follower] = state.sent_isr[epoch]
        return True

    choices = (bounds.replicas, bounds.epochs)
    return Action("become-follower", take, choices, "broker {0} hears of epoch {1} and follows its leader", (1, 0))


def _fetches(bounds: Bounds, rules: Rules) -> Action:
    log, fetches = bounds.log, rules.fetches

    def take(state: PartitionState, follower: int) -> bool:
        leader = state.leader[follower]
        if leader in (NO_LEADER, follower) or not leads(state, leader):
            return False
        end = log_end(state, follower)
        if end >= log_end(state, leader) or not fetches(state, leader, follower, end):
            return False
        state.records[follower * log + end] = record_at(state, leader, end)
        state.high_watermark[follower] = follower_high_watermark(state.high_watermark[leader], 0, end + 1)
        return True

    return Action("fetch", take, (bounds.replicas,), "broker {0} fetches a record from its leader", (1,))


def _cuts(bounds: Bounds, cuts_at: Cut) -> Action:
    def take(state: PartitionState, follower: int) -> bool:
        leader = state.leader[follower]
        if leader in (NO_LEADER, follower) or not leads(state, leader):
            return False
        end = cuts_at(state, follower, leader, state.epoch[follower])
        if end == CANNOT_CUT:
            return False
        cut(state, follower, end)
        return True

    return Action("truncate", take, (bounds.replicas,), "broker {0} finds that it differs and cuts its log", (1,))
