"""Sets of replicas as bits answer what Python's sets answer, and sort as assignments do."""

from __future__ import annotations

from itertools import product

import pytest

from kreplica.engine.rules.replication.replica_set import (
    NO_LEADER,
    contains,
    everybody,
    first,
    members,
    only,
    size,
    without,
)

PLACES = 4


def bits(places: set[int]) -> int:
    return sum(2**place for place in places)


SETS = [{place for place in range(PLACES) if chosen[place]} for chosen in product((False, True), repeat=PLACES)]


@pytest.mark.parametrize("replicas", SETS, ids=str)
def test_a_set_of_replicas(replicas: set[int]) -> None:
    given = bits(replicas)
    assert [contains(given, place) for place in range(PLACES + 1)] == [place in replicas for place in range(PLACES + 1)]
    assert not contains(given, NO_LEADER)
    assert members(given) == sorted(replicas)
    assert size(given) == len(replicas)
    assert first(given) == min(replicas, default=NO_LEADER)
    assert [without(given, bits(leaving)) for leaving in SETS] == [bits(replicas - leaving) for leaving in SETS]


def test_one_all_and_nobody() -> None:
    assert [only(place) for place in range(PLACES)] == [bits({place}) for place in range(PLACES)]
    assert only(NO_LEADER) == 0
    assert [everybody(count) for count in range(PLACES)] == [bits(set(range(count))) for count in range(PLACES)]
