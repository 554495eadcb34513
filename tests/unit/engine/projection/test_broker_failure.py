"""Failures over a snapshot: partition by partition what plain controllers do, ELRs included; disks; no controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusters.generated import partition, snapshot_of
from hypothesis import example, given
from hypothesis import strategies as st
from plain.controllers import NONE, Partition, ZooKeeperController, kraft_broker_stops

from kreplica.engine.projection.failure import Failure, fail, stop_brokers
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import REPLICAS
from kreplica.model.tables.table import Table

IDS = [101, 7, 40, 3]
KRAFT = {"metadata.version": 25}
ELR = KRAFT | {"eligible.leader.replicas.version": 1}


@st.composite
def rows(draw: st.DrawFn, number: int, elr: bool) -> dict[str, Any]:
    """A partition while every broker lives: some replicas out of sync, below min ISR some of them in the ELR.

    PartitionChangeBuilder.maybePopulateTargetElr: once the ISR reaches min ISR the ELR is empty.
    """
    replicas = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1))
    isr = draw(st.lists(st.sampled_from(replicas), unique=True, min_size=1))
    min_isr = draw(st.integers(1, 4))
    rest = [broker for broker in replicas if broker not in isr]
    below = len(isr) < min(min_isr, len(replicas))
    eligible = draw(st.lists(st.sampled_from(rest), unique=True)) if rest and elr and below else []
    return partition(
        number=number,
        replicas=replicas,
        isr=isr,
        leader=draw(st.sampled_from(isr)),
        elr=eligible,
        last_known_elr=[],
        offline_replicas=[],
        min_isr=min_isr,
        unclean_leader_election=draw(st.booleans()),
    )


def tables(elr: bool) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.integers(1, 4).flatmap(lambda count: st.tuples(*(rows(number, elr) for number in range(count))).map(list))


SECOND_ELECTED_CLEANLY = [
    partition(
        number=0,
        replicas=[7, 40, 3, 101],
        isr=[40, 3],
        leader=40,
        elr=[101],
        last_known_elr=[],
        offline_replicas=[],
        min_isr=4,
        unclean_leader_election=True,
    )
]
"""The last of the ISR that is fenced leaves 101, of the ELR, to lead: 7 would be unclean."""

failing = st.lists(st.sampled_from(IDS), unique=True, min_size=1)
ALIVE = [{"broker": broker, "alive": True} for broker in IDS]


def found_in(snapshot: ClusterSnapshot) -> dict[int, tuple[int, set[int], set[int], list[int]]]:
    return {
        row["partition"]: (row["leader"], set(row["isr"]), set(row["elr"] or ()), row["last_known_elr"] or [])  # type: ignore[misc,call-overload]
        for row in snapshot.partitions.rows()
    }


def kraft_crash(row: dict[str, Any], order: list[int], *, elr_enabled: bool) -> Partition:
    """Brokers that crash together are fenced one after another: those not yet fenced still count as active."""
    state = Partition(row["replicas"], row["isr"], row["leader"], row["elr"], [])
    active = set(IDS)
    for broker in order:
        active.discard(broker)
        state = kraft_broker_stops(
            state,
            broker,
            active,
            min(row["min_isr"], len(row["replicas"])),
            elr_enabled=elr_enabled,
            unclean=row["unclean_leader_election"],
        )
    return state


@given(tables(elr=True), st.sampled_from(IDS))
def test_one_broker_of_kraft_with_elr(table: list[dict[str, Any]], broker: int) -> None:
    after = found_in(fail(snapshot_of(table, ALIVE, features=ELR), Failure([broker])).after)
    for row in table:
        state = kraft_crash(row, [broker], elr_enabled=True)
        assert after[row["partition"]] == (state.leader, set(state.isr), set(state.elr), state.last_known_elr)


@given(tables(elr=True), failing, st.booleans())
@example(SECOND_ELECTED_CLEANLY, [3, 40], True)
@example(SECOND_ELECTED_CLEANLY, [40, 3], True)
def test_whoever_is_fenced_first_the_same_replica_leads(
    table: list[dict[str, Any]], brokers: list[int], elr_enabled: bool
) -> None:
    if not elr_enabled:
        table = [row | {"elr": []} for row in table]
    snapshot = snapshot_of(table, ALIVE, features=ELR if elr_enabled else KRAFT)
    after = found_in(fail(snapshot, Failure(brokers)).after)
    for row in table:
        state = kraft_crash(row, brokers, elr_enabled=elr_enabled)
        leader, isr, _, _ = after[row["partition"]]
        assert leader == state.leader
        if leader != NONE:
            assert isr == set(state.isr)


@given(tables(elr=False), failing)
def test_zookeeper(table: list[dict[str, Any]], brokers: list[int]) -> None:
    after = found_in(fail(snapshot_of(table, ALIVE, source="zookeeper"), Failure(brokers)).after)
    for row in table:
        state = Partition(row["replicas"], row["isr"], row["leader"], [], [])
        live = [broker for broker in IDS if broker not in brokers]
        controller = ZooKeeperController(state, live, unclean=row["unclean_leader_election"])
        for broker in [one for one in row["replicas"] if one in brokers]:
            controller.broker_failure(broker)
        assert after[row["partition"]][:2] == (controller.leader, set(controller.isr))


@given(tables(elr=True), failing, st.booleans())
def test_who_leads_does_not_depend_on_how_brokers_go(
    table: list[dict[str, Any]], brokers: list[int], elr_enabled: bool
) -> None:
    """In KRaft a controlled shutdown and a crash end alike: only the time without a leader differs."""
    if not elr_enabled:
        table = [row | {"elr": []} for row in table]
    snapshot = snapshot_of(table, ALIVE, features=ELR if elr_enabled else KRAFT)
    stopped, failed = stop_brokers(snapshot, brokers), fail(snapshot, Failure(brokers))
    crashed = found_in(failed.after)
    for number, (leader, isr, _, _) in found_in(stopped.after).items():
        assert crashed[number][0] == leader
        assert leader == NONE or crashed[number][1] == isr
    assert failed.no_clean_leader[stopped.rows].tolist() == stopped.last_in_sync.tolist()


def on_disks(snapshot: ClusterSnapshot, places: dict[tuple[int, int], str]) -> ClusterSnapshot:
    """Each (partition, broker) in a directory."""
    copies = [
        {"topic": "orders", "partition": number, "broker": broker, "log_dir": path, "size": 1, "future": False}
        for (number, broker), path in places.items()
    ]
    return replace(snapshot, replicas=Table.from_rows(REPLICAS, copies))


def test_a_disk_takes_its_own_replicas_only() -> None:
    table = [partition(number=number, leader=1, elr=[], last_known_elr=[]) for number in (0, 1)]
    snapshot = snapshot_of(table, [{"broker": broker, "alive": True} for broker in (1, 2, 3)], features=ELR)
    snapshot = on_disks(snapshot, {(0, 1): "/a", (1, 1): "/b", (0, 2): "/a", (1, 2): "/a"})
    failed = fail(snapshot, Failure(disks=[(1, "/a")]))
    assert found_in(failed.after) == {0: (2, {2, 3}, set(), []), 1: (1, {1, 2, 3}, set(), [])}
    assert failed.touched.tolist() == [True, False]
    assert failed.after.is_alive(1)


def test_a_future_copy_on_the_disk_is_no_loss() -> None:
    snapshot = snapshot_of([partition()], ALIVE)
    copy = {"topic": "orders", "partition": 0, "broker": 1, "log_dir": "/a", "size": 1, "future": True}
    snapshot = replace(snapshot, replicas=Table.from_rows(REPLICAS, [copy]))
    assert fail(snapshot, Failure(disks=[(1, "/a")])).touched.tolist() == [False]


def test_without_a_controller_nothing_is_elected() -> None:
    table = [
        partition(number=0, leader=1),
        partition(number=1, leader=2),
        partition(number=2, leader=2, isr=[2, 3]),
        partition(number=3, leader=-1, isr=[2]),
        partition(number=4, leader=None),
    ]
    snapshot = snapshot_of(table, [{"broker": broker, "alive": True} for broker in (1, 2, 3)], features=KRAFT)
    failed = fail(snapshot, Failure([1], controller_left=False))
    assert failed.after.partitions["leader"].to_list() == [1, 2, 2, -1, None]
    assert failed.unavailable.tolist() == [True, False, False, True, False]
    assert failed.frozen.tolist() == [False, True, False, False, True]
    assert failed.after.is_alive(1) is False


def test_more_replicas_than_an_integer_has_bits() -> None:
    brokers = list(range(1, 80))
    table = [partition(replicas=brokers, isr=brokers[:2], leader=1)]
    snapshot = snapshot_of(table, [{"broker": broker, "alive": True} for broker in brokers], features=KRAFT)
    assert found_in(fail(snapshot, Failure([1])).after)[0][:2] == (2, {2})
    assert fail(snapshot, Failure([1], controller_left=False)).unavailable.tolist() == [True]
