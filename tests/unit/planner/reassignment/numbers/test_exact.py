"""The exact planner against every target of small clusters, and its certificate against a plain verification."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from itertools import combinations, permutations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kreplica.errors import MissingExtraError
from kreplica.planner.reassignment.numbers.certified import Planned, plan
from kreplica.planner.reassignment.problem import Assignment, Problem, bytes_moved, moves, replica_counts, targets
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from kreplica.planner.reassignment.verification.verify import verify
from tests.support.examples import examples
from tests.support.plans.brute_force import best_target
from tests.support.plans.reassignments import (
    BALANCE,
    RACK_AWARE,
    SmallCluster,
    faults,
    placed,
    requests,
    small_clusters,
)

DRAIN = Reason(ReasonKind.DRAIN, (1,))
REQUESTS = (
    Request((BALANCE,)),
    Request((RACK_AWARE, BALANCE)),
    Request((DRAIN, BALANCE)),
    Request((RACK_AWARE,)),
    Request((DRAIN, RACK_AWARE)),
)
RACKS: tuple[tuple[str | None, ...], ...] = ((None,) * 4, tuple("aabc"), tuple("aabb"), tuple("aaab"))


def compared(cluster: SmallCluster, request: Request) -> None:
    """Fails where the planner's answer is not that of trying every target, or the certificate leaves a gap."""
    problem = cluster.problem(request)
    planned = plan(problem, prove=True)
    if len(planned.constraints.stuck):
        return
    loads = replica_counts(problem, planned.assignment)[problem.alive & ~problem.leaving]
    unequal = int((loads**2).sum()) if BALANCE in request.reasons else 0
    found = unequal, moves(problem, planned.assignment), bytes_moved(problem, planned.assignment)
    assert found == best_target(cluster, request), (cluster, request)
    assert planned.certificate.optimal, (cluster, request, planned.certificate.bounds)


def _every_cluster(brokers: int, racks: tuple[str | None, ...], partitions: int) -> list[SmallCluster]:
    """Every assignment of one to three replicas, with sizes of which no two sums are equal."""
    sets = [list(some) for factor in (1, 2, 3) for some in combinations(range(1, brokers + 1), factor)]
    names = dict(enumerate(racks, start=1))
    sizes = {number: 3**number for number in range(partitions)}
    return [SmallCluster(names, dict(enumerate(chosen)), sizes) for chosen in product(sets, repeat=partitions)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("racks", RACKS)
@pytest.mark.parametrize("request_", REQUESTS[:3])
def test_all_clusters_of_four_brokers_and_three_partitions(racks: tuple[str | None, ...], request_: Request) -> None:
    fixed = {broker for reason in request_.reasons for broker in reason.brokers}
    alike = [
        dict(enumerate(order, start=1))
        for order in permutations(range(1, 5))
        if all(racks[one - 1] == racks[other - 1] for one, other in enumerate(order, start=1))
        and all(order[one - 1] == one for one in fixed)
    ]
    for cluster in _every_cluster(4, racks, 3):
        if _first_of_its_kind(cluster, alike):
            compared(cluster, request_)


def _first_of_its_kind(cluster: SmallCluster, alike: list[dict[int, int]]) -> bool:
    """True for one of the clusters that differ by the names of brokers only, which nothing tells apart."""
    own = [sorted(replicas) for replicas in cluster.replicas.values()]
    return all(own <= [sorted(names[one] for one in replicas) for replicas in own] for names in alike)


@pytest.mark.one_python
@pytest.mark.parametrize("racks", RACKS)
def test_some_clusters_of_four_brokers_and_three_partitions(racks: tuple[str | None, ...]) -> None:
    seed = 20
    print(f"seed {seed}")
    every = _every_cluster(4, racks, 3)
    for request in REQUESTS:
        for cluster in random.Random(seed).sample(every, 20):
            compared(cluster, request)


@pytest.mark.one_python
@pytest.mark.parametrize("request_", REQUESTS)
def test_some_clusters_of_five_brokers_and_four_partitions(request_: Request) -> None:
    seed = 54
    print(f"seed {seed}")
    draw = random.Random(seed)
    for _ in range(6):
        racks = dict(enumerate(draw.choice(["aabbc", "abcde", "aaabc", "aaaaa"]), start=1))
        lists = {number: draw.sample(range(1, 6), draw.choice([1, 2, 3])) for number in range(4)}
        compared(SmallCluster(racks, lists, {number: 3**number for number in lists}), request_)


@given(st.data())
def test_the_replicas_of_before_restore_loads_and_cost_as_much(data: st.DataObject) -> None:
    cluster = data.draw(small_clusters())
    assume(any(map(cluster.in_sync, cluster.replicas)))  # somebody leads a partition that can be planned
    before = cluster.problem(Request((RACK_AWARE, BALANCE)))
    planned = plan(before)
    there = SmallCluster(cluster.racks, placed(before, planned.assignment), cluster.sizes)
    after = there.problem(Request(()))
    rows = [before.numbers.tolist().index(number) for number in after.numbers.tolist()]
    back = targets(after, Assignment(before.replicas[rows]))
    changed = targets(before, planned.assignment)
    restored = {key: tuple(cluster.replicas[key[1]]) for key in changed}
    assert back == restored
    assert moves(after, Assignment(before.replicas[rows])) == moves(before, planned.assignment)


@examples(1)
@given(small_clusters(most_partitions=3, most_brokers=5), st.sampled_from(REQUESTS))
def test_any_small_cluster(cluster: SmallCluster, request_: Request) -> None:
    compared(cluster, request_)


@examples(2)
@given(st.data())
def test_every_plan_is_legal_and_its_certificate_holds(data: st.DataObject) -> None:
    cluster = data.draw(small_clusters())
    request = data.draw(requests(cluster))
    problem = cluster.problem(request)
    prove = data.draw(st.booleans())
    planned = plan(problem, prove=prove)
    stuck = {int(problem.numbers[row]) for row in planned.constraints.stuck}
    assert faults(cluster, request, stuck, placed(problem, planned.assignment)) == []
    assert verify(problem.snapshot, targets(problem, planned.assignment), planned.certificate) == []
    assert planned.certificate.optimal or not prove
    again = plan(cluster.problem(request), prove=prove)
    assert again.assignment.replicas.tobytes() == planned.assignment.replicas.tobytes()


def _proven() -> tuple[Problem, Planned]:
    racks: dict[int, str | None] = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
    lists = {number: [1, 2, 3] if number < 5 else [4, 2, 3] for number in range(8)}
    problem = SmallCluster(racks, lists, {number: 10 + number for number in lists}).problem(Request((BALANCE,)))
    return problem, plan(problem)


def test_the_plan_that_is_forged_below_is_in_order() -> None:
    problem, planned = _proven()
    assert planned.certificate.optimal
    assert all(bound.value > 0 and bound.prices for bound in planned.certificate.bounds)
    assert verify(problem.snapshot, targets(problem, planned.assignment), planned.certificate) == []


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("field", ["value", "lower_bound", "prices", "move_cost"])
def test_a_forged_bound_is_found(place: int, field: str) -> None:
    problem, planned = _proven()
    bounds = list(planned.certificate.bounds)
    bound = bounds[place]
    forged = {broker: 2 * price + 1 for broker, price in bound.prices.items()}
    changed = {"value": bound.value - 1, "lower_bound": bound.lower_bound + 1, "prices": forged}
    bounds[place] = replace(bound, **{field: changed.get(field, bound.move_cost + 1)})
    certificate = replace(planned.certificate, bounds=tuple(bounds))
    assert verify(problem.snapshot, targets(problem, planned.assignment), certificate)


@examples(1)
@given(st.data())
def test_an_illegal_target_is_found(data: st.DataObject) -> None:
    problem, planned = _proven()
    goals = targets(problem, planned.assignment)
    key = data.draw(st.sampled_from(sorted(goals)))
    wrong = tuple(data.draw(st.lists(st.sampled_from(range(1, 8)), min_size=1, max_size=4)))
    same = set(wrong) == set(goals[key]) and len(wrong) == len(goals[key])
    assert bool(verify(problem.snapshot, {**goals, key: wrong}, planned.certificate)) is not same


def test_a_partition_out_of_scope_may_not_be_changed() -> None:
    problem, planned = _proven()
    found = verify(problem.snapshot, {("other", 0): (1, 2, 3)}, planned.certificate)
    assert "('other', 0) is not free to change" in found


def test_without_or_tools_a_proof_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    problem, _ = _proven()
    with pytest.raises(MissingExtraError, match=r"kreplica\[plan\]"):
        plan(problem, prove=True)
    assert plan(problem).certificate.optimal
