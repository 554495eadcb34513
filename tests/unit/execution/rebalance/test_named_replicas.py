"""Log directories that a file names, held against those that brokers tell; and what is proven of such plans."""

from __future__ import annotations

from typing import Any

import pytest

from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.execution.rebalance.named_replicas import named_certificate, refused_directories
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.certificates.certificate import Quantity
from kreplica.planner.reassignment.verification.verify import verify
from tests.support.clusters.generated import partition, snapshot_of

FIRST, SECOND = ("orders", 0), ("orders", 1)


def directory(broker: int, path: str, **more: Any) -> dict[str, Any]:
    return {"broker": broker, "path": path, "error": None, "total_bytes": 1000, "usable_bytes": 100, **more}


def cluster(**more: Any) -> ClusterSnapshot:
    """Partitions on brokers 1 and 2, in /a, of 60 and 50 bytes; broker 3 is empty, broker 4 tells no directories."""
    copies = [
        {"topic": "orders", "partition": number, "broker": broker, "log_dir": "/a", "size": size, "future": False}
        for number, size in ((0, 60), (1, 50))
        for broker in (1, 2)
    ]
    parts = [partition(number=number, replicas=[1, 2], isr=[1, 2]) for number in (0, 1)]
    brokers = [{"broker": one, "rack": f"r{one % 2}", "alive": True} for one in range(1, 5)]
    places = [
        directory(1, "/a"),
        directory(1, "/b"),
        directory(2, "/a"),
        directory(3, "/a", error="KAFKA_STORAGE_ERROR", total_bytes=None, usable_bytes=None),
        directory(3, "/b"),
    ]
    return snapshot_of(parts, brokers, places, replicas=Table.from_rows(REPLICAS, copies), **more)


@pytest.mark.parametrize(
    ("broker", "path", "said"),
    [
        (1, "/c", ""),  # a change of its directory, judged as that
        (3, "/a", "log directory /a of broker 3 is not online (KAFKA_STORAGE_ERROR)"),
        (3, "/b", ""),
        (3, "/c", "broker 3 has no log directory /c, but /a, /b"),
        (4, "/c", ""),  # nothing is known of its directories
    ],
)
def test_a_directory_that_takes_no_new_replica_is_refused(broker: int, path: str, said: str) -> None:
    assert refused_directories(cluster(), {(FIRST, broker): path}) == ({FIRST: said} if said else {})


def test_a_partition_that_is_not_there_is_judged_by_its_directory_too() -> None:
    assert refused_directories(cluster(), {(("orders", 7), 1): "/c"}) == {
        ("orders", 7): "broker 1 has no log directory /c, but /a, /b"
    }


def test_a_plan_of_a_file_has_its_own_values_and_no_proof() -> None:
    changes = [ReplicaChange(*FIRST, (1, 2), (3, 4, 2), 60), ReplicaChange(*SECOND, (1, 2), (2,), 50)]
    certificate = named_certificate(changes)
    assert [(one.quantity, one.value, one.lower_bound) for one in certificate.bounds] == [
        (Quantity.MOVES, 2, 0),
        (Quantity.BYTES, 120, 0),
    ]
    assert not certificate.optimal
    targets = {change.key: change.to_replicas for change in changes}
    assert verify(cluster(), targets, certificate) == []
    # Nothing is copied, and that is no optimum of anything: nobody said what for.
    reordered = named_certificate([ReplicaChange(*FIRST, (1, 2), (2, 1), 60)])
    assert not reordered.optimal
    assert verify(cluster(), {FIRST: (2, 1)}, reordered) == []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ((3, 3), "('orders', 0) has a replica twice, too many or too few: [3, 3]"),
        ((), "('orders', 0) has a replica twice, too many or too few: []"),
        ((4, 2), "('orders', 0) goes to or stays on a broker that may not have it: [4, 2]"),
        ((2, 1), "moves: the plan has 0, not 1"),
    ],
)
def test_what_no_file_may_want_is_found(target: tuple[int, ...], said: str) -> None:
    certificate = named_certificate([ReplicaChange(*FIRST, (1, 2), (3, 2), 60)])
    assert said in verify(cluster(), {FIRST: target}, certificate)


def test_a_destination_that_is_dead_is_found() -> None:
    certificate = named_certificate([ReplicaChange(*FIRST, (1, 2), (9, 2), 60)])
    assert verify(cluster(), {FIRST: (9, 2)}, certificate) == ["broker 9 is dead and would receive replicas"]
