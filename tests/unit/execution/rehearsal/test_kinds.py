"""Kinds of moves, and which moves of a plan are played."""

from __future__ import annotations

from typing import Any

import pytest
from clusters.generated import partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.rehearsal.kinds import KIND_WORDS, MoveKind, choose, kinds_of

K = MoveKind
RACKS = [{"broker": broker, "alive": True, "rack": "abc"[broker % 3]} for broker in range(9)]
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], set[MoveKind]]] = [
    ((1, 2), (1, 2, 3), {"min_isr": 1}, {K.ADDS, K.FACTOR_UP, K.MIN_ISR_1, K.OTHER_RACKS}),
    ((1, 2, 3), (1, 2), {}, {K.REMOVES, K.FACTOR_DOWN, K.MIN_ISR_IS_RF, K.OTHER_RACKS}),
    ((1, 2, 3), (1, 2, 6), {}, {K.REPLACES_ONE}),
    ((1, 2, 3), (4, 2, 6), {}, {K.REPLACES_SEVERAL, K.LEADER}),
    ((1, 2, 3), (4, 5, 6), {}, {K.REPLACES_ALL, K.LEADER}),
    ((1, 2, 3), (2, 1, 3), {"internal": True}, {K.ORDER, K.LEADER, K.INTERNAL}),
    ((1,), (4,), {"min_isr": 1}, {K.REPLACES_ALL, K.LEADER, K.ONE_REPLICA}),
    ((1, 2, 3), (1, 3, 2), {"isr": [1, 2]}, {K.ORDER, K.OUT_OF_SYNC}),
    ((1, 2, 3), (1, 3, 2), {"unclean_leader_election": True, "min_isr": None}, {K.ORDER, K.UNCLEAN}),
    ((1, 2, 3), (1, 2, 4), {}, {K.REPLACES_ONE, K.OTHER_RACKS}),
]


@pytest.mark.parametrize(("before", "after", "fields", "kinds"), CASES)
def test_a_move_is_of_one_shape_and_of_what_else_holds(
    before: tuple[int, ...], after: tuple[int, ...], fields: dict[str, Any], kinds: set[MoveKind]
) -> None:
    row = partition(replicas=list(before), leader=before[0], **{"isr": list(before), **fields})
    found = kinds_of(snapshot_of([row], RACKS), ReplicaChange("orders", 0, before, after))
    assert set(found) == kinds
    assert list(found) == [kind for kind in KIND_WORDS if kind in kinds], "in their order, none twice"


def test_every_kind_is_in_some_case() -> None:
    assert {kind for *_, kinds in CASES for kind in kinds} == {*MoveKind} == {*KIND_WORDS}


PLANS = st.lists(
    st.tuples(st.integers(0, 9), st.sets(st.sampled_from(MoveKind), min_size=1, max_size=3)), min_size=1, max_size=60
)


@given(PLANS, st.integers(1, 60))
def test_each_kind_is_played_if_there_is_room(plan: list[tuple[int, set[MoveKind]]], most: int) -> None:
    changes = [ReplicaChange("t", number, (1,), (2,), size) for number, (size, _) in enumerate(plan)]
    kinds = {change.key: tuple(some) for change, (_, some) in zip(changes, plan, strict=True)}
    chosen = choose(changes, kinds, most)
    assert len(chosen) == min(most, len(plan)), "as many as there is room for"
    assert [one.change for one in chosen] == [one for one in changes if one in [each.change for each in chosen]]
    assert all(one.chosen_for in one.kinds for one in chosen)
    there = {kind for _, some in plan for kind in some}
    if most >= len(there):
        assert {kind for one in chosen for kind in one.kinds} == there


def test_the_largest_of_a_kind_comes_first() -> None:
    changes = [ReplicaChange("t", number, (1,), (2,), size) for number, size in enumerate((3, 9, None, 7, 9))]
    kinds = {change.key: (K.ORDER,) for change in changes[:4]} | {("t", 4): (K.ADDS,)}
    assert [one.change.partition for one in choose(changes, kinds, 3)] == [1, 3, 4]
    assert [one.chosen_for for one in choose(changes, kinds, 3)] == [K.ORDER, K.ORDER, K.ADDS]
