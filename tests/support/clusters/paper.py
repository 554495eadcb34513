"""A cluster on paper: its state is a JSON file, so that it outlives a process that is killed while it changes it.

It does what a controller does: a preferred election makes the first of the replicas the leader if it is in sync, and
counts the leader epoch up; a changed replica order changes no leader. Real brokers are in tests/kafka.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clusters.generated import snapshot_of
from kreplica.control.elect import ElectionResult
from kreplica.model.snapshot import ClusterSnapshot

Key = tuple[str, int]
Change = Callable[[Any, str, Any], None]


class PaperCluster:
    """Partitions of topic ``orders`` on brokers 1 to 3."""

    def __init__(self, path: Path, point: Callable[[str], None] = lambda _: None) -> None:
        self.path = path
        self.point = point

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.path.write_text(json.dumps(list(rows)))

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.path.read_text())
        return found

    def row(self, number: int) -> dict[str, Any]:
        return next(row for row in self.rows() if row["partition"] == number)

    def change(self, number: int, **fields: Any) -> None:
        self.write([{**row, **fields} if row["partition"] == number else row for row in self.rows()])

    def read_snapshot(self, *_: object) -> ClusterSnapshot:
        return snapshot_of(self.rows(), [{"broker": broker, "alive": True} for broker in (1, 2, 3)])

    def elect_preferred(self, _: object, partitions: Sequence[Key]) -> tuple[ElectionResult, ...]:
        self.point("before the election")
        results = tuple(ElectionResult(*key, self._elect(key)) for key in partitions)
        self.point("after the election")
        return results

    def _elect(self, key: Key) -> str:
        row = self.row(key[1])
        preferred = row["replicas"][0]
        if row["leader"] == preferred:
            return "not-needed"
        if preferred not in row["isr"]:
            return "PREFERRED_LEADER_NOT_AVAILABLE"
        self.change(key[1], leader=preferred, leader_epoch=row["leader_epoch"] + 1)
        return "elected"

    def reorder_replicas(self, _: object, orders: Mapping[Key, Sequence[int]]) -> dict[Key, str]:
        self.point("before the reorder")
        for (_, number), replicas in orders.items():
            assert set(replicas) == set(self.row(number)["replicas"]), "data would move"
            self.change(number, replicas=list(replicas))
        self.point("after the reorder")
        return dict.fromkeys(orders, "")

    def stand_in(self, change: Change) -> None:
        """Puts itself in the place of the real cluster; ``change`` is setattr, or a monkeypatch's."""
        import kreplica.control.elect
        from kreplica.execution import executor, rollback
        from kreplica.execution import executor as settling

        for module in (executor, rollback, settling):
            change(module, "read_snapshot", self.read_snapshot)
        change(settling, "SETTLE_SECONDS", 0.05)
        change(settling, "PAUSE_SECONDS", 0.01)
        change(kreplica.control.elect, "elect_preferred", self.elect_preferred)
        change(rollback, "reorder_replicas", self.reorder_replicas)


def away(*numbers: int) -> list[dict[str, Any]]:
    """Six partitions; those named are led by their second replica."""
    orders = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    return [
        {
            "topic": "orders",
            "partition": number,
            "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
            "leader": orders[number % 3][number in numbers],
            "leader_epoch": 5,
            "replicas": orders[number % 3],
            "isr": [1, 2, 3],
            "adding": [],
            "removing": [],
            "min_isr": 2,
        }
        for number in range(6)
    ]
