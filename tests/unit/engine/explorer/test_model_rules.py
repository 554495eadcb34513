"""On every log up to three records, a model's rule gives what the engine's gives, wherever both say anything."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import pytest

from kreplica.engine.explorer.models.one_partition import rules
from kreplica.engine.explorer.models.one_partition.actions import actions
from kreplica.engine.explorer.models.one_partition.models import TABLES
from kreplica.engine.explorer.models.one_partition.state import Bounds, PartitionState, initial
from kreplica.engine.rules.controller.isr import zookeeper_remove_from_isr
from kreplica.engine.rules.replication import log_truncation
from kreplica.engine.rules.replication.fetching import diverges, updates_follower_fetch_state
from kreplica.engine.rules.replication.follower_lag import may_join_isr
from kreplica.engine.rules.replication.high_watermark import leader_high_watermark
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody

LONGEST, EPOCHS = 3, 4
LEADER, FOLLOWER = 0, 1
BOUNDS = Bounds(2, LONGEST, LONGEST * EPOCHS, EPOCHS)
LOGS = [log for length in range(LONGEST + 1) for log in combinations_with_replacement(range(EPOCHS), length)]
"""Leader epochs of the records, which never go down: every log up to three records."""


def common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Records that two logs share from their beginning on."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


PAIRS = [
    (leader, follower)
    for leader, follower in product(LOGS, LOGS)
    if all(leader.index(epoch) == follower.index(epoch) < common(leader, follower) for epoch in {*leader} & {*follower})
]
"""Logs of a leader and a follower: an epoch has one leader and begins once, so both have the same log before it."""


def state_of(leader: tuple[int, ...], follower: tuple[int, ...], high_watermark: int) -> PartitionState:
    state = initial(BOUNDS)
    for replica, log in ((LEADER, leader), (FOLLOWER, follower)):
        for offset, epoch in enumerate(log):
            state.records[replica * LONGEST + offset] = 1 + offset * BOUNDS.epochs + epoch
        state.leader[replica] = LEADER
        state.epoch[replica] = EPOCHS
    state.high_watermark[FOLLOWER] = high_watermark
    return state


def cache(log: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Leader epochs of a log, and where they begin."""
    epochs = tuple(dict.fromkeys(log))
    return epochs, tuple(log.index(epoch) for epoch in epochs)


def cases() -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    return [
        (leader, follower, high_watermark)
        for leader, follower in PAIRS
        for high_watermark in range(common(leader, follower) + 1)
    ]


def test_there_are_many_logs() -> None:
    assert len(LOGS) == 1 + 4 + 10 + 20
    assert len(cases()) > 1_000


def test_kip_279_cuts_where_the_engine_cuts() -> None:
    """Leaders since 2.0.1 know the epoch that they lead in before its first record (KAFKA-7415)."""
    for leader, follower, high_watermark in cases():
        state = state_of(leader, follower, high_watermark)
        epochs, starts = cache(leader)
        by_engine = log_truncation.truncate_by_leader_epoch(
            *cache(follower), len(follower), high_watermark, (*epochs, EPOCHS), (*starts, len(leader)), len(leader)
        )
        assert rules.cut_behind_last_match(state, FOLLOWER, LEADER, EPOCHS) == by_engine == common(leader, follower)
        assert rules.cut_in_epoch(state, FOLLOWER, LEADER, EPOCHS) == by_engine


def test_kip_320_cuts_by_a_leader_of_the_same_epoch_alone() -> None:
    state = state_of((0, 1), (0, 0), 0)
    for known, asked in product(range(EPOCHS + 1), repeat=2):
        state.epoch[LEADER] = known
        found = rules.cut_in_epoch(state, FOLLOWER, LEADER, asked)
        assert found == (1 if known == asked else rules.CANNOT_CUT)
    state.epoch[LEADER], state.leader[LEADER] = EPOCHS, FOLLOWER
    assert rules.cut_in_epoch(state, FOLLOWER, LEADER, EPOCHS) == rules.CANNOT_CUT


def test_kip_101_cuts_where_the_engine_cuts() -> None:
    """The model cannot cut to an end above the follower's own; of an epoch older than all it knows the end, too."""
    compared = 0
    for leader, follower, high_watermark in cases():
        found = rules.cut_by_last_epoch(state_of(leader, follower, high_watermark), FOLLOWER, LEADER, EPOCHS)
        last = follower[-1] if follower else log_truncation.UNDEFINED_EPOCH
        _, end = log_truncation.epoch_end_offset_until_2_0(*cache(leader), len(leader), last)
        by_engine = log_truncation.truncation_by_end_offset(len(follower), high_watermark, end)
        if found == rules.CANNOT_CUT:
            assert by_engine == len(follower) < end
        elif follower and leader and last < leader[0]:
            assert (found, by_engine) == (0, high_watermark)
        else:
            compared += 1
            assert found == by_engine, (leader, follower, high_watermark)
    assert compared > 400


def followers_in_the_leaders_epoch() -> Iterator[tuple[PartitionState, bool]]:
    """A state of each case, and whether the engine's leader takes the follower into the ISR."""
    for leader, follower in PAIRS:
        for own, high_watermark in product(range(leader[-1] if leader else 0, EPOCHS + 1), range(len(leader) + 1)):
            state = state_of(leader, follower, 0)
            state.epoch[LEADER] = state.epoch[FOLLOWER] = own
            state.high_watermark[LEADER] = high_watermark
            start = leader.index(own) if own in leader else len(leader)
            yield state, may_join_isr(FOLLOWER, 0b01, 0b11, len(follower), high_watermark, start, True)


def test_a_model_admits_nobody_whom_the_engine_does_not() -> None:
    """The published model is stricter: it waits for the high watermark, Kafka for the follower."""
    stricter = 0
    for state, by_engine in followers_in_the_leaders_epoch():
        high_watermark = state.high_watermark[LEADER]
        admitted = rules.reached_in_epoch(state, LEADER, FOLLOWER, high_watermark)
        admitted = admitted and rules.admits_in_own_epoch(state, LEADER)
        assert by_engine or not admitted
        stricter += by_engine and not admitted
    assert stricter > 0


def test_the_model_of_2_1_admits_whom_the_engine_admits() -> None:
    """Whoever follows in the leader's epoch; the engine's leader learns of no other, whose fetches it refuses."""
    joined = 0
    for state, by_engine in followers_in_the_leaders_epoch():
        high_watermark = state.high_watermark[LEADER]
        assert rules.joins_in_epoch(state, LEADER, FOLLOWER, high_watermark) == by_engine
        joined += by_engine
        state.epoch[FOLLOWER] += 1
        assert not rules.joins_in_epoch(state, LEADER, FOLLOWER, high_watermark)
    assert joined > 0


def test_the_model_of_3_9_cuts_and_counts_as_the_engine_does_by_a_fetch() -> None:
    """Fetch by fetch, until the logs agree."""
    fetches, longest = 0, 0
    for leader, follower, high_watermark in cases():
        left, rounds = follower, 0
        while True:
            state = state_of(leader, left, high_watermark)
            known, at_fetch = (*cache(leader)[0], EPOCHS), (*cache(leader)[1], len(leader))
            noted = cache(left)
            last = noted[0][-1] if left else log_truncation.UNDEFINED_EPOCH
            answered, end = log_truncation.epoch_end_offset(known, at_fetch, len(leader), last)
            differs = bool(left) and diverges(last, len(left), answered, end)
            for offset in range(LONGEST + 1):
                counts = len(left) >= offset and updates_follower_fetch_state(False, differs, False)
                assert rules.reached_by_fetch(state, LEADER, FOLLOWER, offset) == counts
                joins = counts and may_join_isr(FOLLOWER, 0b01, 0b11, len(left), offset, len(leader), True)
                assert rules.joins_by_fetch(state, LEADER, FOLLOWER, offset) == joins
            cut_at = rules.cut_on_fetch(state, FOLLOWER, LEADER, EPOCHS)
            assert rules.cut_on_fetch(state, FOLLOWER, LEADER, EPOCHS - 1) == rules.CANNOT_CUT
            if not differs:
                assert cut_at == rules.CANNOT_CUT
                break
            assert cut_at == log_truncation.truncation_round(*noted, len(left), high_watermark, answered, end)[0]
            assert common(leader, left) <= cut_at < len(left)
            left, rounds = left[:cut_at], rounds + 1
        assert len(left) == common(leader, follower)
        fetches, longest = fetches + rounds, max(longest, rounds)
    assert fetches > 400
    assert longest == 2


def test_an_epoch_that_a_follower_led_without_a_write_costs_a_fetch_and_no_record() -> None:
    """It stands in Kafka's list of epochs, not in the model's log. Dropping it cuts nothing, or what the model cuts."""
    dropped, cut = 0, 0
    for leader, follower, high_watermark in cases():
        epochs, starts = cache(follower)
        for led in range(follower[-1] + 1 if follower else 0, EPOCHS):
            if led in leader:
                continue
            answered, end = log_truncation.epoch_end_offset(
                (*cache(leader)[0], EPOCHS), (*cache(leader)[1], len(leader)), len(leader), led
            )
            noted = (*epochs, led), (*starts, len(follower))
            cut_at = log_truncation.truncation_round(*noted, len(follower), high_watermark, answered, end)[0]
            by_model = rules.cut_on_fetch(state_of(leader, follower, high_watermark), FOLLOWER, LEADER, EPOCHS)
            dropped += cut_at == len(follower)
            cut += cut_at < len(follower)
            assert cut_at in (len(follower), by_model)
    assert dropped > 100
    assert cut > 100


@pytest.mark.parametrize("name", ["kip-320", "truncate-to-hw"])
def test_a_high_watermark_raised_as_far_as_it_goes_is_the_engines(name: str) -> None:
    bounds = Bounds(3, LONGEST, LONGEST * EPOCHS, 1)
    raises = next(one for one in actions(bounds, TABLES[name]) if one.name == "raise-high-watermark")
    for ends, isr in product(product(range(LONGEST + 1), repeat=3), range(1, 8, 2)):
        state = initial(bounds)
        for replica, end in enumerate(ends):
            state.leader[replica], state.epoch[replica], state.isr[replica] = LEADER, 0, isr
            for offset in range(end):
                state.records[replica * LONGEST + offset] = 1 + offset * bounds.epochs
        while raises.take(state, LEADER):
            pass
        assert state.high_watermark[LEADER] == leader_high_watermark(0, ends, isr)


def test_the_controller_removes_whom_the_engine_removes_and_the_last_without_a_leader() -> None:
    for leader, isr, replica in product((NO_LEADER, 0, 1, 2), range(everybody(3) + 1), range(3)):
        if leader != NO_LEADER and not isr >> leader & 1:
            continue
        found = rules.removed_even_last(replica, leader, isr)
        if leader == NO_LEADER and isr == 1 << replica:
            assert found == (NO_LEADER, 0)
        else:
            assert found == zookeeper_remove_from_isr(replica, leader, isr)
