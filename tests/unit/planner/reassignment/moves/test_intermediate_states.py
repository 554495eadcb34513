"""States of a partition while it moves, against the same stated with sets, and cases known from Kafka's issues."""

from __future__ import annotations

from itertools import chain, combinations

from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.rules.controller.reassignment import Awaited
from kreplica.planner.reassignment.moves.intermediate_states import (
    Controller,
    MovingPartition,
    first_lack,
)

CONTROLLERS = [Controller(kraft=False, awaited=Awaited.TARGET), *(Controller(awaited=one) for one in Awaited)]


def subsets(values: frozenset[int]) -> list[frozenset[int]]:
    every = chain.from_iterable(combinations(sorted(values), size) for size in range(len(values) + 1))
    return [frozenset(some) for some in every]


def lacks(
    replicas: frozenset[int], isr: frozenset[int], live: frozenset[int], min_isr: int, margin: int = 1
) -> set[tuple[int, bool]]:
    """How many brokers fail, and whether nobody leads then: without ELR the last of an ISR stays in it."""
    found = set()
    isr = isr & live or isr
    for failing in subsets(replicas & live):
        if len(failing) > margin:
            continue
        left = isr & live - failing
        if not left:
            found.add((len(failing), True))
        elif len(left) < min(min_isr, len(replicas)):
            found.add((len(failing), False))
    return found


def is_worse(before: frozenset[int], after: frozenset[int], isr: frozenset[int], live: frozenset[int],
             min_isr: int, awaited: Awaited, margin: int) -> bool:  # fmt: skip
    added, removed = after - before, before - after
    accepted = lacks(before, isr, live, min_isr, margin)
    states = [(before | after, isr | some) for some in subsets(added)]
    for joined in (*(isr | some for some in subsets(added)), isr | after):
        for_all = awaited is Awaited.TARGET or (awaited is Awaited.TARGET_IF_FEWER and len(added) < len(removed))
        if added | removed and (after if for_all else added) <= joined and joined & after:
            states.append((after, joined & after))
    found = set().union(*(lacks(*state, live, min_isr, margin) for state in states))
    return any((count, dead) not in accepted and (count, True) not in accepted for count, dead in found)


@st.composite
def moves(draw: st.DrawFn) -> tuple[frozenset[int], frozenset[int], frozenset[int], frozenset[int], int]:
    before = draw(st.frozensets(st.integers(0, 5), min_size=1, max_size=3))
    after = draw(st.frozensets(st.integers(0, 5), min_size=1, max_size=3))
    isr = draw(st.sampled_from([one for one in subsets(before) if one]))
    live = (
        (after - before)
        | draw(st.sampled_from(subsets(before)))
        | draw(st.sampled_from([one for one in subsets(isr) if one]))
    )
    return before, after, isr, live, draw(st.integers(1, 3))


@given(moves(), st.sampled_from(CONTROLLERS), st.integers(0, 3))
@examples(2)
def test_what_is_worse_is_found_by_sets_too(
    move: tuple[frozenset[int], frozenset[int], frozenset[int], frozenset[int], int],
    controller: Controller,
    margin: int,
) -> None:
    before, after, isr, live, min_isr = move
    partition = packed(before, after, isr, live, min_isr)
    worse = is_worse(before, after, isr, live, min_isr, controller.awaited, margin)
    assert (first_lack(partition, controller, margin) is not None) == worse


def packed(
    before: frozenset[int], after: frozenset[int], isr: frozenset[int], live: frozenset[int], min_isr: int
) -> MovingPartition:
    order = [*sorted(after), *sorted(before - after)]

    def mask(brokers: frozenset[int]) -> int:
        return sum(1 << place for place, broker in enumerate(order) if broker in brokers)

    led = sorted(isr & live)
    return MovingPartition(
        count=len(order), added=mask(after - before), removed=mask(before - after),
        leader=order.index(led[0]) if led else -1, isr=mask(isr), elr=0, live=mask(live), min_isr=min_isr,
    )  # fmt: skip


def test_a_replication_factor_below_min_isr_is_worse_only_where_a_broker_fails() -> None:
    three, two = frozenset({1, 2, 3}), frozenset({1, 2})
    found = first_lack(packed(three, two, three, three, 2), Controller(awaited=Awaited.TARGET))
    assert found is not None
    assert (found.after, len(found.failing), found.leaderless, found.in_sync) == (True, 1, False, 1)
    assert first_lack(packed(three, two, three, three, 1), Controller(awaited=Awaited.TARGET)) is None


def test_a_move_that_ends_with_too_small_an_isr() -> None:
    """KAFKA-15665: before 3.8 a move ends when the added are in sync, though a replica that stays is not."""
    before, after = frozenset({1, 2, 3}), frozenset({2, 3, 4})
    every, isr = before | after, frozenset({1, 3})
    partition = packed(before, after, isr, every, 2)
    assert first_lack(packed(before, frozenset({2, 4, 5}), isr, every | {5}, 2), Controller()) is None
    assert first_lack(packed(before, frozenset({2, 4}), isr, every, 2), Controller()) is not None
    assert first_lack(partition, Controller()) is None


def test_one_replica_moves_though_any_broker_that_fails_takes_it_away() -> None:
    one, other = frozenset({1}), frozenset({2})
    partition = packed(one, other, one, one | other, 1)
    assert first_lack(partition, Controller()) is None


def test_two_brokers_failing_at_once() -> None:
    three = frozenset({1, 2, 3})
    partition = packed(three, frozenset({1, 2}), three, three, 1)
    assert first_lack(partition, Controller(awaited=Awaited.TARGET)) is None
    found = first_lack(partition, Controller(awaited=Awaited.TARGET), margin=2)
    assert found is not None
    assert (len(found.failing), found.leaderless) == (2, True)
