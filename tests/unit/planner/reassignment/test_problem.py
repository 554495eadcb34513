"""A cluster as arrays: who may receive, what is left out, sizes, and what an assignment adds and removes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kreplica.errors import UsageError
from kreplica.model.tables.schema import REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.problem import (
    NOBODY,
    Assignment,
    Problem,
    added,
    bytes_moved,
    changed,
    leader_changes,
    make_problem,
    moves,
    removed,
    replica_counts,
    targets,
)
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from tests.support.clusters.generated import partition, snapshot_of

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b"}
BROKERS = [{"broker": broker, "rack": rack, "alive": True, "fenced": False} for broker, rack in RACKS.items()]
ANYTHING = Request(())


def made(
    *partitions: dict[str, Any], request: Request = ANYTHING, copies: tuple[dict[str, Any], ...] = (), **facts: Any
) -> Problem:
    brokers = facts.pop("brokers", BROKERS)
    rows = [{"log_dir": "/data", "future": False, "topic": "orders", "partition": 0, **copy} for copy in copies]
    snapshot = snapshot_of(partitions, brokers, **facts, replicas=Table.from_rows(REPLICAS, rows))
    return make_problem(snapshot, request)


def test_replicas_are_positions_of_brokers_with_nobody_on_the_right() -> None:
    found = made(partition(), partition(number=1, replicas=[5, 4], isr=[4], leader=4))
    assert found.brokers.tolist() == [1, 2, 3, 4, 5]
    assert found.replicas.tolist() == [[0, 1, 2], [4, 3, NOBODY]]
    assert found.in_sync.tolist() == [[True, True, True], [False, True, False]]
    assert found.leader.tolist() == [0, 3]
    assert found.factor.tolist() == [3, 2]
    assert [found.rack_names[rack] for rack in found.racks] == list(RACKS.values())


def test_an_assigned_broker_that_is_not_registered_is_a_broker_and_no_destination() -> None:
    found = made(partition(replicas=[1, 2, 9]))
    assert found.brokers.tolist() == [1, 2, 3, 4, 5, 9]
    assert found.destination.tolist() == [True] * 5 + [False]


def test_partitions_without_a_live_leader_and_those_being_reassigned_are_left_out() -> None:
    found = made(
        partition(),
        partition(number=1, leader=-1),
        partition(number=2, replicas=[1, 2, 3, 4], adding=[4]),
        partition(number=3, leader=9),
    )
    assert found.rows.tolist() == [0]
    assert found.leaderless.tolist() == [1, 3]
    assert found.reassigning.tolist() == [2]


@pytest.mark.parametrize(
    ("request_", "closed"),
    [
        (Request((Reason(ReasonKind.DRAIN, (3,)),)), {3}),
        (Request((Reason(ReasonKind.REPAIR, (3, 4)),)), {3, 4}),
        (Request((), excluded_brokers=(2,)), {2}),
        (Request((), to=(2, 5)), {1, 3, 4}),
    ],
)
def test_brokers_that_receive_nothing(request_: Request, closed: set[int]) -> None:
    found = made(partition(), request=request_)
    assert set(found.brokers[~found.destination].tolist()) == closed


def test_dead_fenced_and_cordoned_brokers_and_those_without_a_directory_receive_nothing() -> None:
    brokers = [{**broker, "alive": broker["broker"] != 4, "cordoned": broker["broker"] == 5} for broker in BROKERS]
    dirs = [
        {"broker": 1, "path": "/a", "error": "KAFKA_STORAGE_ERROR"},
        {"broker": 1, "path": "/b", "error": None},
        {"broker": 2, "path": "/a", "error": "KAFKA_STORAGE_ERROR"},
    ]
    snapshot = snapshot_of([partition(leader=1)], brokers, dirs)
    found = make_problem(snapshot, ANYTHING)
    assert found.brokers[found.destination].tolist() == [1, 3]
    assert "broker 5 is cordoned and receives no replica" in found.remarks


def test_the_size_is_that_of_the_copy_of_the_leader_else_the_largest() -> None:
    copies = (
        {"broker": 1, "size": 10},
        {"broker": 2, "size": 30},
        {"broker": 1, "size": 90, "future": True},
        {"partition": 1, "broker": 2, "size": 7},
        {"partition": 1, "broker": 3, "size": 5},
        {"topic": "unseen", "broker": 3, "size": 5},
    )
    found = made(partition(), partition(number=1), partition(number=2), copies=copies)
    assert found.sizes.tolist() == [10, 7, 0]
    assert found.size_known.tolist() == [True, True, False]
    assert "the size of 1 partition is not known and counts as 0 bytes" in found.remarks


def test_scope_by_topic() -> None:
    rows = [partition("orders"), partition("events"), partition("__consumer_offsets")]
    found = made(*rows, request=Request((), topics="orders,events", excluded_topics="ev.*"))
    assert [found.key(place) for place in range(len(found))] == [("orders", 0)]


def test_names_that_do_not_exist_are_refused() -> None:
    for wrong in (
        Request((Reason(ReasonKind.DRAIN, (7,)),)),
        Request((), to=(7,)),
        Request((), excluded_brokers=(7,)),
        Request((), topics="nothing"),
        Request((), weights={("orders", 5): 1}),
    ):
        with pytest.raises(UsageError):
            made(partition(), request=wrong)


def test_weights_stand_in_the_row_of_their_partition() -> None:
    found = made(partition(), partition(number=1), request=Request((), weights={("orders", 1): 30_000}))
    assert found.weights.tolist() == [0, 30_000]


def test_what_an_assignment_adds_and_removes() -> None:
    copies = ({"broker": 1, "size": 10}, {"partition": 1, "broker": 1, "size": 100})
    found = made(partition(), partition(number=1), partition(number=2), copies=copies)
    target = Assignment(np.array([[0, 1, 4], [2, 0, 1], [0, 1, 2]], dtype=np.int32))
    assert added(found, target).tolist() == [[False, False, True], [False] * 3, [False] * 3]
    assert removed(found, target).tolist() == [[False, False, True], [False] * 3, [False] * 3]
    assert moves(found, target) == 1
    assert bytes_moved(found, target) == 10
    assert leader_changes(found, target) == 1
    assert changed(found, target).tolist() == [0, 1]
    assert targets(found, target) == {("orders", 0): (1, 2, 5), ("orders", 1): (3, 1, 2)}
    assert replica_counts(found, target).tolist() == [3, 3, 2, 0, 1]


def test_a_wanted_replication_factor_makes_room_for_it() -> None:
    reason = Reason(ReasonKind.REPLICATION_FACTOR, replication_factor=4)
    found = made(partition(), request=Request((reason,)))
    assert found.replicas.tolist() == [[0, 1, 2, NOBODY]]
    assert found.factor.tolist() == [4]
