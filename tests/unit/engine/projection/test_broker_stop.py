"""Brokers stopped over a snapshot: partition by partition what plain controllers do, in any order of the brokers."""

from __future__ import annotations

from typing import Any

from clusters.generated import partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st
from plain.controllers import NONE, Partition, ZooKeeperController, kraft_broker_stops

from kreplica.engine.projection.failure import stop_brokers

IDS = [101, 7, 40, 3]


def subset(of: list[int]) -> st.SearchStrategy[list[int]]:
    return st.lists(st.sampled_from(of), unique=True) if of else st.just([])


@st.composite
def rows(draw: st.DrawFn, number: int, dead: set[int], elr: bool) -> dict[str, Any]:
    """A partition as brokers tell it: who is dead is in no ISR, unless nobody else was, or it died just now."""
    replicas = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1))
    late = draw(st.integers(0, 3)) == 0
    isr = [broker for broker in replicas if (late or broker not in dead) and draw(st.integers(0, 3))]
    rest = [broker for broker in replicas if broker not in isr]
    leader = draw(st.sampled_from(isr)) if isr else NONE
    if not isr and not elr:
        isr = [draw(st.sampled_from(replicas))]
        leader = NONE if isr[0] in dead else isr[0]
    return partition(
        number=number,
        replicas=replicas,
        isr=isr,
        leader=leader,
        elr=[broker for broker in draw(subset(rest)) if broker in dead] if elr else [],
        last_known_elr=[],
        offline_replicas=[broker for broker in replicas if broker in dead],
        min_isr=draw(st.integers(1, 4)),
        unclean_leader_election=draw(st.booleans()),
    )


@st.composite
def cases(draw: st.DrawFn, elr: bool) -> tuple[list[dict[str, Any]], set[int], list[int]]:
    dead = set(draw(subset(IDS)))
    stopping = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1))
    count = draw(st.integers(1, 4))
    return [draw(rows(number, dead, elr)) for number in range(count)], dead, stopping


def brokers(dead: set[int]) -> list[dict[str, Any]]:
    return [{"broker": broker, "alive": broker not in dead} for broker in IDS]


def assert_as_expected(found: Any, expected: dict[int, tuple[int, set[int]]], stopping: list[int]) -> None:
    after = {row["partition"]: (row["leader"], set(row["isr"])) for row in found.after.partitions.rows()}
    assert after == expected
    alive = dict(zip(found.after.brokers["broker"].to_list(), found.after.brokers["alive"].to_list(), strict=True))
    assert not any(alive[broker] for broker in stopping)


@given(cases(elr=True), st.booleans())
def test_kraft(case: tuple[list[dict[str, Any]], set[int], list[int]], elr_enabled: bool) -> None:
    table, dead, stopping = case
    features = {"metadata.version": 25} | ({"eligible.leader.replicas.version": 1} if elr_enabled else {})
    if not elr_enabled:
        table = [row | {"elr": []} for row in table]
    expected = {}
    for row in table:
        state = Partition(row["replicas"], row["isr"], row["leader"], row["elr"], [])
        active = {broker for broker in IDS if broker not in dead}
        for broker in [one for one in row["replicas"] if one in dead] + [
            one for one in row["replicas"] if one in stopping and one not in dead
        ]:
            active.discard(broker)
            min_isr = min(row["min_isr"], len(row["replicas"]))
            unclean = row["unclean_leader_election"]
            state = kraft_broker_stops(state, broker, active, min_isr, elr_enabled=elr_enabled, unclean=unclean)
        if set(row["replicas"]) & set(stopping):
            expected[row["partition"]] = (state.leader, set(state.isr))
    snapshot = snapshot_of(table, brokers(dead), features=features)
    assert_as_expected(stop_brokers(snapshot, stopping), expected, stopping)
    assert_as_expected(stop_brokers(snapshot, stopping[::-1]), expected, stopping)


@given(cases(elr=False))
def test_zookeeper(case: tuple[list[dict[str, Any]], set[int], list[int]]) -> None:
    table, dead, stopping = case
    expected = {}
    for row in table:
        live = [broker for broker in IDS if broker not in dead]
        state = Partition(row["replicas"], row["isr"], row["leader"], [], [])
        controller = ZooKeeperController(state, live, unclean=row["unclean_leader_election"])
        for broker in [one for one in row["replicas"] if one in dead]:
            controller.broker_failure(broker)
        going = [one for one in row["replicas"] if one in stopping and one not in dead]
        for broker in going:
            controller.controlled_shutdown(broker)
        for broker in going:
            controller.broker_failure(broker)
        if set(row["replicas"]) & set(stopping):
            expected[row["partition"]] = (controller.leader, set(controller.isr))
    snapshot = snapshot_of(table, brokers(dead), source="zookeeper")
    assert_as_expected(stop_brokers(snapshot, stopping), expected, stopping)


def test_a_leader_that_is_not_known_stays_so() -> None:
    snapshot = snapshot_of([partition(leader=None)], [{"broker": broker, "alive": True} for broker in (1, 2, 3)])
    stopped = stop_brokers(snapshot, [3])
    assert stopped.after.partitions["leader"].to_list() == [None]
    assert stopped.last_in_sync.tolist() == [False]
