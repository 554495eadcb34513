"""A broker that applies the metadata log late: it is not fenced, and hears of all that was decided at once."""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import Action, At, Crash, ElectPreferred, LateMetadata, Reassign, Start, Step
from kreplica.engine.setup import SECOND, TopicSetup, cluster
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Event, Kind, Trace
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError

SESSION = 9
"""broker.session.timeout.ms in seconds."""
THERE_AND_BACK: tuple[tuple[float, Action], ...] = (
    (11, Reassign("t-0", (2, 1, 3))),
    (12, ElectPreferred("t-0")),
    (13, Reassign("t-0", (1, 2, 3))),
    (14, ElectPreferred("t-0")),
)
"""Broker 2 leads for a while, broker 1 before and after it."""


def play(version: str, *plan: tuple[float, Action]) -> list[Event]:
    setup, trace = cluster(3, TopicSetup("t", ((1, 2, 3),)), duration=40 * SECOND), Trace()
    simulation = build(setup, version_named(version), 1, trace)
    play_plan(simulation, tuple(Step(At(int(second * SECOND)), action) for second, action in plan))
    return trace.events


def roles(events: list[Event], broker: int) -> list[tuple[str, float, int]]:
    """Kind, second and leader epoch of each role of a broker after the first ten seconds."""
    kinds = (Kind.BECAME_LEADER, Kind.BECAME_FOLLOWER)
    mine = [one for one in events if one.node == f"broker-{broker}" and one.kind in kinds and one.time > 10 * SECOND]
    return [(one.kind, round(one.time / SECOND, 1), one.values[1]) for one in mine]


def test_it_hears_at_once_of_what_was_decided_meanwhile_and_misses_what_was_between() -> None:
    in_time = roles(play("4.1", *THERE_AND_BACK), 1)
    assert [role[::2] for role in in_time] == [(Kind.BECAME_FOLLOWER, 1), (Kind.BECAME_LEADER, 2)]
    late = play("4.1", (10, LateMetadata("broker-1", 10 * SECOND)), *THERE_AND_BACK)
    assert roles(late, 1) == [(Kind.BECAME_LEADER, 20.0, 2)]
    assert roles(late, 2) == roles(play("4.1", *THERE_AND_BACK), 2), "others hear in time"


def test_it_is_not_fenced_however_long_it_lasts_and_one_that_starts_anew_reads_all_again() -> None:
    late = (10, LateMetadata("broker-1", 25 * SECOND))
    events = play("4.1", late, *THERE_AND_BACK)
    assert not [one for one in events if one.kind == Kind.BROKER_FENCED]
    assert roles(events, 1) == [(Kind.BECAME_LEADER, 35.0, 2)]
    restarted = play("4.1", late, *THERE_AND_BACK, (16, Crash("broker-1")), (16 + 2 * SESSION, Start("broker-1")))
    assert min(second for _, second, _ in roles(restarted, 1)) < 35


def test_a_process_that_is_down_reads_nothing_late() -> None:
    down = ((10, Crash("broker-1")), (11, LateMetadata("broker-1", 25 * SECOND)), (22, Start("broker-1")))
    assert roles(play("4.1", *down), 1)[0][1] < 24


def test_a_broker_in_zookeeper_mode_has_no_metadata_log() -> None:
    with pytest.raises(UsageError, match=r"broker-1 reads no metadata log.*slow its link"):
        play("3.9", (1, LateMetadata("broker-1", 1)))
