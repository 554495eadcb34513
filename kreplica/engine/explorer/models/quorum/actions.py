"""Actions of the models of the quorum. Each builder binds the bounds and the rules of one model.

A request for a vote and the voter's decision are one action; the answer may arrive at any time or never. A fetch and
its answer are one action, unless the answer is lost. Candidates ask again for as long as they stand.
"""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.quorum.rules import QuorumRules
from kreplica.engine.explorer.models.quorum.state import (
    FOLLOWS,
    LEADS,
    NOBODY,
    STANDS,
    QuorumBounds,
    QuorumState,
    connected,
    cut,
    follow,
    last_epoch,
    log_end,
    record_at,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import diverges, leader_epoch_error
from kreplica.engine.rules.replication.high_watermark import follower_high_watermark
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, only

FAULTS = ("stand", "write", "fetch-unanswered", "crash", "cut-off")
"""Actions that do not go on by themselves; who stands without need is one."""

FETCH_TIMEOUT = 2
"""A timeout, and twice that has passed where no majority can fetch, nothing where one can: time is left out."""


def actions(bounds: QuorumBounds, rules: QuorumRules) -> tuple[Action, ...]:
    """All actions of a model, in the order in which they are taken."""
    return (
        _stands(bounds),
        _votes(bounds, rules),
        _wins(bounds, rules),
        _hears(bounds),
        _fetches(bounds, rules),
        _fetches_unanswered(bounds, rules),
        _writes(bounds),
        _resigns(bounds, rules),
        _crashes(bounds, rules),
        _is_cut_off(bounds),
    )


# -- elections


def _stands(bounds: QuorumBounds) -> Action:
    last, count = bounds.last_epoch, bounds.replicas

    def take(state: QuorumState, voter: int) -> bool:
        if state.role[voter] == LEADS or state.epoch[voter] == last:
            return False
        follow(state, voter, NO_LEADER, state.epoch[voter] + 1)
        state.role[voter] = STANDS
        state.voted_for[voter] = voter
        state.votes[(state.epoch[voter] - 1) * count + voter] |= only(voter)
        return True

    return Action("stand", take, (count,), "controller {0} stands for election in the next epoch", (1,))


def _votes(bounds: QuorumBounds, rules: QuorumRules) -> Action:
    count, grants, up_to_date = bounds.replicas, rules.grants, rules.up_to_date

    def take(state: QuorumState, voter: int, candidate: int) -> bool:
        if voter == candidate or state.role[candidate] != STANDS or not connected(state, voter, candidate):
            return False
        epoch = state.epoch[candidate]
        later = epoch > state.epoch[voter]
        good = up_to_date(
            last_epoch(state, candidate), log_end(state, candidate), last_epoch(state, voter), log_end(state, voter)
        )
        granted = grants(candidate, epoch, state.epoch[voter], state.voted_for[voter], state.leader[voter], good)
        if later:
            follow(state, voter, NO_LEADER, epoch)
        place = (epoch - 1) * count + voter
        known = contains(state.votes[place], candidate)
        if granted and not known:
            state.voted_for[voter] = candidate
            state.votes[place] |= only(candidate)
        return later or (granted and not known)

    sentence = "controller {0} is asked by controller {1} for its vote"
    return Action("vote", take, (count, count), sentence, (1, 1))


def _wins(bounds: QuorumBounds, rules: QuorumRules) -> Action:
    count, log, elects = bounds.replicas, bounds.log, rules.elects

    def take(state: QuorumState, candidate: int) -> bool:
        end, epoch = log_end(state, candidate), state.epoch[candidate]
        if state.role[candidate] != STANDS or end == log:
            return False
        votes = 0
        for voter in range(count):
            if contains(state.votes[(epoch - 1) * count + voter], candidate):
                votes += 1
        if not elects(count, votes):
            return False
        state.role[candidate] = LEADS
        state.leader[candidate] = candidate
        state.epoch_start[candidate] = end
        state.records[candidate * log + end] = epoch
        state.won[epoch - 1] |= only(candidate)
        return True

    return Action("win", take, (count,), "controller {0} has votes enough and leads", (1,))


def _hears(bounds: QuorumBounds) -> Action:
    def take(state: QuorumState, voter: int, leader: int) -> bool:
        epoch = state.epoch[leader]
        if voter == leader or state.role[leader] != LEADS or not connected(state, voter, leader):
            return False
        if epoch < state.epoch[voter] or (epoch == state.epoch[voter] and state.leader[voter] != NO_LEADER):
            return False
        follow(state, voter, leader, epoch)
        return True

    choices = (bounds.replicas, bounds.replicas)
    return Action("hear", take, choices, "controller {0} hears that controller {1} leads", (1, 1))


# -- the log


def raise_high_watermark(state: QuorumState, leader: int, rules_high_watermark: int) -> None:
    """Moves a leader's high watermark, and notes what it has committed that was not before."""
    if rules_high_watermark <= state.high_watermark[leader]:
        return
    state.high_watermark[leader] = rules_high_watermark
    if record_at(state, leader, rules_high_watermark - 1) != state.epoch[leader]:
        state.foreign[0] = 1
    for offset in range(rules_high_watermark):
        if state.committed[offset] == 0:
            state.committed[offset] = record_at(state, leader, offset)


def end_of_epoch(state: QuorumState, voter: int, epoch: int) -> tuple[int, int]:
    """The largest epoch in a log that is not above another, and where it ends: ``log_truncation.epoch_end_offset``.

    Of a log without one the epoch 0, which ends where the log begins.
    """
    end = log_end(state, voter)
    while end > 0 and record_at(state, voter, end - 1) > epoch:
        end -= 1
    return (record_at(state, voter, end - 1) if end > 0 else 0), end


def serves(state: QuorumState, voter: int) -> bool:
    """True if the leader that a voter knows would take its fetch."""
    leader = state.leader[voter]
    if leader in (NO_LEADER, voter) or state.role[leader] != LEADS or not connected(state, voter, leader):
        return False
    return leader_epoch_error(state.epoch[voter], state.epoch[leader]) == ErrorCode.NONE


def _taking_note(bounds: QuorumBounds, rules: QuorumRules) -> Callable[[QuorumState, int, int], bool]:
    """Builds what a leader does with a fetch: notes where the voter is, and commits; False if it knew."""
    count, high_watermark = bounds.replicas, rules.high_watermark

    def note(state: QuorumState, voter: int, end: int) -> bool:
        leader = state.leader[voter]
        place = leader * count + voter
        known = state.known_end[place]
        state.known_end[place] = end
        ends = [state.known_end[leader * count + peer] for peer in range(count)]
        ends[leader] = log_end(state, leader)
        committed = high_watermark(ends, state.epoch_start[leader], state.high_watermark[leader])
        raise_high_watermark(state, leader, committed)
        return known != end

    return note


def _fetches(bounds: QuorumBounds, rules: QuorumRules) -> Action:
    count, log, note = bounds.replicas, bounds.log, _taking_note(bounds, rules)

    def take(state: QuorumState, voter: int) -> bool:
        if not serves(state, voter):
            return False
        leader, end, last = state.leader[voter], log_end(state, voter), last_epoch(state, voter)
        epoch, epoch_end = end_of_epoch(state, leader, last)
        if diverges(last, end, epoch, epoch_end):
            own, own_end = end_of_epoch(state, voter, epoch)
            cut(state, voter, min(own_end, epoch_end) if own == epoch else own_end)
            return True
        changed, before = note(state, voter, end), state.high_watermark[voter]
        record = record_at(state, leader, end) if end < log else 0
        if record != 0:
            state.records[voter * log + end] = record
            end += 1
        state.high_watermark[voter] = max(before, follower_high_watermark(state.high_watermark[leader], 0, end))
        return changed or record != 0 or state.high_watermark[voter] != before

    return Action("fetch", take, (count,), "controller {0} fetches from the leader", (1,))


def _fetches_unanswered(bounds: QuorumBounds, rules: QuorumRules) -> Action:
    note = _taking_note(bounds, rules)

    def take(state: QuorumState, voter: int) -> bool:
        if not serves(state, voter):
            return False
        end, last = log_end(state, voter), last_epoch(state, voter)
        epoch, epoch_end = end_of_epoch(state, state.leader[voter], last)
        return not diverges(last, end, epoch, epoch_end) and note(state, voter, end)

    sentence = "controller {0} fetches from the leader, and the answer is lost"
    return Action("fetch-unanswered", take, (bounds.replicas,), sentence, (1,))


def _writes(bounds: QuorumBounds) -> Action:
    log, records = bounds.log, bounds.records

    def take(state: QuorumState, leader: int) -> bool:
        end = log_end(state, leader)
        if state.role[leader] != LEADS or end == log or state.written[0] == records:
            return False
        state.records[leader * log + end] = state.epoch[leader]
        state.written[0] += 1
        return True

    return Action("write", take, (bounds.replicas,), "controller {0} writes a record of metadata", (1,))


# -- faults, and what is done about them


def fetching(state: QuorumState, leader: int) -> int:
    """Count of the voters that can fetch from a leader, itself among them."""
    count = len(state.role)
    return 1 if state.cut_off[0] == leader else count - int(state.cut_off[0] != NOBODY)


def _resigns(bounds: QuorumBounds, rules: QuorumRules) -> Action:
    count, elects, resigns = bounds.replicas, rules.elects, rules.resigns

    def take(state: QuorumState, leader: int) -> bool:
        passed = 0 if elects(count, fetching(state, leader)) else 2 * FETCH_TIMEOUT
        if state.role[leader] != LEADS or not resigns(passed, FETCH_TIMEOUT):
            return False
        follow(state, leader, NO_LEADER, state.epoch[leader])
        return True

    return Action("resign", take, (count,), "controller {0} resigns: no majority fetches from it", (1,))


def _crashes(bounds: QuorumBounds, rules: QuorumRules) -> Action:
    keeps_vote = rules.keeps_vote

    def take(state: QuorumState, voter: int) -> bool:
        if state.stops[0] == 0:
            return False
        state.stops[0] -= 1
        role = state.role[voter]
        follow(state, voter, NO_LEADER if role == LEADS else state.leader[voter], state.epoch[voter])
        state.high_watermark[voter] = 0
        if keeps_vote:
            state.role[voter] = STANDS if role == STANDS else FOLLOWS
        else:
            state.voted_for[voter] = NO_LEADER
        return True

    return Action("crash", take, (bounds.replicas,), "controller {0} crashes and starts again with its log", (1,))


def _is_cut_off(bounds: QuorumBounds) -> Action:
    def take(state: QuorumState, voter: int) -> bool:
        if state.fences[0] == 0 or state.cut_off[0] != NOBODY:
            return False
        state.fences[0] -= 1
        state.cut_off[0] = voter
        return True

    return Action("cut-off", take, (bounds.replicas,), "controller {0} is cut off from the others", (1,))


# -- without further faults


def goes_on(bounds: QuorumBounds, rules: QuorumRules) -> tuple[Action, ...]:
    """Actions that go on without further faults: whoever can reach others stands if it cannot fetch from a leader."""
    kept = [each for each in actions(bounds, rules) if each.name not in FAULTS]
    stands = _stands(bounds)
    stand = stands.take

    def take(state: QuorumState, voter: int) -> bool:
        if state.cut_off[0] == voter:
            return False
        for peer in range(len(state.role)):
            heard = state.role[peer] == LEADS and state.epoch[peer] >= state.epoch[voter]
            if heard and connected(state, voter, peer):
                return False
        return bool(stand(state, voter))

    return (Action(stands.name, take, stands.choices, stands.sentence, stands.first), *kept)
