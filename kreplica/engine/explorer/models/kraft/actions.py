"""Actions of the models of a KRaft cluster. Each builder binds the bounds and the rules of one model."""

from __future__ import annotations

from collections.abc import Callable

from kreplica.engine.explorer.model import Action
from kreplica.engine.explorer.models.kraft.messages import (
    ANSWER_ISR,
    ASK_ISR,
    BROKER_EPOCH,
    DIVERGES,
    END,
    END_EPOCH,
    EPOCHS,
    ERROR,
    FETCH,
    FETCHED,
    HIGH_WATERMARK,
    INCARNATION,
    ISR,
    KIND,
    LAST_EPOCH,
    LEADER_EPOCH,
    METADATA_END,
    NO_ERROR,
    OFFSET,
    PARTITION_EPOCH,
    RECORD,
    REGISTER,
    REGISTERED,
    SOURCE,
    TARGET,
    answer_to,
    put,
    put_isr_epoch,
    read,
    request_of,
)
from kreplica.engine.explorer.models.kraft.rules import (
    NO_CHOICE,
    KraftRules,
    cut_after_answer,
    end_of_epoch,
    fetch_error,
    high_watermark_after,
    isr_error,
)
from kreplica.engine.explorer.models.kraft.state import (
    CRASHED,
    FOLLOWS,
    LEADS,
    NO_ROLE,
    RUNNING,
    STARTING,
    STOPPED,
    UNKNOWN,
    KraftBounds,
    KraftState,
    cut,
    last_epoch,
    log_end,
    now,
    partition_epoch_of,
    record_at,
    send,
    take_out,
    value_of,
)
from kreplica.engine.rules.controller.alter_partition import maximal_isr
from kreplica.engine.rules.replication.fetching import diverges
from kreplica.engine.rules.replication.follower_lag import may_join_isr
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, everybody, only, size, without

Rise = Callable[[KraftState, int, int, int, bool], None]
"""Moves a leader's high watermark: state, leader, ISR, maximal ISR, whether producers are told that it is committed."""


def actions(bounds: KraftBounds, rules: KraftRules) -> tuple[Action, ...]:
    """All actions of a model, in the order in which they are taken."""
    rises = _rising(bounds, rules)
    return (
        _starts(bounds, rules),
        _is_registered(bounds),
        _hears(bounds, rises),
        _asks_for_isr(bounds),
        _is_answered(bounds, rises),
        _fetches(bounds),
        _serves_fetch(bounds, rises),
        _takes_records(bounds),
        _writes(bounds, rules),
        _loses_log(bounds, rules),
        _stops(bounds, rules),
        _registers(bounds, rules),
        _changes_isr(bounds, rules),
        _fences(bounds, rules),
        _unfences(bounds, rules),
    )


# -- producers, and what they are told


def tell(state: KraftState, leader: int, first: int, end: int, committed: bool) -> None:
    """Tells producers of records that a leader has written itself, from one offset to before another."""
    own = state.first_own[leader]
    if own == UNKNOWN:
        return
    for offset in range(max(first, own), min(end, log_end(state, leader))):
        value = only(value_of(record_at(state, leader, offset)))
        if (state.acknowledged[0] | state.refused[0]) & value == 0:
            if committed:
                state.acknowledged[0] |= value
            else:
                state.refused[0] |= value


def raise_to(state: KraftState, leader: int, high_watermark: int) -> None:
    """Moves a leader's high watermark; consumers read what no leader had committed before."""
    state.high_watermark[leader] = high_watermark
    for offset in range(state.committed[0], high_watermark):
        state.consumed[offset] = record_at(state, leader, offset)
    state.committed[0] = max(state.committed[0], high_watermark)


def _rising(bounds: KraftBounds, rules: KraftRules) -> Rise:
    """Builds what moves a leader's high watermark once it knows of another ISR or position."""
    stands_still, min_isr = rules.stands_still, bounds.min_isr

    def rise(state: KraftState, leader: int, isr: int, maximal: int, acknowledges: bool) -> None:
        before = state.high_watermark[leader]
        after = high_watermark_after(state, leader, maximal)
        if after <= before or stands_still(isr, min_isr):
            return
        if acknowledges:
            tell(state, leader, before, after, True)
        else:
            tell(state, leader, before, log_end(state, leader), False)
        raise_to(state, leader, after)

    return rise


def _writes(bounds: KraftBounds, rules: KraftRules) -> Action:
    records, min_isr, log = bounds.records, bounds.min_isr, bounds.records
    stands_still = rules.stands_still

    def take(state: KraftState, leader: int) -> bool:
        if state.status[leader] != RUNNING or state.role[leader] != LEADS or state.written[0] == records:
            return False
        if size(state.maximal_isr[leader]) < min_isr:
            return False
        end = log_end(state, leader)
        state.records[leader * log + end] = 1 + state.written[0] * EPOCHS + state.known_epoch[leader]
        state.written[0] += 1
        if state.first_own[leader] == UNKNOWN:
            state.first_own[leader] = end
        # the published model looks for a high watermark only in a log that had a record before
        if end > 0 and not stands_still(state.known_isr[leader], min_isr):
            after = high_watermark_after(state, leader, state.maximal_isr[leader])
            if after > state.high_watermark[leader]:
                tell(state, leader, state.high_watermark[leader], after, True)
                raise_to(state, leader, after)
        return True

    return Action("write", take, (bounds.replicas,), "a producer writes a record to broker {0}", (1,))


# -- brokers that start


def _starts(bounds: KraftBounds, rules: KraftRules) -> Action:
    tells_losses = rules.tells_losses

    def take(state: KraftState, broker: int) -> bool:
        if state.status[broker] not in (STOPPED, CRASHED):
            return False
        count = len(state.status)
        down = 0
        for each in range(count):
            if state.status[each] in (STOPPED, CRASHED):
                down += 1
        incarnation = count + 1 + state.losses[0] + state.stops[0] - down
        state.status[broker] = STARTING
        state.incarnation[broker] = incarnation
        state.role[broker] = NO_ROLE
        message = REGISTER | put(broker, SOURCE) | put(incarnation, INCARNATION)
        if tells_losses:
            message |= put(state.broker_epoch[broker], BROKER_EPOCH)
        send(state, message)
        return True

    return Action("start", take, (bounds.replicas,), "broker {0} starts and asks to be registered", (1,))


def _registers(bounds: KraftBounds, rules: KraftRules) -> Action:
    change, removed, tells_losses, min_isr = rules.change, rules.removed, rules.tells_losses, bounds.min_isr

    def take(state: KraftState, slot: int, chosen: int) -> bool:
        message = state.messages[slot]
        if read(message, KIND) != REGISTER:
            return False
        broker = read(message, SOURCE)
        incarnation = read(message, INCARNATION)
        fenced = not contains(state.unfenced[0], broker)
        if not fenced and state.registered_incarnation[broker] != incarnation:
            return False
        at = now(state)
        heard = state.decided[0]
        active = state.unfenced[0] | only(broker)
        if tells_losses and read(message, BROKER_EPOCH) == 0:
            if not change(state, removed(state.isr[at], broker), only(broker), active, min_isr, chosen):
                return False
        elif state.leader[at] == NO_LEADER:
            if not change(state, state.isr[at], 0, active, min_isr, chosen):
                return False
        elif chosen != NO_CHOICE:
            return False
        epoch = _next_broker_epoch(state)
        state.unfenced[0] = active
        state.registered_epoch[broker] = epoch
        state.registered_incarnation[broker] = incarnation
        take_out(state, slot)
        answer = REGISTERED | put(broker, TARGET) | put(epoch, BROKER_EPOCH)
        send(state, answer | put(incarnation, INCARNATION) | put(heard, METADATA_END))
        return True

    choices = (bounds.messages, bounds.replicas)
    return Action("register", take, choices, "the controller registers a broker", (1, 1))


def _next_broker_epoch(state: KraftState) -> int:
    """The broker epoch of the next registration: above all before."""
    largest = 0
    for epoch in state.registered_epoch:
        largest = max(largest, epoch)
    return largest + 1


def _is_registered(bounds: KraftBounds) -> Action:
    def take(state: KraftState, slot: int) -> bool:
        message = state.messages[slot]
        if read(message, KIND) != REGISTERED:
            return False
        broker = read(message, TARGET)
        if state.status[broker] != STARTING:
            return False
        if state.incarnation[broker] != read(message, INCARNATION):
            return False
        state.status[broker] = RUNNING
        state.broker_epoch[broker] = read(message, BROKER_EPOCH)
        state.heard[broker] = max(0, read(message, METADATA_END) - 1)
        state.known_leader[broker] = NO_LEADER
        state.known_epoch[broker] = 0
        state.known_isr[broker] = 0
        state.maximal_isr[broker] = 0
        state.partition_epoch[broker] = 0
        take_out(state, slot)
        return True

    return Action("registered", take, (bounds.messages,), "a broker hears that it is registered", (1,))


# -- the controller


def _fences(bounds: KraftBounds, rules: KraftRules) -> Action:
    change, removed, fences, min_isr = rules.change, rules.removed, bounds.fences, bounds.min_isr

    def take(state: KraftState, broker: int, chosen: int) -> bool:
        if state.fences[0] == fences or not contains(state.unfenced[0], broker):
            return False
        active = without(state.unfenced[0], only(broker))
        if not change(state, removed(state.isr[now(state)], broker), 0, active, min_isr, chosen):
            return False
        state.unfenced[0] = active
        state.fences[0] += 1
        return True

    choices = (bounds.replicas, bounds.replicas)
    return Action("fence", take, choices, "the controller fences broker {0}", (1, 1))


def _unfences(bounds: KraftBounds, rules: KraftRules) -> Action:
    change, min_isr = rules.change, bounds.min_isr

    def take(state: KraftState, broker: int, chosen: int) -> bool:
        if contains(state.unfenced[0], broker) or state.status[broker] != RUNNING:
            return False
        at = now(state)
        active = state.unfenced[0] | only(broker)
        if state.leader[at] == NO_LEADER:
            if not change(state, state.isr[at], 0, active, min_isr, chosen):
                return False
        elif chosen != NO_CHOICE:
            return False
        state.unfenced[0] = active
        return True

    choices = (bounds.replicas, bounds.replicas)
    return Action("unfence", take, choices, "the controller unfences broker {0}", (1, 1))


def _changes_isr(bounds: KraftBounds, rules: KraftRules) -> Action:
    change, min_isr = rules.change, bounds.min_isr

    def take(state: KraftState, slot: int) -> bool:
        message = state.messages[slot]
        if read(message, KIND) != ASK_ISR:
            return False
        error = isr_error(state, message)
        if error == NO_ERROR:
            change(state, read(message, ISR), 0, state.unfenced[0], min_isr, NO_CHOICE)
        take_out(state, slot)
        send(state, answer_to(message, error))
        return True

    return Action("change-isr", take, (bounds.messages,), "the controller answers a leader", (1,))


# -- replicas that hear of decisions


def renounce(state: KraftState, broker: int) -> None:
    """Gives up all that a leader keeps; what it has not committed is refused."""
    tell(state, broker, state.high_watermark[broker], log_end(state, broker), False)
    forget_peers(state, broker, 0)
    state.asked[broker] = 0
    state.first_own[broker] = UNKNOWN
    state.epoch_start[broker] = UNKNOWN


def forget_peers(state: KraftState, broker: int, remembered: int) -> None:
    """Forgets what a broker knows of the positions of others, but for some."""
    count = len(state.status)
    for peer in range(count):
        if not contains(remembered, peer):
            state.peer_end[broker * count + peer] = UNKNOWN
            state.peer_epoch[broker * count + peer] = 0


def stop_fetching(state: KraftState, broker: int) -> None:
    """Takes the partition from a broker's fetchers; an answer under way stays awaited."""
    state.fetches_from[broker] = NO_LEADER
    state.fetch_offset[broker] = 0
    state.fetch_epoch[broker] = 0
    state.delayed[broker] = 0


def go_on_fetching(state: KraftState, broker: int, leader: int) -> None:
    """Fetches from a leader, from the end of the log on."""
    state.fetches_from[broker] = leader
    state.fetch_offset[broker] = log_end(state, broker)
    state.fetch_epoch[broker] = last_epoch(state, broker)
    state.delayed[broker] = 0


def _concerns(state: KraftState, broker: int, record: int) -> bool:
    """True if a broker acts on a record of the metadata log."""
    if state.role[broker] == LEADS or state.partition_epoch[broker] == 0:
        return True
    return state.leader_epoch[record] > state.known_epoch[broker]


def _hears(bounds: KraftBounds, rise: Rise) -> Action:
    min_isr = bounds.min_isr

    def take(state: KraftState, broker: int, record: int) -> bool:
        if state.status[broker] != RUNNING or not state.heard[broker] <= record < state.decided[0]:
            return False
        if not _concerns(state, broker, record):
            return False
        state.heard[broker] = record + 1
        if partition_epoch_of(state, record) <= state.partition_epoch[broker]:
            return True
        leader, epoch, isr = state.leader[record], state.leader_epoch[record], state.isr[record]
        led, known_leader = state.role[broker] == LEADS, state.known_leader[broker]
        same_epoch = epoch == state.known_epoch[broker]
        if leader == broker:
            rise(state, broker, isr, isr, size(isr) >= min_isr)
            if known_leader == broker and same_epoch:
                request = state.asked[broker]
                if partition_epoch_of(state, record) > read(request, PARTITION_EPOCH):
                    state.asked[broker] = 0
            else:
                state.role[broker] = LEADS
                state.epoch_start[broker] = log_end(state, broker)
                forget_peers(state, broker, isr if led else 0)
                state.asked[broker] = 0
                stop_fetching(state, broker)
        elif leader == NO_LEADER:
            state.role[broker] = NO_ROLE
            stop_fetching(state, broker)
            renounce(state, broker)
        elif not same_epoch or known_leader == broker:
            state.role[broker] = FOLLOWS
            if epoch > state.known_epoch[broker] or state.fetches_from[broker] != leader:
                go_on_fetching(state, broker, leader)
            renounce(state, broker)
        state.known_leader[broker] = leader
        state.known_epoch[broker] = epoch
        state.known_isr[broker] = isr
        state.maximal_isr[broker] = isr
        state.partition_epoch[broker] = partition_epoch_of(state, record)
        return True

    choices = (bounds.replicas, bounds.decisions)
    return Action("hear", take, choices, "broker {0} hears of decision {1}", (1, 1))


# -- the ISR that leaders ask for


def pending(state: KraftState, leader: int) -> bool:
    """True if a leader waits for the answer to a request for an ISR."""
    request = state.asked[leader]
    return request != 0 and read(request, PARTITION_EPOCH) + 1 > state.partition_epoch[leader]


def _asks_for_isr(bounds: KraftBounds) -> Action:
    shrinks = bounds.shrinks

    def take(state: KraftState, leader: int, slow: int) -> bool:
        if state.status[leader] != RUNNING or state.role[leader] != LEADS or pending(state, leader):
            return False
        isr, count = state.known_isr[leader], len(state.status)
        if without(slow, isr) != 0 or contains(slow, leader) or (slow != 0 and state.shrinks[0] >= shrinks):
            return False
        proposed = without(isr, slow) | only(leader)
        request = ASK_ISR | put(leader, SOURCE) | put_isr_epoch(state.broker_epoch[leader], leader)
        for peer in range(count):
            place = leader * count + peer
            start, end = state.epoch_start[leader], state.peer_end[place]
            everyone = everybody(count)
            if may_join_isr(peer, isr | only(leader), everyone, end, state.high_watermark[leader], start, True):
                proposed |= only(peer)
                request |= put_isr_epoch(state.peer_epoch[place], peer)
        if proposed == isr:
            return False
        request |= put(state.known_epoch[leader], LEADER_EPOCH)
        request |= put(state.partition_epoch[leader], PARTITION_EPOCH)
        request |= put(state.broker_epoch[leader], BROKER_EPOCH) | put(proposed, ISR)
        send(state, request)
        state.asked[leader] = request
        state.maximal_isr[leader] = maximal_isr(isr, proposed, True)
        if without(isr, proposed) != 0:
            state.shrinks[0] += 1
        return True

    choices = (bounds.replicas, 1 << bounds.replicas)
    return Action("ask-for-isr", take, choices, "leader {0} asks for another ISR", (1, 0))


def _is_answered(bounds: KraftBounds, rise: Rise) -> Action:
    min_isr = bounds.min_isr

    def take(state: KraftState, slot: int) -> bool:
        message = state.messages[slot]
        if read(message, KIND) != ANSWER_ISR:
            return False
        leader, request = read(message, SOURCE), request_of(message)
        if state.status[leader] != RUNNING or state.role[leader] != LEADS or not pending(state, leader):
            return False
        if state.asked[leader] != request:
            return False
        if read(message, ERROR) == NO_ERROR:
            if read(request, LEADER_EPOCH) != state.known_epoch[leader]:
                return False
            state.known_isr[leader] = read(request, ISR)
            state.partition_epoch[leader] = read(request, PARTITION_EPOCH) + 1
        isr = state.known_isr[leader]
        state.maximal_isr[leader] = isr
        rise(state, leader, isr, isr, size(isr) >= min_isr)
        state.asked[leader] = 0
        take_out(state, slot)
        return True

    return Action("answered", take, (bounds.messages,), "a leader is answered on its ISR", (1,))


# -- fetches


def converged(state: KraftState, leader: int, follower: int) -> bool:
    """True if a follower has all that its leader has, and the leader knows: it fetches no more."""
    end, place = log_end(state, follower), leader * len(state.status) + follower
    if log_end(state, leader) != end or state.high_watermark[leader] != state.high_watermark[follower]:
        return False
    return state.peer_end[place] == end and state.peer_epoch[place] == state.broker_epoch[follower]


def _fetches(bounds: KraftBounds) -> Action:
    def take(state: KraftState, follower: int) -> bool:
        leader = state.known_leader[follower]
        if state.status[follower] != RUNNING or leader in (NO_LEADER, follower):
            return False
        if state.fetches_from[follower] != leader or contains(state.waits_for[follower], leader):
            return False
        if converged(state, leader, follower):
            return False
        request = FETCH | put(follower, SOURCE) | put(leader, TARGET)
        request |= put(state.broker_epoch[follower], BROKER_EPOCH)
        request |= put(state.known_epoch[follower], LEADER_EPOCH)
        request |= put(state.fetch_offset[follower], OFFSET)
        send(state, request | put(state.fetch_epoch[follower], LAST_EPOCH))
        state.waits_for[follower] |= only(leader)
        state.delayed[follower] = 0
        return True

    return Action("fetch", take, (bounds.replicas,), "broker {0} asks its leader for records", (1,))


def _serves_fetch(bounds: KraftBounds, rise: Rise) -> Action:
    def take(state: KraftState, slot: int) -> bool:
        message = state.messages[slot]
        if read(message, KIND) != FETCH:
            return False
        follower, leader = read(message, SOURCE), read(message, TARGET)
        if state.status[leader] != RUNNING:
            return False
        offset, last = read(message, OFFSET), read(message, LAST_EPOCH)
        answer = FETCHED | put(leader, SOURCE) | put(follower, TARGET)
        answer |= put(offset, OFFSET) | put(state.known_epoch[leader], LEADER_EPOCH)
        leads = state.role[leader] == LEADS
        error = fetch_error(state, leader, leads, read(message, LEADER_EPOCH))
        epoch, end = end_of_epoch(state, leader, last, True)
        if error != NO_ERROR:
            answer |= put(error, ERROR)
        elif diverges(last, offset, epoch, end):
            answer |= put(1, DIVERGES) | put(epoch, END_EPOCH) | put(end, END)
        else:
            place = leader * len(state.status) + follower
            state.peer_end[place] = offset
            state.peer_epoch[place] = read(message, BROKER_EPOCH)
            rise(state, leader, state.known_isr[leader], state.maximal_isr[leader], True)
            if offset < log_end(state, leader):
                answer |= put(record_at(state, leader, offset), RECORD)
        answer |= put(state.high_watermark[leader], HIGH_WATERMARK)
        take_out(state, slot)
        send(state, answer)
        return True

    return Action("serve-fetch", take, (bounds.messages,), "a leader answers a fetch", (1,))


def _expects(state: KraftState, follower: int, leader: int, message: int) -> bool:
    """True if an answer is to what a follower would ask now."""
    same_offset = state.fetch_offset[follower] == read(message, OFFSET)
    same_epoch = state.known_epoch[follower] == read(message, LEADER_EPOCH)
    return state.fetches_from[follower] == leader and same_offset and same_epoch


def _takes_records(bounds: KraftBounds) -> Action:
    log = bounds.records

    def take(state: KraftState, slot: int) -> bool:
        message = state.messages[slot]
        if read(message, KIND) != FETCHED:
            return False
        follower, leader = read(message, TARGET), read(message, SOURCE)
        if state.status[follower] != RUNNING or not contains(state.waits_for[follower], leader):
            return False
        state.waits_for[follower] = without(state.waits_for[follower], only(leader))
        take_out(state, slot)
        if not _expects(state, follower, leader, message):
            return True
        if read(message, ERROR) != NO_ERROR:
            state.delayed[follower] = 1
            return True
        if read(message, DIVERGES) == 1:
            end = cut_after_answer(state, follower, read(message, END_EPOCH), read(message, END))
            cut(state, follower, end)
        else:
            record, end = read(message, RECORD), log_end(state, follower)
            if record != 0:
                state.records[follower * log + end] = record
                end += 1
            # the published model keeps the old one where the leader's is behind the log's end
            if read(message, HIGH_WATERMARK) <= end:
                state.high_watermark[follower] = read(message, HIGH_WATERMARK)
        go_on_fetching(state, follower, leader)
        return True

    return Action("take-records", take, (bounds.messages,), "a follower takes what it fetched", (1,))


# -- brokers that go down


def drop_fetches(state: KraftState, broker: int) -> None:
    """Drops fetches from and to a broker, and their answers; who waits for it waits a while before the next."""
    slots = len(state.messages)
    for slot in range(slots - 1, -1, -1):
        message = state.messages[slot]
        if read(message, KIND) in (FETCH, FETCHED) and (
            read(message, SOURCE) == broker or read(message, TARGET) == broker
        ):
            take_out(state, slot)
    for other in range(len(state.status)):
        if other != broker and contains(state.waits_for[other], broker):
            state.waits_for[other] = without(state.waits_for[other], only(broker))
            if state.fetches_from[other] == broker:
                state.delayed[other] = 1
    stop_fetching(state, broker)
    state.waits_for[broker] = 0


def go_down(state: KraftState, broker: int, status: int, broker_epoch: int) -> None:
    """Takes down a broker; the controller has fenced it."""
    if state.role[broker] == LEADS:
        tell(state, broker, state.high_watermark[broker], log_end(state, broker), False)
    state.status[broker] = status
    state.broker_epoch[broker] = broker_epoch
    state.incarnation[broker] = 0
    state.role[broker] = NO_ROLE
    drop_fetches(state, broker)
    forget_peers(state, broker, 0)
    state.asked[broker] = 0
    state.first_own[broker] = UNKNOWN
    state.unfenced[0] = without(state.unfenced[0], only(broker))


def _loses_log(bounds: KraftBounds, rules: KraftRules) -> Action:
    change, removed, loses = rules.change, rules.removed, rules.loses
    losses, min_isr = bounds.losses, bounds.min_isr

    def take(state: KraftState, broker: int, chosen: int) -> bool:
        isr = state.isr[now(state)]
        if state.losses[0] == losses or state.status[broker] in (STOPPED, CRASHED) or not loses(isr, broker):
            return False
        if not change(state, removed(isr, broker), 0, without(state.unfenced[0], only(broker)), min_isr, chosen):
            return False
        go_down(state, broker, CRASHED, 0)
        cut(state, broker, 0)
        state.high_watermark[broker] = 0
        state.epoch_start[broker] = UNKNOWN
        state.losses[0] += 1
        return True

    choices = (bounds.replicas, bounds.replicas)
    return Action("lose-log", take, choices, "broker {0} crashes and loses its log", (1, 1))


def _stops(bounds: KraftBounds, rules: KraftRules) -> Action:
    change, removed, tells_losses = rules.change, rules.removed, rules.tells_losses
    stops, min_isr, count = bounds.stops, bounds.min_isr, bounds.replicas

    def take(state: KraftState, broker: int, choice: int) -> bool:
        clean, chosen = choice >= count, choice % count
        if state.stops[0] == stops or state.status[broker] in (STOPPED, CRASHED) or (clean and not tells_losses):
            return False
        isr = removed(state.isr[now(state)], broker)
        if not change(state, isr, 0, without(state.unfenced[0], only(broker)), min_isr, chosen):
            return False
        go_down(state, broker, STOPPED, state.broker_epoch[broker] if clean else 0)
        state.stops[0] += 1
        return True

    choices = (count, 2 * count)
    return Action("stop", take, choices, "broker {0} stops and keeps its log", (1, 0))
