"""On every log up to three records, and every ISR of three, rules of the KRaft models give what the engine gives."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import pytest

from kreplica.engine.explorer.models.kraft import rules
from kreplica.engine.explorer.models.kraft.messages import (
    ASK_ISR,
    BROKER_EPOCH,
    EPOCHS,
    FENCED,
    INELIGIBLE,
    ISR,
    LEADER_EPOCH,
    NO_ERROR,
    NOT_LEADER,
    PARTITION_EPOCH,
    SOURCE,
    UNKNOWN_EPOCH,
    answer_to,
    put,
    put_isr_epoch,
    request_of,
)
from kreplica.engine.explorer.models.kraft.state import LEADS, KraftBounds, KraftState, cut, initial, log_end, now
from kreplica.engine.rules.controller.isr import kraft_change
from kreplica.engine.rules.replication import log_truncation
from kreplica.engine.rules.replication.fetching import diverges
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody, members, size

LONGEST, LAST_EPOCH = 3, 4
LEADER, FOLLOWER = 0, 1
BOUNDS = KraftBounds(2, LONGEST, 1, 2, fences=1, losses=0, stops=0, shrinks=0, messages=4)
LOGS = [log for length in range(LONGEST + 1) for log in combinations_with_replacement(range(1, LAST_EPOCH), length)]


def common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Records that two logs share from their beginning on."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


PAIRS = [
    (leader, follower)
    for leader, follower in product(LOGS, LOGS)
    if all(leader.index(epoch) == follower.index(epoch) < common(leader, follower) for epoch in {*leader} & {*follower})
]
"""Logs of a leader and a follower: an epoch has one leader and begins once, so both have the same log before it."""


def state_of(leader: tuple[int, ...], follower: tuple[int, ...]) -> KraftState:
    state = initial(BOUNDS)
    for replica, log in ((LEADER, leader), (FOLLOWER, follower)):
        for offset, epoch in enumerate(log):
            state.records[replica * LONGEST + offset] = 1 + offset * EPOCHS + epoch
        state.known_epoch[replica] = LAST_EPOCH
    state.role[LEADER] = LEADS
    return state


def cache(log: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Leader epochs of a log, and where they begin."""
    epochs = tuple(dict.fromkeys(log))
    return epochs, tuple(log.index(epoch) for epoch in epochs)


def led(log: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same of a leader, which knows its own epoch before the first record of it (KAFKA-7415)."""
    epochs, starts = cache(log)
    return (*epochs, LAST_EPOCH), (*starts, len(log))


def test_an_epoch_ends_where_the_engine_says() -> None:
    compared = 0
    for log, epoch in product(LOGS, range(1, LAST_EPOCH + 1)):
        found = rules.end_of_epoch(state_of(log, log), LEADER, epoch, True)
        by_engine = log_truncation.epoch_end_offset(*led(log), len(log), epoch)
        if log == () and epoch < LAST_EPOCH:
            assert (found, by_engine) == ((epoch, 0), (epoch, 0))
        assert found == by_engine
        if log and epoch <= log[-1]:
            compared += 1
            by_engine = log_truncation.epoch_end_offset(*cache(log), len(log), epoch)
            assert rules.end_of_epoch(state_of(log, log), FOLLOWER, epoch, False) == by_engine
    assert compared > 30


def test_a_follower_cuts_where_the_engine_cuts_until_both_logs_agree() -> None:
    """By the leader's answer to each fetch, as often as it tells of an end that diverges."""
    for leader, follower in PAIRS:
        state = state_of(leader, follower)
        log = follower
        for _ in range(LONGEST + 1):
            last = log[-1] if log else 0
            epoch, end = rules.end_of_epoch(state, LEADER, last, True)
            if not diverges(last, len(log), epoch, end):
                break
            found = rules.cut_after_answer(state, FOLLOWER, epoch, end)
            if log and epoch >= log[0]:
                by_engine, _ = log_truncation.truncation_round(*cache(log), len(log), 0, epoch, end)
                assert found == by_engine, (leader, log)
            assert found < len(log)
            cut(state, FOLLOWER, found)
            log = log[:found]
        assert len(log) == log_end(state, FOLLOWER) == common(leader, follower), (leader, follower)


@pytest.mark.parametrize("isr", range(1, 8, 2))
def test_a_leader_counts_unknown_positions_as_none(isr: int) -> None:
    bounds = BOUNDS._replace(replicas=3, isr=3)
    for ends in product(range(-1, LONGEST + 1), repeat=2):
        for end in range(LONGEST + 1):
            state = initial(bounds)
            state.records[:end] = [1 + offset * EPOCHS + 1 for offset in range(end)]
            state.peer_end[1:3] = ends
            known = [end, *(max(0, peer) for peer in ends)]
            assert rules.high_watermark_after(state, 0, isr) == min(known[replica] for replica in members(isr))


def test_errors_of_fetches() -> None:
    state = initial(BOUNDS)
    state.known_epoch[0] = 3
    found = [rules.fetch_error(state, 0, leads, asked) for leads in (True, False) for asked in (2, 3, 4)]
    assert found == [FENCED, NO_ERROR, UNKNOWN_EPOCH, FENCED, NOT_LEADER, UNKNOWN_EPOCH]


def test_a_request_for_an_isr_is_refused_for_what_the_specification_says() -> None:
    """Not the leader, another partition or broker epoch: out of date; a member fenced or started anew: not fit."""
    bounds = BOUNDS._replace(replicas=3, isr=2, min_isr=1)
    for unfenced, isr, member_epoch, leader, partition_epoch, broker_epoch in product(
        range(1, 8, 2), range(1, 8, 2), (0, 2, 3), (0, NO_LEADER), (1, 2), (1, 2)
    ):
        state = initial(bounds)
        state.unfenced[0], state.leader[0] = unfenced, leader
        request = ASK_ISR | put(0, SOURCE) | put(broker_epoch, BROKER_EPOCH) | put(1, LEADER_EPOCH)
        request |= put(partition_epoch, PARTITION_EPOCH) | put(isr, ISR) | put_isr_epoch(broker_epoch, 0)
        if isr & 0b100:
            request |= put_isr_epoch(member_epoch, 2)
        current = leader == 0 and broker_epoch == 1 and partition_epoch == 2
        fit = isr & ~unfenced == 0 and (not isr & 0b100 or member_epoch in (0, 3))
        expected = (NO_ERROR if fit else INELIGIBLE) if current else FENCED
        assert rules.isr_error(state, request) == expected
        assert request_of(answer_to(request, expected)) == request


def decided(state: KraftState) -> tuple[int, int, int, int]:
    at = now(state)
    return state.leader[at], state.leader_epoch[at], state.isr[at], state.elr[at]


@pytest.mark.parametrize("elr_enabled", [False, True])
def test_the_engine_decides_what_the_model_may_decide(elr_enabled: bool) -> None:
    """The engine elects the first of those that the model may elect; unless all are gone both leave what there is."""
    table = rules.WITH_ELR if elr_enabled else rules.WITHOUT_ELR
    bounds = KraftBounds(3, 1, 2, 3, 1, 0, 0, 0, 4)
    compared = 0
    for leader, isr, elr, gone, active in product(range(-1, 3), range(8), range(8), range(3), range(8)):
        if isr & elr or (size(isr) >= 2 and elr) or (leader >= 0 and not isr >> leader & 1):
            continue
        if (elr and not elr_enabled) or (isr == 0 and not elr_enabled) or active >> gone & 1:
            continue
        if elr_enabled and isr & ~(active | 1 << gone):  # with ELR members of the ISR are active
            continue
        outcomes = []
        for chosen in range(3):
            state = initial(bounds)
            state.leader[0], state.isr[0], state.elr[0] = leader, isr, elr
            if table.change(state, table.removed(isr, gone), 0, active, 2, chosen):
                outcomes.append(decided(state))
        target = isr & ~(1 << gone)
        by_engine = kraft_change(leader, isr, elr, 0, target, active, 2, elr_enabled, False)
        found = [(elected, new_isr, new_elr) for elected, _, new_isr, new_elr in outcomes]
        assert len(outcomes) == len(set(outcomes)) >= 1
        assert by_engine[:3] in found, (leader, isr, elr, gone, active)
        assert all(epoch == 1 + (elected != leader) for elected, epoch, _, _ in outcomes)
        assert everybody(3) >= max(new_isr for _, new_isr, _ in found)
        compared += 1
    assert compared > 50
