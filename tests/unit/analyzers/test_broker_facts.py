"""Brokers of which two observations say something else, against what is judged of any replicas."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from analyzers.reading.broker_facts import Facts


def facts(random: Random) -> Facts:
    brokers = random.sample(range(5), random.choice((0, 3, 4, 5)))
    racks = random.choice((("a", "b"), ("a", "b", None), ("a",)))
    return Facts.of([(one, random.choice((True, True, False, None)), random.choice(racks)) for one in sorted(brokers)])


def judged(known: Facts, replicas: tuple[int, ...]) -> tuple[object, ...]:
    """Which of them live, in how many racks they stand, and how many racks there are; None where it is not known."""
    racks = [dict(known.racks or ()).get(one) for one in replicas]
    lives = [
        None if known.live is None or one in (known.unsure or ()) else one in (known.live or ()) for one in replicas
    ]
    return lives, None if known.racks is None or None in racks else len(set(racks)), known.rack_count


@pytest.mark.parametrize("seed", range(60))
def test_replicas_without_a_broker_that_differs_are_judged_alike(seed: int) -> None:
    random = Random(seed)
    before = facts(random)
    after = before if seed % 4 == 0 else facts(random)
    moved = after.differing(before)
    assert moved == before.differing(after)
    for replicas in combinations(range(6), 2):
        if moved is not None and not set(moved).intersection(replicas):
            assert judged(before, replicas) == judged(after, replicas)
    assert (moved == []) >= (before is after)


def test_a_broker_that_dies_differs_alone() -> None:
    before, after = (Facts.of([(1, True, "a"), (2, alive, "b"), (3, True, "a")]) for alive in (True, False))
    assert after.differing(before) == [2]


def test_brokers_that_are_known_at_last_concern_every_partition() -> None:
    assert Facts.of([(1, True, None)]).differing(Facts()) is None
