"""New topics are placed as Kafka's controllers place them: its own tests' expected assignments."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain.reassignment import MockRandom

from kreplica.engine.rules.controller.topic_assignment import (
    place_rack_aware,
    place_rack_unaware,
    place_striped,
    rack_alternated,
)

RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def test_without_racks() -> None:
    """The table in AdminUtils' own comment: ten partitions of three replicas on five brokers, from broker 0."""
    placed = place_rack_unaware((0, 1, 2, 3, 4), 10, 3, 0, 0)
    on = {
        broker: [[p for p, one in enumerate(placed) if one[place] == broker] for place in range(3)]
        for broker in range(5)
    }
    assert on[0] == [[0, 5], [4, 8], [3, 7]]
    assert on[4] == [[4, 9], [3, 7], [2, 6]]


def test_brokers_in_turn_of_their_racks() -> None:
    """AdminRackAwareTest.testGetRackAlternatedBrokerListAndAssignReplicasToBrokers."""
    assert rack_alternated(RACKS) == (0, 3, 1, 5, 4, 2)
    assert rack_alternated({broker: rack for broker, rack in RACKS.items() if broker != 5}) == (0, 3, 1, 4, 2)
    assert place_rack_aware(RACKS, 7, 3, 0, 0) == (
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    )


@given(
    st.dictionaries(st.integers(0, 20), st.sampled_from("abcd"), min_size=1, max_size=9),
    st.integers(1, 30),
    st.integers(0, 20),
    st.integers(0, 20),
    st.data(),
)
def test_what_zookeeper_placements_promise(
    racks: dict[int, str], partitions: int, start: int, shift: int, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    every = len(set(racks.values()))
    for replicas in place_rack_aware(racks, partitions, factor, start, shift):
        assert len(set(replicas)) == factor
        assert len({racks[broker] for broker in replicas}) == min(factor, every)
    plain = place_rack_unaware(tuple(sorted(racks)), partitions * len(racks), factor, start, shift)
    assert all(len(set(replicas)) == factor for replicas in plain)
    assert set(Counter(replicas[0] for replicas in plain).values()) == {partitions}


NO_RACK = ""
TWO, THREE = {2: NO_RACK, 3: NO_RACK}, {1: NO_RACK, 2: NO_RACK, 3: NO_RACK}


@pytest.mark.parametrize(
    ("racks", "fenced", "factor", "expected"),
    [
        # testAvoidFencedReplicaIfPossibleOnSingleRack
        (
            dict.fromkeys(range(5), NO_RACK),
            (1,),
            4,
            ((3, 4, 0, 2), (4, 0, 2, 3), (0, 2, 3, 4), (2, 3, 4, 0), (0, 4, 3, 2)),
        ),
        # testPlacementOnFencedReplicaOnSingleRack
        (THREE, (1,), 3, ((3, 2, 1), (2, 3, 1), (3, 2, 1), (2, 3, 1))),
        # testRackListWithMultipleRacks
        (
            {11: "1", 10: "1", 30: "3", 31: "3", 21: "2", 20: "2"},
            (20,),
            4,
            ((11, 21, 31, 10), (21, 30, 10, 20), (31, 11, 21, 30)),
        ),
        # testRackListWithInvalidRacks
        (
            {11: "1", 10: "1", 30: "3", 31: "3", 20: "2", 21: "2", 41: "4", 40: "4"},
            (30, 31, 20, 21, 40),
            4,
            ((41, 11, 21, 30), (10, 20, 31, 41), (41, 21, 30, 11)),
        ),
        # testMultiPartitionTopicPlacementOnSingleUnfencedBroker
        ({0: NO_RACK, 1: NO_RACK}, (1,), 1, ((0,), (0,), (0,))),
        # testSuccessfulPlacement
        (dict.fromkeys(range(4), NO_RACK), (), 3, ((2, 3, 0), (3, 0, 1), (0, 1, 2), (1, 2, 3), (1, 0, 2))),
    ],
)
def test_striped_placements_of_kafkas_tests(
    racks: dict[int, str], fenced: tuple[int, ...], factor: int, expected: tuple[tuple[int, ...], ...]
) -> None:
    """StripedReplicaPlacerTest, with its random numbers."""
    assert place_striped(racks, fenced, len(expected), factor, MockRandom().next_int) == expected


def test_striped_placements_are_spread_as_in_kafka() -> None:
    """StripedReplicaPlacerTest.testEvenDistribution: 200 partitions, fifty shuffles."""
    counts = Counter(place_striped(dict.fromkeys(range(4), NO_RACK), (), 200, 2, MockRandom().next_int))
    assert counts == {
        (0, 1): 14,
        (0, 2): 22,
        (0, 3): 14,
        (1, 0): 17,
        (1, 2): 17,
        (1, 3): 16,
        (2, 0): 13,
        (2, 1): 17,
        (2, 3): 20,
        (3, 0): 20,
        (3, 1): 19,
        (3, 2): 11,
    }


@pytest.mark.parametrize("factor", [0, 4])
def test_there_is_one_replica_at_least_and_at_most_one_a_broker(factor: int) -> None:
    """AdminUtils and StripedReplicaPlacer throw InvalidReplicationFactorException; callers ask no such thing."""
    with pytest.raises(AssertionError, match="as many brokers as replicas"):
        place_rack_unaware((1, 2, 3), 1, factor, 0, 0)
    with pytest.raises(AssertionError, match="as many brokers as replicas"):
        place_rack_aware(THREE, 1, factor, 0, 0)
    with pytest.raises(AssertionError, match="as many brokers as replicas"):
        place_striped(THREE, (), 1, factor, MockRandom().next_int)


def test_nothing_is_placed_while_all_brokers_are_fenced() -> None:
    """StripedReplicaPlacer.throwInvalidReplicationFactorIfZero, when all brokers are fenced."""
    with pytest.raises(AssertionError, match="somebody has to lead"):
        place_striped(THREE, (1, 2, 3), 1, 1, MockRandom().next_int)
