"""Least covers and reliefs of log directories: the planner's and the verifier's, each against every choice."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.balances import covers
from kreplica.planner.reassignment.certificates.certificate import DirectoryRelief
from kreplica.planner.reassignment.planning import PlannedReassignment, PlanningLimits, plan_reassignment
from kreplica.planner.reassignment.request import Reason, ReasonKind, Request
from kreplica.planner.reassignment.verification import directories
from kreplica.planner.reassignment.verification.verify import verify
from tests.support.clusters.generated import snapshot_of

SIZES = st.lists(st.integers(1, 30), max_size=8)


def sums_of(sizes: list[int]) -> list[int]:
    return [sum(some) for number in range(len(sizes) + 1) for some in combinations(sizes, number)]


@examples(4)
@given(SIZES, st.integers(-5, 120), st.sampled_from((1, 4, 50_000)))
def test_no_cover_is_below_either_bound(sizes: list[int], need: int, most: int) -> None:
    """With all sums looked at both are the least cover; with few, a bound of it."""
    fitting = [one for one in sums_of(sizes) if one >= need]
    least = min(fitting) if fitting and need > 0 else max(0, need)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covers, "MOST_SUMS", most)
        patch.setattr(directories, "_MOST_SUMS", most)
        found = covers.least_cover(np.array(sizes, np.int64), need)
        bounds = found.bound, directories.least_cover(sizes, need)
    for bound in bounds:
        assert min(max(0, need), least) <= bound <= least
        assert most < 50_000 or bound == least
    if found.places is not None:
        taken = [sizes[place] for place in found.places.tolist()]
        assert len(set(found.places.tolist())) == len(taken)
        assert sum(taken) == found.bound == least


def test_equal_sizes_are_counted_where_there_are_too_many_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covers, "MOST_SUMS", 1)
    monkeypatch.setattr(directories, "_MOST_SUMS", 1)
    assert covers.least_cover(np.full(9, 10), 25).bound == 30
    assert directories.least_cover([10] * 9, 25) == 30


def cluster(sizes: list[int], total: int, room: int) -> ClusterSnapshot:
    """Partitions of one topic on broker 1, in its directory /a, and on broker 2 every second one; /b is beside."""
    rows = [
        {"topic": "t", "partition": n, "leader": 1, "replicas": [1, 2][: 1 + n % 2], "isr": [1, 2][: 1 + n % 2]}
        for n in range(len(sizes))
    ]
    held = [
        {"topic": "t", "partition": n, "broker": broker, "log_dir": "/a", "size": size, "future": False}
        for n, size in enumerate(sizes)
        for broker in [1, 2][: 1 + n % 2]
    ]
    dirs = [
        {"broker": 1, "path": "/a", "total_bytes": total, "usable_bytes": total - sum(sizes)},
        {"broker": 1, "path": "/b", "total_bytes": room, "usable_bytes": room},
        *({"broker": broker, "path": "/a", "total_bytes": 1000, "usable_bytes": 500} for broker in (2, 3)),
    ]
    brokers = [{"broker": one, "alive": True} for one in (1, 2, 3)]
    return snapshot_of(rows, brokers, dirs, replicas=Table.from_rows(REPLICAS, held))


def relieved(snapshot: ClusterSnapshot, share: float) -> PlannedReassignment:
    reason = Reason(ReasonKind.RELIEVE, (1,), directory="/a", to_used=share)
    return plan_reassignment(snapshot, Request((reason,), max_disk_used=1.0), PlanningLimits())


def faults(planned: PlannedReassignment, snapshot: ClusterSnapshot, relief: DirectoryRelief | None = None) -> list[str]:
    certificate = planned.certificate()
    if relief is not None:
        certificate = replace(certificate, reliefs=(relief,))
    changed = {(one.key, one.broker): (one.source, one.destination) for one in planned.changed_directories}
    return verify(snapshot, planned.targets, certificate, changed, planned.directories)


def test_the_last_replica_in_sync_changes_its_directory_and_never_its_broker() -> None:
    snapshot = cluster([10, 20, 30], 60, 100)
    planned = relieved(snapshot, 0.0)
    assert [one.partition for one in planned.changed_directories] == [0, 1, 2]
    assert (planned.targets, planned.certificate().optimal) == ({}, True)
    none = relieved(cluster([10], 10, 5), 0.0)
    assert (none.targets, none.changed_directories) == ({}, ())


@examples(2)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=7), st.floats(0.0, 1.0), st.integers(0, 100))
def test_every_relief_carries_a_bound_that_holds(sizes: list[int], share: float, room: int) -> None:
    """What leaves may go to /b, to broker 3, and, where it has no replica of it, to broker 2."""
    snapshot = cluster(sizes, sum(sizes), room)
    planned = relieved(snapshot, share)
    (relief,) = planned.certificate().reliefs
    need = sum(sizes) - int(sum(sizes) * share)
    left = [key[1] for key, after in planned.targets.items() if 1 not in after]
    left += [one.partition for one in planned.changed_directories]
    assert relief.value == sum(sizes[number] for number in left)
    assert relief.used == sum(sizes) - relief.value
    assert relief.lower_bound == min(one for one in sums_of(sizes) if one >= need)
    assert (relief.short == 0) == (relief.value >= need)
    assert faults(planned, snapshot) == []
    forged = (
        replace(relief, lower_bound=relief.lower_bound + 1),
        replace(relief, value=relief.value + 1),
        replace(relief, used=relief.used - 1),
        replace(relief, path="/elsewhere"),
    )
    assert all(faults(planned, snapshot, one) for one in forged)


def test_changes_that_are_not_legal_are_found() -> None:
    snapshot = cluster([10, 20, 30], 60, 35)
    certificate = relieved(snapshot, 0.5).certificate()
    key, other = ("t", 2), ("t", 1)
    wrong = {
        "t-2 on broker 1 is not in /b": {(key, 1): ("/b", "/a")},
        "t-2 on broker 1 cannot go to /c": {(key, 1): ("/a", "/c")},
        "t-2 on broker 1 cannot go to /a": {(key, 1): ("/a", "/a")},
        "t-2 on broker 3 is not in /a": {(key, 3): ("/a", "/b")},
        "t-2 on broker 3 is not free to change, or leaves that broker": {(key, 3): ("/a", "/b")},
        "/b of broker 1 has no room for 50 bytes": {(key, 1): ("/a", "/b"), (other, 1): ("/a", "/b")},
    }
    for fault, changed in wrong.items():
        assert fault in verify(snapshot, {}, certificate, changed)
    assert verify(snapshot, {}, certificate, {(key, 1): ("/a", "/b")}) == []
