"""Steps of a plan of elections: one that is stopped halfway leaves no broker with all of the burden."""

from __future__ import annotations

from clusters.generated import partition, snapshot_of

from kreplica.execution.plan import plan_leaders
from kreplica.planner.preferred_leaders import plan_elections


def test_each_step_is_spread_over_the_brokers_that_will_lead() -> None:
    away = {1: [0, 1, 2, 3], 2: [4, 5], 3: [6, 7]}
    rows = [
        partition(number=number, replicas=[broker, broker % 3 + 1], leader=broker % 3 + 1)
        for broker, numbers in away.items()
        for number in numbers
    ]
    snapshot = snapshot_of(rows, [{"broker": broker, "alive": True} for broker in away])
    plan = plan_leaders(snapshot, plan_elections(snapshot), "2026-03-01T12:00:00+00:00", batch=4)
    leaders = [sorted(change.to_leader or 0 for change in step.changes) for step in plan.steps]
    assert leaders == [[1, 1, 2, 3], [1, 1, 2, 3]]
    assert sorted(change.partition for change in plan.changes) == list(range(8))
