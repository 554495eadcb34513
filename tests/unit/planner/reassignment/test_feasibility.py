"""Requests that cannot be fulfilled are named before planning, with the aim that is taken instead."""

from __future__ import annotations

import pytest

from kreplica.planner.reassignment.constraints import make_constraints
from kreplica.planner.reassignment.feasibility import Obstacle, ObstacleKind, obstacles
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from tests.support.plans.reassignments import BALANCE, RACK_AWARE, SmallCluster


def found(cluster: SmallCluster, request: Request) -> list[Obstacle]:
    problem = cluster.problem(request)
    return obstacles(problem, make_constraints(problem))


def factor(number: int) -> Request:
    return Request((Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=number),))


EQUAL = SmallCluster({1: "a", 2: "b", 3: "c"}, {0: [1, 2, 3], 1: [2, 3, 1]}, {0: 5, 1: 50})
UNEQUAL = SmallCluster({1: "a", 2: "b", 3: "c", 4: "c"}, {number: [1, 2, 3] for number in range(5)})
DRAIN = Reason(ReasonKind.DRAIN, (1,))


@pytest.mark.parametrize(
    ("cluster", "request_", "kind", "refused", "said"),
    [
        (EQUAL, factor(4), ObstacleKind.TOO_FEW_BROKERS, True, "factor 4 is more than the 3 brokers"),
        (EQUAL, factor(1), ObstacleKind.BELOW_MIN_ISR, True, "min.insync.replicas of 2 partitions, orders-0, orders-1"),
        (
            SmallCluster({1: "a", 2: "b", 3: "b", 4: "a"}, {0: [1, 2, 3]}),
            Request((RACK_AWARE,)),
            ObstacleKind.FEWER_RACKS,
            False,
            "1 partition with more replicas than the 2 racks: orders-0",
        ),
        (UNEQUAL, Request((BALANCE,)), ObstacleKind.UNEQUAL_RACKS, False, "5 in a, 5 in b, 2.5 in c for each broker"),
        (
            SmallCluster({1: "a", 2: "b", 3: "c", 4: "a"}, {0: [1, 2, 3], 1: [2, 3, 4]}, {0: 50, 1: 60}),
            Request((DRAIN,), max_bytes=20),
            ObstacleKind.ABOVE_THE_CAP,
            False,
            "1 partition above --max-bytes 20 alone: orders-0",
        ),
        (EQUAL, Request((DRAIN,)), ObstacleKind.STUCK, False, "2 partitions whose last"),
    ],
)
def test_what_cannot_be_had_is_named(
    cluster: SmallCluster, request_: Request, kind: ObstacleKind, refused: bool, said: str
) -> None:
    (one,) = [one for one in found(cluster, request_) if one.kind is kind]
    assert one.refused is refused
    assert said in one.message
    assert one.refused or one.instead


@pytest.mark.parametrize(
    ("cluster", "request_"),
    [
        (EQUAL, Request((BALANCE, RACK_AWARE))),
        (EQUAL, factor(2)),
        (UNEQUAL, Request((RACK_AWARE,))),
        (SmallCluster({**EQUAL.racks, 4: "a"}, EQUAL.replicas, EQUAL.sizes), Request((DRAIN,), max_bytes=50)),
    ],
)
def test_what_can_be_had_is_not_named(cluster: SmallCluster, request_: Request) -> None:
    assert found(cluster, request_) == []
