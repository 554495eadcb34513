"""A cluster on paper, a plan for it, and runs of that plan in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clusters.paper import PaperCluster, away

from kreplica.config.handle import ClusterHandle
from kreplica.execution.executor import Pace, Session
from kreplica.execution.journal import JOURNAL
from kreplica.execution.plan import Plan, plan_leaders
from kreplica.execution.plan_file import read_plan, write_plan
from kreplica.execution.progress import Progress, replay
from kreplica.planner.preferred_leaders import plan_elections

HANDLE = ClusterHandle(name="paper", bootstrap_servers="127.0.0.1:1")


class Paper:
    """A plan in its file, the cluster it is for, and what was said on the way."""

    def __init__(self, folder: Path, cluster: PaperCluster, batch: int) -> None:
        self.cluster = cluster
        self.path = folder / "plan.json"
        self.said: list[str] = []
        snapshot = cluster.read_snapshot()
        plan = plan_leaders(snapshot, plan_elections(snapshot), "2026-03-01T12:00:00+00:00", batch)
        self.digest = write_plan(plan, self.path)

    @property
    def plan(self) -> Plan:
        return read_plan(self.path)[0]

    @property
    def progress(self) -> Progress:
        from kreplica.execution.journal import JOURNAL

        return replay(self.plan, JOURNAL.read(self.path, self.digest)[0])

    def run(self, work: Callable[[Session], str], pace: Pace | None = None) -> str:
        with JOURNAL.open(self.path, self.plan, self.digest) as journal:
            progress = replay(self.plan, journal.entries)
            return work(Session(HANDLE, self.plan, progress, journal, pace or Pace(), self.said.append))


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Paper]:
    """Makes a plan for six partitions of which the named ones are away."""

    def make(*numbers: int, batch: int = 2, **changed: Any) -> Paper:
        cluster = PaperCluster(tmp_path / "cluster.json")
        cluster.write([{**row, **changed} if row["partition"] in numbers else row for row in away(*numbers)])
        cluster.stand_in(monkeypatch.setattr)
        return Paper(tmp_path, cluster, batch)

    return make
