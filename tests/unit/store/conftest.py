"""Snapshots for the tests of the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import BROKERS, CONFIGS, GROUPS, PARTITIONS
from kreplica.model.tables.table import Table

NOON = datetime(2026, 3, 1, 12, 0, 0, 125000, tzinfo=UTC)


def build_snapshot(
    cluster_id: str | None = "Zk5-Cluster_Id", name: str = "prod-eu", taken_at: datetime = NOON, leader: int = 1
) -> ClusterSnapshot:
    partitions = [
        {"topic": "orders", "partition": 10, "internal": False, "leader": leader, "replicas": [1, 2], "isr": [1]},
        {"topic": "orders", "partition": 9, "internal": False, "leader": -1, "replicas": [3], "isr": [], "elr": [3]},
        {"topic": "Zahlung", "partition": 0, "internal": False, "replicas": [2, 1], "isr": [2, 1], "min_isr": 2},
    ]
    configs = [
        {"entity_type": "topic", "entity": "orders", "name": "retention.ms", "value": "1", "origin": "topic"},
        {"entity_type": "broker", "entity": "1", "name": "ssl.key.password", "origin": "broker-static"},
    ]
    groups = [{"group": "münchen", "topic": "orders", "partition": 9, "offset": 2**40, "metadata": ""}]
    brokers = [{"broker": 1, "rack": "a", "alive": True}, {"broker": 2, "alive": False}]
    return ClusterSnapshot(
        cluster_id=cluster_id,
        name=name,
        taken_at=taken_at,
        source="kafka",
        partitions=Table.from_rows(PARTITIONS, partitions),
        brokers=Table.from_rows(BROKERS, brokers),
        configs=Table.from_rows(CONFIGS, configs),
        groups=Table.from_rows(GROUPS, groups),
        controller=2,
        features={"metadata.version": 27},
        gaps=(Gap("silent-brokers", "broker 2 did not answer", 1),),
        notes=("a note",),
    )


@pytest.fixture
def make_snapshot() -> Callable[..., ClusterSnapshot]:
    """Builds a small snapshot with nulls, empty lists and tables without rows."""
    return build_snapshot
