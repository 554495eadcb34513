"""Leaders elected by watches on each other: the herd, the winner, and two who think that they lead."""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import At, Crash, Cut, ExpireSession, Plan, Step
from kreplica.engine.setup import SECOND, TopicSetup, cluster
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Event, Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError

SETUP = cluster(3, TopicSetup("t", ((1, 2, 3),) * 5), settings={"leader.election": "watching"}, duration=30 * SECOND)


def play(plan: Plan, version: str = "1.1") -> list[Event]:
    trace = Trace()
    simulate(SETUP, plan, version_named(version), 1, trace)
    return trace.events


def leaders(events: list[Event], partition: str = "t-0") -> list[str]:
    return [e.node for e in events if e.kind == Kind.BECAME_LEADER and fields_of(e)["partition"] == partition]


def test_every_follower_of_every_partition_is_told_and_one_of_them_wins() -> None:
    events = play((Step(At(10 * SECOND), Crash("broker-1")),))
    told = [e for e in events if e.kind == Kind.MESSAGE and fields_of(e)["name"] == "watch event"]
    assert len(told) == 5 * 2
    for number in range(5):
        assert leaders(events, f"t-{number}") == ["broker-1", leaders(events, f"t-{number}")[1]]
        assert leaders(events, f"t-{number}")[1] in ("broker-2", "broker-3")


def test_a_leader_cut_off_from_zookeeper_does_not_know_of_the_next() -> None:
    events = play((Step(At(10 * SECOND), Cut("broker-1", "zookeeper", 15 * SECOND)),))
    second = next(e.time for e in events if e.kind == Kind.BECAME_LEADER and e.node != "broker-1")
    resigned = next(e.time for e in events if e.kind == Kind.RESIGNED and e.node == "broker-1")
    assert second < 17 * SECOND < 25 * SECOND < resigned


def test_a_broker_whose_session_expired_stands_again() -> None:
    assert leaders(play((Step(At(10 * SECOND), ExpireSession("broker-1")),)))[0] == "broker-1"


def test_kraft_has_nothing_to_watch() -> None:
    with pytest.raises(UsageError, match="has no ZooKeeper"):
        play((), "4.1")
