"""Limits on restarts: any set of brokers that they allow is what safe-to-stop calls safe, and the other way round."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from clusters.generated import partition, snapshot_of
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.health.impact.stop import Accepted, judge_stop
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.restart_limits import RestartLimits, restart_limits
from kreplica.planner.restart_waves import WaveProblem, allowed

IDS = [7, 3, 40, 101, 8]
BROKERS = [{"broker": broker, "alive": True} for broker in IDS]


def limits_of(snapshot: ClusterSnapshot, brokers: list[int]) -> RestartLimits:
    return restart_limits(snapshot, brokers, np.ones(len(snapshot.partitions), dtype=np.bool_))


@st.composite
def rows(draw: st.DrawFn, number: int, dead: int | None) -> dict[str, Any]:
    """A partition as brokers tell it; who is dead may still be in an ISR, and a log directory may be offline."""
    replicas = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1))
    isr = [broker for broker in replicas if draw(st.integers(0, 4))] or replicas[:1]
    if dead is not None and len(isr) > 1 and draw(st.integers(0, 3)):
        isr = [broker for broker in isr if broker != dead]
    offline = [broker for broker in replicas if broker == dead or draw(st.integers(0, 4)) == 0]
    able = [broker for broker in isr if broker not in offline]
    return partition(
        number=number,
        replicas=replicas,
        isr=isr,
        leader=draw(st.sampled_from(able)) if able else -1,
        min_isr=draw(st.integers(1, 4)),
        offline_replicas=offline,
        elr=[],
        last_known_elr=[],
        unclean_leader_election=draw(st.booleans()),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> ClusterSnapshot:
    dead = draw(st.sampled_from([None, *IDS]))
    table = [draw(rows(number, dead)) for number in range(draw(st.integers(1, 5)))]
    brokers = [{"broker": broker, "alive": broker != dead} for broker in IDS]
    if draw(st.booleans()):
        return snapshot_of(table, brokers, source="zookeeper")
    return snapshot_of(table, brokers, features={"metadata.version": 25})


@given(snapshots())
@examples(0.4)
def test_what_the_limits_allow_is_what_safe_to_stop_allows(snapshot: ClusterSnapshot) -> None:
    brokers = [broker for broker in IDS if snapshot.is_alive(broker)]
    found = limits_of(snapshot, brokers)
    problem = WaveProblem(tuple(brokers), found.limits)
    for broker in brokers:
        assert (broker in found.never) == bool(judge_stop(snapshot, [broker], Accepted()).against), broker
    free = [broker for broker in brokers if broker not in found.never]
    for size in range(1, len(free) + 1):
        for wave in combinations(free, size):
            assert allowed(problem, wave) == (not judge_stop(snapshot, wave, Accepted()).against), wave


def test_limits_of_a_small_cluster() -> None:
    table = [
        partition(number=0, replicas=[7, 3, 40], isr=[7, 3, 40], leader=7),
        partition(number=1, replicas=[3, 40, 8], isr=[3, 40, 8], leader=3, min_isr=1),
        partition(number=2, replicas=[101], isr=[101], leader=101, min_isr=1),
    ]
    found = limits_of(snapshot_of(table, BROKERS, source="zookeeper"), IDS)
    assert found.never == (101,)
    assert [(bin(one.nodes), one.most) for one in found.limits] == [("0b111", 1), ("0b10110", 2)]


def test_a_replica_in_sync_whose_directory_is_offline_cannot_take_over() -> None:
    table = [partition(replicas=[7, 3], isr=[7, 3], leader=7, min_isr=1, offline_replicas=[3])]
    assert limits_of(snapshot_of(table, BROKERS, source="zookeeper"), IDS) == RestartLimits((), (7,))


def test_where_min_isr_is_not_known_one_stays() -> None:
    table = [partition(replicas=[7, 3, 40], isr=[7, 3, 40], leader=7, min_isr=None)]
    found = limits_of(snapshot_of(table, BROKERS, source="zookeeper"), IDS)
    assert [(bin(one.nodes), one.most) for one in found.limits] == [("0b111", 2)]
    assert found.never == ()


def test_what_is_accepted_limits_nothing() -> None:
    table = [partition(number=0, replicas=[7], isr=[7], leader=7, min_isr=1), partition(number=1)]
    snapshot = snapshot_of(table, BROKERS, source="zookeeper")
    found = restart_limits(snapshot, IDS, np.array([False, False]))
    assert found == RestartLimits((), ())


def test_many_replicas() -> None:
    brokers = list(range(70))
    table = [partition(replicas=brokers, isr=brokers, leader=0, min_isr=10)]
    snapshot = snapshot_of(table, [{"broker": broker, "alive": True} for broker in brokers], source="zookeeper")
    assert [(one.nodes.bit_count(), one.most) for one in limits_of(snapshot, brokers).limits] == [(70, 60)]
