"""Partitions whose majority commits and elects, as the metadata quorum of KRaft does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.checkers.outcome import observe
from kreplica.engine.fault_plan import At, Crash, Cut, Step
from kreplica.engine.rules.replication.quorum import quorum_leader
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.setup import SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError
from kreplica.scenarios import scenario_named
from kreplica.scenarios.playing import play
from kreplica.scenarios.random_runs import Job, run_many

MAJORITY = {"replication": "majority"}
LOG = st.tuples(st.integers(-1, 3), st.integers(0, 6))


@given(st.lists(st.tuples(LOG, st.booleans()), min_size=1, max_size=7))
def test_who_is_elected_is_not_behind_any_of_a_majority(replicas: list[tuple[tuple[int, int], bool]]) -> None:
    logs = [log for log, _ in replicas]
    there = [place for place, (_, votes) in enumerate(replicas) if votes]
    epochs, ends = [epoch for epoch, _ in logs], [end for _, end in logs]
    elected = quorum_leader(epochs, ends, sum(1 << place for place in there))
    if 2 * len(there) <= len(replicas):
        assert elected == NO_LEADER
    else:
        assert elected in there
        assert logs[elected] == max(logs[place] for place in there)


@pytest.mark.one_python
def test_a_majority_loses_nothing_under_random_faults() -> None:
    """Whoever is elected by a majority has what another majority has committed: any two of them meet."""
    many = run_many(Job("quorum-two-failures", "4.1", MAJORITY), 0, 12)
    assert [(verdict.seed, verdict.wrong) for verdict in many.verdicts if verdict.wrong] == []
    assert many.idle <= 2


def test_the_replica_that_was_behind_is_not_elected() -> None:
    """Two have m1 to m5, the first in the assignment beside the leader has not: an ISR would still hold it."""
    setup = cluster(
        3,
        TopicSetup("t", ((1, 2, 3),), {"min.insync.replicas": 1}),
        clients=(
            ProducerSetup("writer", sends("t-0", *(f"m{n}" for n in range(1, 6)), start=10 * SECOND), {"acks": -1}),
        ),
        settings=MAJORITY,
        duration=60 * SECOND,
    )
    plan = (Step(At(5 * SECOND), Cut("broker-1", "broker-2", 30 * SECOND)), Step(At(20 * SECOND), Crash("broker-1")))
    outcome, events = observe(setup, plan, version_named("4.1"))
    leaders = [event.node for event in events if event.kind == Kind.BECAME_LEADER]
    assert leaders == ["broker-1", "broker-3"]
    assert (outcome.histories.acknowledged, outcome.histories.lost) == (5, ())


def test_zookeeper_mode_has_none() -> None:
    with pytest.raises(UsageError, match="cannot play replication=majority; its controllers elect from an ISR"):
        play(scenario_named("quorum-vs-isr"), "3.9", MAJORITY)
