"""Effects of a plan, by hand: two racks, three brokers, one partition that moves and one that changes its order."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.rows import fields_of
from kreplica.model.tables.schema import BROKERS, PARTITIONS, REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.moves.effects import BrokerEffect, RackEffect, effects_of
from kreplica.planner.reassignment.problem import NOBODY, Problem, make_problem
from kreplica.planner.reassignment.request import Request


def problem() -> Problem:
    """Brokers 1 and 2 in rack a, 3 in rack b. t-0 of 600 bytes stands in rack a alone, and 2 leads it."""
    replicas = {0: [1, 2], 1: [1, 3], 2: [3]}
    leaders, sizes = {0: 2, 1: 1, 2: 3}, {0: 600, 1: 90, 2: 7}
    facts = {"topic": "t", "internal": False}
    rows = [
        {**facts, "partition": n, "leader": leaders[n], "replicas": held, "isr": held} for n, held in replicas.items()
    ]
    copies = [
        {"topic": "t", "partition": n, "broker": broker, "log_dir": "/d", "size": sizes[n], "future": False}
        for n, held in replicas.items()
        for broker in held
    ]
    racks = {1: "a", 2: "a", 3: "b"}
    snapshot = ClusterSnapshot(
        cluster_id="c",
        name="c",
        taken_at=datetime(2026, 3, 1, tzinfo=UTC),
        source="kafka",
        partitions=Table.from_rows(PARTITIONS, rows),
        brokers=Table.from_rows(BROKERS, [{"broker": b, "rack": rack, "alive": True} for b, rack in racks.items()]),
        replicas=Table.from_rows(REPLICAS, copies),
    )
    return make_problem(snapshot, Request(reasons=()))


TARGET = np.array([[2, 1], [2, 0], [2, NOBODY]], np.int32)
"""t-0 on brokers 3 and 2, t-1 on 3 and 1, by positions."""


def test_each_broker_before_and_after() -> None:
    effects = effects_of(problem(), TARGET, throttle=100)
    first, second, third = effects.brokers
    assert first == BrokerEffect(
        broker=1,
        rack="a",
        replicas_before=2,
        replicas_after=1,
        leaders_before=2,
        leaders_after=0,
        bytes_before=690,
        bytes_after=90,
        moves=0,
        bytes_in=0,
        bytes_out=0,
        seconds=0.0,
    )
    assert (second.bytes_out, second.bytes_in, second.seconds) == (600, 0, 6.0)  # its leader sends, not what leaves
    assert (third.moves, third.bytes_in, third.bytes_out, third.seconds) == (1, 600, 0, 6.0)
    assert (third.replicas_after, third.leaders_after, third.bytes_after) == (3, 3, 697)


def test_each_rack_before_and_after() -> None:
    effects = effects_of(problem(), TARGET)
    first, second = effects.racks
    assert (first.rack, first.brokers, first.violations_before, first.violations_after) == ("a", 2, 1, 0)
    assert (first.replicas_before, first.replicas_after, first.bytes_after) == (3, 2, 690)
    assert (second.rack, second.violations_before, second.moves, second.bytes_in) == ("b", 0, 1, 600)
    assert (second.leaders_before, second.leaders_after, second.bytes_out) == (1, 3, 0)
    assert second.seconds is None
    assert (effects.violations_before, effects.violations_after) == (1, 0)


@pytest.mark.parametrize(("throttle", "seconds"), [(None, None), (50, 12.0)])
def test_the_slowest_broker_says_how_long_all_takes(throttle: int | None, seconds: float | None) -> None:
    effects = effects_of(problem(), TARGET, throttle)
    assert (effects.moves, effects.bytes_copied, effects.seconds) == (1, 600, seconds)


def test_what_a_broker_copies_between_its_directories_takes_its_own_time() -> None:
    within = [ChangedDirectory("t", 1, broker, "/d", "/e", size) for broker, size in ((1, 500), (1, 400), (3, 90))]
    effects = effects_of(problem(), TARGET, 100, within)
    assert [one.seconds for one in effects.brokers] == [9.0, 6.0, 6.0]
    assert (effects.seconds, effects.bytes_copied) == (9.0, 600)


def test_every_field_has_a_meaning() -> None:
    names = {field.name for row in (BrokerEffect, RackEffect) for field in fields_of(row)}
    assert {"violations_before", "bytes_out", "seconds"} <= names
