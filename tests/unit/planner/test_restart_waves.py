"""The fewest waves: against all partitions of small sets of nodes, and on cases whose answer is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.planner.restart_waves import BoundKind, Limit, WaveProblem, allowed, kept_apart, plan_waves


def problem(count: int, *limits: tuple[set[int], int], most_in_wave: int | None = None) -> WaveProblem:
    masks = tuple(Limit(sum(1 << place for place in nodes), most) for nodes, most in limits)
    return WaveProblem(tuple(range(1, count + 1)), masks, most_in_wave)


def partitions_of(nodes: list[int]) -> Iterator[list[list[int]]]:
    """Every way to part nodes into sets."""
    if not nodes:
        yield []
        return
    first, *rest = nodes
    for parts in partitions_of(rest):
        yield [[first], *parts]
        for number, part in enumerate(parts):
            yield [*parts[:number], [first, *part], *parts[number + 1 :]]


def fits(given: WaveProblem, wave: list[int]) -> bool:
    if given.most_in_wave is not None and len(wave) > given.most_in_wave:
        return False
    sets = [
        ({node for place, node in enumerate(given.nodes) if one.nodes >> place & 1}, one.most) for one in given.limits
    ]
    return all(len(members & set(wave)) <= most for members, most in sets)


def fewest(given: WaveProblem) -> int:
    return min(len(parts) for parts in partitions_of(list(given.nodes)) if all(fits(given, wave) for wave in parts))


@st.composite
def problems(draw: st.DrawFn) -> WaveProblem:
    count = draw(st.integers(1, 7))
    members = st.sets(st.integers(0, count - 1), min_size=2)
    limits = draw(st.lists(st.tuples(members, st.integers(1, 3)), max_size=8)) if count > 1 else []
    return problem(count, *limits, most_in_wave=draw(st.sampled_from([None, None, 1, 2, 3])))


@given(problems())
def test_the_number_of_waves_is_minimal(given: WaveProblem) -> None:
    plan = plan_waves(given)
    assert sorted(node for wave in plan.waves for node in wave) == list(given.nodes)
    assert all(fits(given, list(wave)) and allowed(given, wave) for wave in plan.waves)
    assert plan.proven
    assert len(plan.waves) == plan.bound.waves == fewest(given)


@given(problems())
def test_without_a_search_the_bound_holds_all_the_same(given: WaveProblem) -> None:
    plan = plan_waves(given, most_steps=0)
    assert plan.bound.waves <= fewest(given) <= len(plan.waves)
    assert all(fits(given, list(wave)) for wave in plan.waves)


@given(problems(), st.integers(1, 200))
def test_a_search_that_is_cut_short_claims_nothing_wrong(given: WaveProblem, steps: int) -> None:
    plan = plan_waves(given, most_steps=steps)
    assert plan.bound.waves <= fewest(given) <= len(plan.waves)


@given(problems(), st.data())
def test_whether_any_nodes_may_be_down_together(given: WaveProblem, data: st.DataObject) -> None:
    for wave in data.draw(st.lists(st.lists(st.sampled_from(given.nodes), unique=True), max_size=9)):
        assert allowed(given, wave) is fits(given, wave), wave


def test_what_may_not_be_down_together() -> None:
    limited = problem(4, ({0, 1}, 1), ({1, 2, 3}, 2))
    assert [allowed(limited, wave) for wave in ((1, 2), (1, 3), (2, 3, 4), (3, 4))] == [False, True, False, True]
    assert not allowed(problem(4, most_in_wave=2), (1, 2, 3))
    assert allowed(problem(4, most_in_wave=2), (1, 2))


def cycle(length: int) -> list[tuple[set[int], int]]:
    return [({place, (place + 1) % length}, 1) for place in range(length)]


# Mycielski's graph of the five-cycle (Grötzsch): no triangle, and four colours are needed.
GROETZSCH = [
    *cycle(5),
    *(({5 + place, (place + 1) % 5}, 1) for place in range(5)),
    *(({5 + place, (place - 1) % 5}, 1) for place in range(5)),
    *(({10, 5 + place}, 1) for place in range(5)),
]
FANO = [{0, 1, 2}, {0, 3, 4}, {0, 5, 6}, {1, 3, 5}, {1, 4, 6}, {2, 3, 6}, {2, 4, 5}]
KNOWN = {
    "nothing": (problem(0), 0, BoundKind.NOTHING),
    "no limit": (problem(9), 1, BoundKind.CLIQUE),
    "a triangle": (problem(3, ({0, 1, 2}, 1)), 3, BoundKind.CLIQUE),
    "an even cycle": (problem(6, *cycle(6)), 2, BoundKind.CLIQUE),
    "an odd cycle": (problem(7, *cycle(7)), 3, BoundKind.SEARCH),
    "no triangle, four colours": (problem(11, *GROETZSCH), 4, BoundKind.SEARCH),
    "two of five": (problem(5, (set(range(5)), 2)), 3, BoundKind.LIMIT),
    "the Fano plane has no two-colouring": (problem(7, *((line, 2) for line in FANO)), 3, BoundKind.SEARCH),
    "small waves": (problem(7, most_in_wave=3), 3, BoundKind.MOST_IN_WAVE),
}  # fmt: skip


@pytest.mark.parametrize(("given", "waves", "kind"), KNOWN.values(), ids=KNOWN)
def test_known_numbers(given: WaveProblem, waves: int, kind: BoundKind) -> None:
    plan = plan_waves(given)
    assert (len(plan.waves), plan.bound.waves, plan.bound.kind) == (waves, waves, kind)


@pytest.mark.parametrize("steps", [0, 1, 20])
def test_without_enough_steps_nothing_is_proven(steps: int) -> None:
    plan = plan_waves(problem(11, *GROETZSCH), most_steps=steps)
    assert (plan.bound.waves, plan.bound.kind, plan.proven) == (2, BoundKind.CLIQUE, False)
    assert len(plan.waves) >= 4


def test_the_search_finds_what_the_rule_of_thumb_does_not() -> None:
    """1, 2, 5 and 3, 4 keep every limit: two waves, where DSATUR needs three."""
    given = problem(5, ({0, 1, 2, 3}, 2), ({1, 2, 3, 4}, 2), ({0, 3, 4}, 2))
    assert fits(given, [1, 2, 5])
    assert fits(given, [3, 4])
    assert len(plan_waves(given, most_steps=0).waves) == 3
    plan = plan_waves(given)
    assert (len(plan.waves), plan.bound.kind, plan.proven) == (2, BoundKind.LIMIT, True)
    assert all(fits(given, list(wave)) for wave in plan.waves)
    assert sorted(node for wave in plan.waves for node in wave) == [1, 2, 3, 4, 5]


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_two_groups_of_nodes_take_two_waves_without_a_search(left: int, right: int, data: st.DataObject) -> None:
    """DSATUR is exact on bipartite graphs (Brelaz, 1979): who may join the fewest waves comes first."""
    pairs = [(one, left + other) for one in range(left) for other in range(right)]
    limits = [({*pair}, 1) for pair in data.draw(st.lists(st.sampled_from(pairs), unique=True))]
    plan = plan_waves(problem(left + right, *limits), most_steps=0)
    assert len(plan.waves) == (2 if limits else 1)


def test_a_search_ends_when_its_steps_do() -> None:
    """Eight nodes in thirteen pairs: three waves by trying all, four by the rule of thumb."""
    pairs = ["03", "05", "07", "13", "15", "16", "23", "24", "26", "27", "45", "56", "67"]
    given = problem(8, *(({int(one), int(other)}, 1) for one, other in pairs))
    assert fewest(given) == len(plan_waves(given).waves) == 3
    assert len(plan_waves(given, most_steps=1).waves) == 4
    assert max(plan_waves(given, most_steps=steps).bound.waves for steps in range(100)) == 3, "cut short, not proven"


def test_more_than_300_nodes_are_not_searched() -> None:
    """An odd cycle needs three waves, which only a search shows."""
    assert plan_waves(problem(299, *cycle(299))).bound.kind is BoundKind.SEARCH
    plan = plan_waves(problem(301, *cycle(301)))
    assert (len(plan.waves), plan.bound.waves, plan.proven) == (3, 2, False)


def test_racks_whose_brokers_share_partitions_with_every_other_rack() -> None:
    """Sixty brokers in three racks: three waves, and one broker of each rack shows that fewer cannot be."""
    racks = [set(range(rack * 20, rack * 20 + 20)) for rack in range(3)]
    limits = [({one, other}, 1) for first, second in combinations(racks, 2) for one in first for other in second]
    plan = plan_waves(problem(60, *limits))
    assert (len(plan.waves), plan.proven, plan.bound.kind) == (3, True, BoundKind.CLIQUE)
    assert len({(node - 1) // 20 for node in plan.bound.nodes}) == 3


def test_groups_kept_apart() -> None:
    limits = kept_apart([{0, 1}, {2}, {3}])
    assert plan_waves(WaveProblem((1, 2, 3, 4), limits)).waves == ((1, 2), (3,), (4,))


def test_the_same_problem_gives_the_same_plan() -> None:
    given = problem(11, *GROETZSCH)
    assert plan_waves(given) == plan_waves(given)
