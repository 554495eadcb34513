"""Moves of replicas: Kafka's own cases, and its sources restated with lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain.reassignment import kraft_completed, kraft_move

from kreplica.engine.rules.controller import reassignment
from kreplica.engine.rules.controller.reassignment import Awaited
from kreplica.engine.rules.replication.replica_set import NO_LEADER

BROKERS = [0, 1, 2, 3, 4]
lists = st.lists(st.sampled_from(BROKERS), unique=True, min_size=1)


def mask(replicas: tuple[int, ...] | list[int], brokers: tuple[int, ...] | list[int]) -> int:
    return sum(1 << replicas.index(broker) for broker in brokers)


@pytest.mark.parametrize(
    ("current", "target", "replicas", "adding", "removing"),
    [
        # PartitionReassignmentReplicasTest
        ((3, 2, 1), (3, 2, 1), (3, 2, 1), (), ()),
        ((3, 2, 1), (3, 6, 2, 1, 5), (3, 6, 2, 1, 5), (5, 6), ()),
        ((3, 2, 1, 0), (3, 1), (3, 1, 0, 2), (), (0, 2)),
        ((3, 2, 1, 0), (7, 3, 1, 9), (7, 3, 1, 9, 0, 2), (7, 9), (0, 2)),
        ((3, 2, 1, 0), (0, 1, 3, 2), (0, 1, 3, 2), (), ()),
        # a TreeSet is in order whatever the ids
        ((1, 8, 1000), (9, 1, 16), (9, 1, 16, 8, 1000), (9, 16), (8, 1000)),
        ((1000, 8, 1), (2, 64, 33), (2, 64, 33, 1, 8, 1000), (2, 33, 64), (1, 8, 1000)),
    ],
)
def test_kraft_merges(
    current: tuple[int, ...],
    target: tuple[int, ...],
    replicas: tuple[int, ...],
    adding: tuple[int, ...],
    removing: tuple[int, ...],
) -> None:
    assert reassignment.kraft_merged(current, target) == (replicas, adding, removing)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        # ReplicationControlManager.changePartitionReassignment: 4.3.1 was seen to do the first of these
        ((3, 4, 1), ((3, 4, 1, 2), (2,), (2,))),
        ((2, 4, 1), ((2, 4, 1, 3), (2,), (3,))),
        ((2, 1, 4, 3), ((2, 1, 4, 3), (2,), (3,))),
        ((5, 4, 1), ((5, 4, 1, 2, 3), (5,), (2, 3))),
    ],
    ids=["back", "again", "all of them", "elsewhere"],
)
def test_kraft_merges_what_is_asked_for_while_a_move_goes_on(
    target: tuple[int, ...], expected: tuple[tuple[int, ...], ...]
) -> None:
    assert reassignment.kraft_merged((2, 4, 1, 3), target, (2,), (3,)) == expected


@pytest.mark.parametrize(
    ("replicas", "adding", "target", "expected"),
    [
        # the example in KafkaController.onPartitionReassignment
        ((1, 2, 3), (), (4, 5, 6), ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))),
        # the one in updateCurrentReassignment: the order there was is lost
        ((1, 2, 3), (), (3, 4, 2), ((3, 4, 2, 1), (4,), (1,))),
        # a move replaces another, which was adding 4, 5, 6: 6 alone is kept
        ((4, 5, 6, 1, 2, 3), (4, 5, 6), (6, 1), ((6, 1, 2, 3), (6,), (2, 3))),
    ],
)
def test_zookeeper_merges(
    replicas: tuple[int, ...], adding: tuple[int, ...], target: tuple[int, ...], expected: tuple[tuple[int, ...], ...]
) -> None:
    assert reassignment.zookeeper_merged(replicas, adding, target) == expected


def test_what_a_replaced_move_added_is_dropped() -> None:
    merged, _, _ = reassignment.zookeeper_merged((4, 5, 6, 1, 2, 3), (4, 5, 6), (6, 1))
    assert reassignment.zookeeper_dropped((4, 5, 6, 1, 2, 3), merged) == (4, 5)
    assert reassignment.original((4, 5, 6, 1, 2, 3), (4, 5, 6)) == (1, 2, 3)


@given(lists, lists, st.data(), st.sampled_from(Awaited))
def test_kraft_completes(current: list[int], target: list[int], data: st.DataObject, awaited: Awaited) -> None:
    replicas, adding, removing = kraft_move(current, target)
    isr = data.draw(st.lists(st.sampled_from(replicas), unique=True, min_size=1))
    merged = reassignment.kraft_merged(tuple(current), tuple(target))
    assert merged == (tuple(replicas), tuple(adding), tuple(removing))
    expected = kraft_completed(replicas, adding, removing, isr, awaited.name)
    facts = [mask(replicas, brokers) for brokers in (replicas, adding, removing, isr)]
    assert reassignment.completes(*facts, awaited) is (expected is not None)
    if expected is not None:
        after = reassignment.completed(facts[0], facts[2], facts[3])
        assert after == tuple(mask(replicas, brokers) for brokers in expected)
        assert replicas[: len(expected[0])] == expected[0], "places of those that stay do not change"


@pytest.mark.parametrize("awaited", Awaited)
def test_a_move_does_not_end_while_only_removed_replicas_are_in_sync(awaited: Awaited) -> None:
    """PartitionReassignmentReplicas.maybeCompleteReassignment: an ISR that would be empty completes nothing."""
    replicas, adding, removing = reassignment.kraft_merged((0, 1, 2), (0, 1))
    facts = [mask(replicas, brokers) for brokers in (replicas, adding, removing, (2,))]
    assert not reassignment.completes(*facts, awaited)
    assert not reassignment.completes(0b11, 0, 0b01, 0b01, awaited), "whichever place it has"


def test_kafka_15665_an_isr_too_small_ended_a_move() -> None:
    """PartitionReassignmentReplicasTest.testDoesNotCompleteReassignmentIfIsrDoesNotHaveAllTargetReplicas."""
    replicas, adding, removing = reassignment.kraft_merged((0, 1, 2), (0, 1, 3))
    facts = [mask(replicas, brokers) for brokers in (replicas, adding, removing, (3,))]
    assert not reassignment.completes(*facts, Awaited.TARGET)
    assert reassignment.completes(*facts, Awaited.ADDED)


@pytest.mark.parametrize(
    ("target", "isr", "ends"),
    [
        # the description of apache/kafka#21114: 2 is down; from 0, 1, 2 to these
        ((0, 1, 2, 3), (0, 1, 3), True),
        ((1, 2, 3), (0, 1, 3), True),
        ((2, 3, 4), (0, 1, 3, 4), True),
        ((1, 2), (0, 1), False),
        ((2, 3), (0, 1, 3), False),
        ((1, 2, 3), (0, 1), False),
    ],
)
def test_kafka_19975_a_broker_that_is_down_and_stays_holds_no_move_up(
    target: tuple[int, ...], isr: tuple[int, ...], ends: bool
) -> None:
    replicas, adding, removing = reassignment.kraft_merged((0, 1, 2), target)
    facts = [mask(replicas, brokers) for brokers in (replicas, adding, removing, isr)]
    assert reassignment.completes(*facts, Awaited.TARGET_IF_FEWER) is ends
    assert not reassignment.completes(*facts, Awaited.TARGET)


@given(lists, lists, st.data())
def test_cancelling_gives_back_what_was_in_sync(current: list[int], target: list[int], data: st.DataObject) -> None:
    replicas, adding, _ = kraft_move(current, target)
    isr = data.draw(st.lists(st.sampled_from(replicas), unique=True, min_size=1))
    after, kept, unclean = reassignment.kraft_cancelled(*(mask(replicas, one) for one in (replicas, adding, isr)))
    assert after == mask(replicas, [one for one in replicas if one not in adding])
    old = [one for one in isr if one not in adding]
    assert unclean is (not old)
    assert kept == mask(replicas, old or [one for one in replicas if one not in adding][:1])


def test_leader_after_a_move_in_zookeeper_mode() -> None:
    elect = reassignment.zookeeper_elect_reassigned
    assert elect(0b0111, 0b1111, 0b1111, 3) == 0  # it goes: the first of the target
    assert elect(0b0111, 0b1110, 0b1101, 3) == 2  # that is in sync and live
    assert elect(0b0111, 0b1111, 0b1111, 2) == 2  # it stays
    assert elect(0b0111, 0b1111, 0b1101, 1) == 0  # it would stay, and is dead
    assert elect(0b0111, 0b1000, 0b1111, 3) == NO_LEADER
