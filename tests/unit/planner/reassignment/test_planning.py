"""Plans from a snapshot and a request: leaders, limits, and what cannot be planned."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.model.tables.schema import BROKERS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.moves.effects import effects_of
from kreplica.planner.reassignment.planning import PlanningLimits, plan_reassignment
from kreplica.planner.reassignment.problem import bytes_moved, leader_changes, moves, replica_counts
from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind, Request
from tests.support.examples import examples
from tests.support.plans.reassignments import BALANCE, SmallCluster, requests, small_clusters

UNKNOWN_DISKS = PlanningLimits(ignore_capacity=True)
LEADERS = Reason(ReasonKind.BALANCE, measure=Measure.LEADERS)
SIX = SmallCluster({1: "a", 2: "b", 3: "c"}, {number: [1, 2, 3] for number in range(6)}, {3: 7})


def test_leaders_are_spread_by_order_alone() -> None:
    planned = plan_reassignment(SIX.snapshot(), Request((LEADERS,)), UNKNOWN_DISKS)
    led = Counter({1: 6})
    for replicas in planned.targets.values():
        assert sorted(replicas) == [1, 2, 3]
        led.update({1: -1, replicas[0]: 1})
    assert led == {1: 2, 2: 2, 3: 2}
    assert moves(planned.problem, planned.assignment) == 0


def test_excluded_and_dead_brokers_lead_no_more_than_they_did() -> None:
    for cluster, excluded in ((replace(SIX, dead=frozenset({3})), ()), (SIX, (3,))):
        planned = plan_reassignment(cluster.snapshot(), Request((LEADERS,), excluded_brokers=excluded), UNKNOWN_DISKS)
        assert Counter(replicas[0] for replicas in planned.targets.values()) == {2: 3}


@pytest.mark.parametrize(
    ("cordoned", "dead", "request_", "said"),
    [
        ({3}, set(), Request((Reason(ReasonKind.ADD, (3,)),)), "broker 3 cannot be added; all of its log directories"),
        (set(), {3}, Request((Reason(ReasonKind.ADD, (3,)),)), "broker 3 cannot be added; it is not alive"),
        (set(), set(), Request((Reason(ReasonKind.ADD, (2,)),), to=(3,)), "broker 2 cannot be added; --to does not"),
        ({2, 3}, {1}, Request((Reason(ReasonKind.RACK_AWARE),)), "broker 1 not alive, brokers 2, 3 cordoned"),
    ],
)
def test_brokers_that_may_not_receive_are_no_place_to_add_to(
    cordoned: set[int], dead: set[int], request_: Request, said: str
) -> None:
    snapshot = replace(SIX, dead=frozenset(dead)).snapshot()
    rows = [{**row, "cordoned": row["broker"] in cordoned} for row in snapshot.brokers.rows()]
    with pytest.raises(UsageError) as refused:
        plan_reassignment(replace(snapshot, brokers=Table.from_rows(BROKERS, rows)), request_, UNKNOWN_DISKS)
    assert said in str(refused.value)


def test_limits_keep_the_urgent_and_the_small() -> None:
    """Partition 3 alone is at min ISR, and the largest."""
    cluster = replace(
        SIX, racks={**SIX.racks, 4: "d"}, sizes=dict.fromkeys(range(6), 5) | {3: 7, 4: 1}, lagging=frozenset({(3, 2)})
    )
    request = Request((Reason(ReasonKind.DRAIN, (1,)),), max_moves=2)
    planned = plan_reassignment(cluster.snapshot(), request, UNKNOWN_DISKS)
    urgent = {key[1] for key in planned.targets}
    assert len(urgent) == 2
    assert 4 in urgent, "the smallest"
    assert set(planned.capped.values()) == {"above --max-moves 2"}
    by_bytes = plan_reassignment(cluster.snapshot(), replace(request, max_moves=None, max_bytes=6), UNKNOWN_DISKS)
    assert bytes_moved(by_bytes.problem, by_bytes.assignment) == 6
    none = plan_reassignment(cluster.snapshot(), replace(request, max_moves=None, max_leader_changes=0), UNKNOWN_DISKS)
    assert leader_changes(none.problem, none.assignment) == 0


@pytest.mark.one_python
@examples(2)
@given(st.data())
def test_limits_hold_and_what_they_leave_out_is_named(data: st.DataObject) -> None:
    cluster = data.draw(small_clusters())
    request = data.draw(requests(cluster))
    try:
        whole = plan_reassignment(cluster.snapshot(), request, UNKNOWN_DISKS)
    except UsageError:
        return
    limits = [data.draw(st.none() | st.integers(0, 6)) for _ in range(3)]
    limited = replace(request, max_moves=limits[0], max_bytes=limits[1], max_leader_changes=limits[2])
    planned = plan_reassignment(cluster.snapshot(), limited, UNKNOWN_DISKS)
    reached = [measure(planned.problem, planned.assignment) for measure in (moves, bytes_moved, leader_changes)]
    assert all(limit is None or value <= limit for value, limit in zip(reached, limits, strict=True))
    assert planned.targets.keys() | planned.capped.keys() == whole.targets.keys()
    assert not planned.targets.keys() & planned.capped.keys()
    assert all(whole.targets[key] == replicas for key, replicas in planned.targets.items())


def test_nobody_to_receive_is_refused() -> None:
    with pytest.raises(UsageError, match="no broker may receive a replica"):
        plan_reassignment(SIX.snapshot(), Request((Reason(ReasonKind.DRAIN, (1, 2, 3)),)), UNKNOWN_DISKS)


@pytest.mark.parametrize(
    "reason", [*(Reason(ReasonKind.BALANCE, measure=one) for one in Measure), Reason(ReasonKind.RACK_AWARE)]
)
def test_a_cluster_without_visible_topics_has_nothing_to_move(reason: Reason) -> None:
    empty = SIX.snapshot().without_partitions()
    planned = plan_reassignment(empty, Request((reason,)), UNKNOWN_DISKS)
    assert planned.targets == {}
    assert effects_of(planned.problem, planned.assignment.replicas).moves == 0


@pytest.mark.parametrize("prove", [False, True])
def test_numbers_that_a_plan_misses_are_named(prove: bool) -> None:
    """Both replicas of broker 2 are the only ones in sync and stay; its rack has nothing else for broker 3."""
    lists, lagging = {0: [1, 2], 1: [1, 2]}, frozenset({(0, 1), (1, 1)})
    cluster = SmallCluster({1: "b", 2: "c", 3: "c"}, lists, dict.fromkeys(lists, 1), lagging=lagging)
    planned = plan_reassignment(cluster.snapshot(), Request((BALANCE,), prove=prove), UNKNOWN_DISKS)
    certificate = planned.certificate()
    assert [(miss.broker, miss.reached, miss.lower, miss.upper) for miss in certificate.missed] == [(3, 0, 1, 1)]
    assert not certificate.optimal
    assert {bound.short for bound in planned.bounds} == {"broker 3 outside the numbers that were wanted"}
    assert [(bound.of_reached, bound.optimal) for bound in planned.bounds] == [(True, False)] * 2


def test_numbers_that_can_be_had_are_reached_without_a_proof() -> None:
    """Every broker can hold 4 replicas."""
    lists = {0: [5, 1, 3], 1: [3, 4, 5], 2: [2, 3, 5], 3: [5, 3], 4: [3, 1, 2], 5: [3, 1, 2], 6: [5, 2, 1]}
    cluster = SmallCluster({1: "b", 2: "a", 3: "b", 4: "b", 5: "b"}, lists, dict.fromkeys(lists, 1))
    for prove in (False, True):
        planned = plan_reassignment(cluster.snapshot(), Request((BALANCE,), prove=prove), UNKNOWN_DISKS)
        assert planned.certificate().missed == ()
        assert {bound.short for bound in planned.bounds} == {""}
        assert replica_counts(planned.problem, planned.assignment).tolist() == [4] * 5
