"""Histories that are planted: snapshots so many hours after the first moment, taken in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clusters.generated import snapshot_of
from histories.folders import moment
from histories.observations import HOUR, MARCH

from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.system.stores.storage import LocalStorage

KRAFT = {"metadata.version": 27, "eligible.leader.replicas.version": 1}
BROKERS = [{"broker": broker, "rack": f"r{min(broker, 3)}", "alive": True} for broker in (1, 2, 3, 4)]
"""Brokers 3 and 4 are in one rack; 4 has no replica."""


def taken(hours: float, *rows: Mapping[str, Any], brokers: Sequence[Any] = BROKERS, **facts: Any) -> ClusterSnapshot:
    known = {"source": "kafka", "features": KRAFT, "name": "prod", **facts}
    return snapshot_of(rows, brokers, (), taken_at=moment(MARCH + round(hours * HOUR)), **known)


def keep(root: Path, some: Sequence[ClusterSnapshot], cluster: str = "Zk5") -> Path:
    candidates = []
    for number, one in enumerate(some):
        taken_ms = round(one.taken_at.timestamp() * 1000)
        incoming = Incoming(taken_ms, str(number), lambda one=one: one, f"snapshot {number}")  # type: ignore[misc]
        candidates.append(Candidate(cluster, one.name, incoming))
    ingest(candidates, LocalStorage(root))
    return root


def at(hours: float) -> str:
    return moment(MARCH + round(hours * HOUR)).isoformat()
