"""Brokers that come back with another disk, in any order of its steps, and unregistered ones."""

from __future__ import annotations

import pytest
from engine.asked_controllers import Played, in_order
from releases.kafka_classes import answers

from kreplica.engine import version_named
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.traces.kraft import agrees, by_broker_leaving
from kreplica.engine.traces.trace_rule import TraceRule


@pytest.mark.parametrize(("release", "lines"), answers("new-disks.txt"))
def test_disks_are_registered_and_assigned_as_in_kafkas_controllers(release: str, lines: list[str]) -> None:
    version, controller, explained = version_named(release), None, 0
    for line in lines:
        _, facts, asked, after = (word.strip() for word in line.split("|", 3))
        if asked == "start":
            controller = Played(version, after.partition(" | ")[0])
            continue
        assert controller is not None
        before = dict(controller.partitions)
        controller.does(facts, asked)
        assert controller.told() == in_order(after), line
        if asked.startswith("unregister"):
            explained += sum(is_explained(controller, old, int(asked.split()[1])) for old in before.values())
    assert explained > 10, "partitions that changed"


def is_explained(controller: Played, old: PartitionState, broker: int) -> bool:
    """True if one record changed a partition when a broker was unregistered, which then is explained."""
    now = controller.partitions[old.partition]
    if now.partition_epoch != old.partition_epoch + 1:
        return False
    found = by_broker_leaving(old, broker, controller.circumstances(old), TraceRule.broker_unregistered)
    assert any(agrees(one.state, now) for one in found), (old, now)
    return True
