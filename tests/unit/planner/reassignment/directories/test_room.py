"""Room in log directories and relief of full ones: against every choice of small volumes, and by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, LOG_DIRS, PARTITIONS, REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.balances.relief import relieve
from kreplica.planner.reassignment.board import Layout
from kreplica.planner.reassignment.directories.room import (
    DirectoryRoom,
    choose_directories,
    log_directories,
    require_capacity,
)
from kreplica.planner.reassignment.problem import Problem, make_problem
from kreplica.planner.reassignment.request import Request
from tests.support.clusters.generated import snapshot_of

Copies = list[tuple[int, str, int]]
"""Broker, directory and bytes of the only copy of each partition."""


def problem_of(
    copies: Copies,
    volumes: dict[tuple[int, str], tuple[int | None, int | None]],
    cordoned: frozenset[tuple[int, str]] = frozenset(),
) -> Problem:
    """Partition N of one topic has the N-th copy as its only replica; volumes are total and usable bytes."""
    brokers = sorted({broker for broker, _ in volumes})
    rows = [
        {"topic": "t", "partition": number, "internal": False, "leader": broker, "replicas": [broker], "isr": [broker]}
        for number, (broker, _, _) in enumerate(copies)
    ]
    held = [
        {"topic": "t", "partition": n, "broker": broker, "log_dir": path, "size": size, "future": False}
        for n, (broker, path, size) in enumerate(copies)
    ]
    dirs = [
        {
            "broker": broker,
            "path": path,
            "total_bytes": total,
            "usable_bytes": usable,
            "cordoned": (broker, path) in cordoned,
        }
        for (broker, path), (total, usable) in volumes.items()
    ]
    snapshot = ClusterSnapshot(
        cluster_id="c",
        name="c",
        taken_at=datetime(2026, 3, 1, tzinfo=UTC),
        source="kafka",
        partitions=Table.from_rows(PARTITIONS, rows),
        brokers=Table.from_rows(BROKERS, [{"broker": one, "alive": True} for one in brokers]),
        log_dirs=Table.from_rows(LOG_DIRS, dirs),
        replicas=Table.from_rows(REPLICAS, held),
    )
    return make_problem(snapshot, Request(reasons=()))


def layout_of(problem: Problem) -> Layout:
    return Layout(
        problem.replicas, problem.racks, problem.destination, np.ones(problem.replicas.shape, np.bool_), problem.sizes
    )


def test_directories_are_read_with_those_that_stand_in_them() -> None:
    volumes = {(7, "/a"): (100, 30), (3, "/b"): (200, 200), (3, "/a"): (50, None)}
    problem = problem_of([(7, "/a", 5), (3, "/b", 6), (3, "/gone", 7)], volumes)
    found = log_directories(problem)
    named = list(zip(problem.brokers[found.broker].tolist(), found.paths, strict=True))
    assert named == [(3, "/a"), (3, "/b"), (7, "/a")]
    assert found.known.tolist() == [False, True, True]
    assert found.used.tolist()[1:] == [0, 70]
    assert [named[one] if one >= 0 else None for one in found.of_replica[:, 0].tolist()] == [(7, "/a"), (3, "/b"), None]


def test_copies_go_where_most_room_is_left_and_none_above_the_cap() -> None:
    """Broker 1 has 75 - 20 = 55 bytes left in /a and 70 in /b at a cap of 75 %; what is planned counts."""
    problem = problem_of(
        [(2, "/a", size) for size in (40, 30, 30, 20, 5)],
        {(1, "/a"): (100, 80), (1, "/b"): (100, 95), (2, "/a"): (999, 900)},
    )
    directories = log_directories(problem)
    room = DirectoryRoom(directories, 2, max_used=0.75)
    misfits = choose_directories(problem, np.zeros_like(problem.replicas), room)
    chosen = {row: directories.paths[one] for (row, _), one in room.chosen.items()}
    assert chosen == {0: "/b", 1: "/a", 2: "/b", 3: "/a", 4: "/a"}
    assert misfits == []
    tighter = DirectoryRoom(directories, 2, max_used=0.55)  # 35 and 50: 40 and 5 to /b, 30 to /a
    assert choose_directories(problem, np.zeros_like(problem.replicas), tighter) == [(2, 0), (3, 0)]


def test_what_stays_is_no_copy_and_needs_no_room() -> None:
    problem = problem_of([(1, "/a", 40)], {(1, "/a"): (100, 0)})
    assert choose_directories(problem, problem.replicas, DirectoryRoom(log_directories(problem), 1)) == []


def test_unknown_capacity_is_refused_or_ignored() -> None:
    problem = problem_of([(2, "/a", 40)], {(1, "/a"): (None, None), (2, "/a"): (100, 50)})
    directories = log_directories(problem)
    require_capacity(problem, directories, [1])
    with pytest.raises(UsageError, match="free space of broker 1 is not known"):
        require_capacity(problem, directories, [0, 1])
    assert DirectoryRoom(directories, 2).fits(0).tolist() == [True, True]
    assert DirectoryRoom(directories, 2).fits(1).tolist() == [False, True]
    assert DirectoryRoom(directories, 2, ignore_capacity=True).fits(1 << 50).tolist() == [True, False]


def test_a_cordoned_directory_takes_nothing_however_much_room_it_has() -> None:
    """The broker answers INVALID_REPLICA_ASSIGNMENT, for a copy of no bytes, too."""
    volumes = {(1, "/a"): (100, 95), (1, "/b"): (900, 900), (2, "/a"): (100, 50)}
    problem = problem_of([(2, "/a", 5), (2, "/a", 0), (1, "/a", 5)], volumes, frozenset({(1, "/b")}))  # type: ignore[arg-type]
    directories = log_directories(problem)
    for ignore_capacity in (False, True):
        room = DirectoryRoom(directories, 2, ignore_capacity=ignore_capacity)
        assert choose_directories(problem, np.zeros_like(problem.replicas), room) == []
        assert {directories.paths[one] for one in room.chosen.values()} == {"/a"}
    relief = relieve(layout_of(problem), directories, DirectoryRoom(directories, 2), 0, 0.0, path="/a")
    assert relief.directory_moves == ()
    only = problem_of([(2, "/a", 0)], {(1, "/a"): (100, 95), (2, "/a"): (100, 50)}, frozenset({(1, "/a")}))
    for ignore_capacity in (False, True):
        room = DirectoryRoom(log_directories(only), 2, ignore_capacity=ignore_capacity)
        assert choose_directories(only, np.zeros_like(only.replicas), room) == [(0, 0)]


@examples(2)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.floats(0.05, 0.9))
def test_relief_moves_at_least_what_it_has_to_and_not_more_than_one_by_one(sizes: list[int], share: float) -> None:
    total = sum(sizes)
    problem = problem_of(
        [(1, "/a", size) for size in sizes], {(1, "/a"): (total, 0), (1, "/b"): (2000, 2000), (2, "/a"): (2000, 2000)}
    )
    directories = log_directories(problem)
    for path, same_broker in (("/a", True), (None, False)):
        room = DirectoryRoom(directories, 2)
        used = total if path else total + 0
        capacity = total if path else total + 2000
        wanted = share if path else share * used / capacity
        relief = relieve(layout_of(problem), directories, room, 0, wanted, path=path)
        need = used - int(capacity * wanted)
        covers = [sum(some) for number in range(len(sizes) + 1) for some in combinations(sizes, number)]
        least = min(cover for cover in covers if cover >= need)
        assert (relief.bound, relief.left) == (need, 0)
        assert relief.least == relief.moved == least, "few replicas: exactly"
        assert (len(relief.directory_moves) > 0) == (same_broker and need > 0)
        gone = problem.sizes[(relief.replicas != problem.replicas).any(axis=1)].sum()
        assert gone == (0 if same_broker else relief.moved)


def test_relief_goes_to_another_broker_where_no_neighbour_has_room_and_says_what_is_left() -> None:
    problem = problem_of(
        [(1, "/a", 60), (1, "/a", 30)], {(1, "/a"): (100, 10), (1, "/b"): (100, 50), (2, "/a"): (100, 60)}
    )
    directories = log_directories(problem)
    relief = relieve(layout_of(problem), directories, DirectoryRoom(directories, 2), 0, 0.2, path="/a")
    assert [(move.row, directories.paths[move.destination]) for move in relief.directory_moves] == [(1, "/b")]
    assert relief.replicas.tolist() == [[0], [0]]  # 60 bytes fit nowhere: 35 left on /b, 45 on broker 2
    assert (relief.moved, relief.bound, relief.left) == (30, 70, 40)
    full = DirectoryRoom(directories, 2, max_used=0.5)
    assert relieve(layout_of(problem), directories, full, 0, 0.65, path="/a").left == 25
    with pytest.raises(UsageError, match="log directory /c of known capacity"):
        relieve(layout_of(problem), directories, full, 0, 0.2, path="/c")


@examples(2)
@given(st.data())
def test_relief_of_partitions_with_several_replicas_is_legal_and_against_every_choice(data: st.DataObject) -> None:
    """Two replicas of each partition on three brokers; broker 1 is relieved to others, against every set that leaves.

    A replica of broker 1 can leave if the third broker has room. The least that covers the need, over every set of
    them that fits, is what nothing goes below; relief is never above it by as much as one more replica.
    """
    others = data.draw(st.lists(st.sampled_from((2, 3)), min_size=1, max_size=7))
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=len(others), max_size=len(others)))
    free = {broker: data.draw(st.integers(0, 120)) for broker in (2, 3)}
    share = data.draw(st.floats(0.0, 1.0))
    total = sum(sizes)
    volumes: dict[tuple[int, str], tuple[int | None, int | None]] = {(1, "/a"): (total, 0)}
    volumes |= {(broker, "/a"): (1000, room) for broker, room in free.items()}
    problem = problem_of_pairs([(1, other) for other in others], sizes, volumes)
    room = DirectoryRoom(log_directories(problem), 3, max_used=1.0)
    relief = relieve(layout_of(problem), log_directories(problem), room, 0, share)
    ids = [[int(problem.brokers[one]) for one in row] for row in relief.replicas.tolist()]
    gone = [row for row, brokers in enumerate(ids) if 1 not in brokers]
    assert all(len(set(brokers)) == 2 for brokers in ids)
    assert all(
        brokers == ([5 - other, other] if row in gone else [1, other])
        for row, (brokers, other) in enumerate(zip(ids, others, strict=True))
    )
    need = total - int(total * share)
    weights = {broker: sum(sizes[row] for row in gone if 5 - others[row] == broker) for broker in (2, 3)}
    assert all(weights[broker] <= free[broker] for broker in (2, 3)), "no volume above its cap"
    assert relief.moved == sum(sizes[row] for row in gone)
    assert relief.left == max(0, need - relief.moved)
    fitting = [
        sum(sizes[row] for row in some)
        for number in range(len(others) + 1)
        for some in combinations(range(len(others)), number)
        if all(sum(sizes[row] for row in some if 5 - others[row] == broker) <= free[broker] for broker in (2, 3))
    ]
    covers = [size for size in fitting if size >= need]
    if relief.left:
        stays = [row for row in range(len(others)) if row not in gone]
        assert all(weights[5 - others[row]] + sizes[row] > free[5 - others[row]] for row in stays), "nothing more fits"
    else:
        assert min(covers) <= relief.moved < need + max(sizes)


def problem_of_pairs(
    pairs: list[tuple[int, int]], sizes: list[int], volumes: dict[tuple[int, str], tuple[int | None, int | None]]
) -> Problem:
    """Partition N has the N-th two brokers as its replicas, each in the directory /a."""
    rows = [
        {"topic": "t", "partition": n, "internal": False, "leader": a, "replicas": [a, b], "isr": [a, b]}
        for n, (a, b) in enumerate(pairs)
    ]
    held = [
        {"topic": "t", "partition": n, "broker": one, "log_dir": "/a", "size": size, "future": False}
        for n, (pair, size) in enumerate(zip(pairs, sizes, strict=True))
        for one in pair
    ]
    dirs = [
        {"broker": broker, "path": path, "total_bytes": total, "usable_bytes": usable}
        for (broker, path), (total, usable) in volumes.items()
    ]
    brokers = [{"broker": one, "alive": True} for one in sorted({broker for broker, _ in volumes})]
    return make_problem(snapshot_of(rows, brokers, dirs, replicas=Table.from_rows(REPLICAS, held)), Request(reasons=()))


def test_what_an_earlier_stage_took_out_need_not_leave_again() -> None:
    """Broker 1 holds 60 and 30 bytes of 100; without the 60 it is below 70 % already."""
    problem = problem_of([(1, "/a", 60), (1, "/a", 30)], {(1, "/a"): (100, 10), (2, "/a"): (900, 900)})
    directories = log_directories(problem)
    gone = replace(layout_of(problem), replicas=np.array([[1], [0]], dtype=np.int32))
    relief = relieve(gone, directories, DirectoryRoom(directories, 2), 0, 0.7)
    assert (relief.bound, relief.moved, relief.replicas.tolist()) == (0, 0, [[1], [0]])
