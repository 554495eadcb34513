"""Brokers that come back with another disk, in any order of its steps, and unregistered ones."""

from __future__ import annotations

import pytest
from engine.asked_controllers import Played, in_order
from releases.kafka_classes import answers

from kreplica.engine import version_named


@pytest.mark.parametrize(("release", "lines"), answers("new-disks.txt"))
def test_disks_are_registered_and_assigned_as_in_kafkas_controllers(release: str, lines: list[str]) -> None:
    version, controller = version_named(release), None
    for line in lines:
        _, facts, asked, after = (word.strip() for word in line.split("|", 3))
        if asked == "start":
            controller = Played(version, after.partition(" | ")[0])
            continue
        assert controller is not None
        controller.does(facts, asked)
        assert controller.told() == in_order(after), line
