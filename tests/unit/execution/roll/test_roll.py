"""Plans of rolling restarts: minimal against every way to part the brokers, the order, what is in no wave, the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import InputError, UsageError
from kreplica.execution.roll.plan import RollOptions, RollPlan, plan_roll, read_roll, restartable_nodes, write_roll
from kreplica.health.impact.stop import judge_stop
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table
from kreplica.planner.restart_waves import BoundKind

IDS = [7, 3, 40, 101]
NOW = "2026-03-01T12:00:00+00:00"


def cluster(*rows: dict[str, Any], brokers: int = 3, down: tuple[int, ...] = (), **facts: Any) -> ClusterSnapshot:
    numbered = [row | {"partition": number} for number, row in enumerate(rows)]
    table = [{"broker": one, "alive": one not in down, "rack": f"r{one % 2}"} for one in range(1, brokers + 1)]
    return snapshot_of(numbered, table, **{"source": "zookeeper", **facts})


def with_voters(snapshot: ClusterSnapshot, *voters: int, leader: int) -> ClusterSnapshot:
    rows = [{"node": node, "voter": True, "leader": node == leader, "last_fetch_ms": 10**6} for node in voters]
    return replace(snapshot, source="kafka", features={"metadata.version": 25}, quorum=Table.from_rows(QUORUM, rows))


def plan(snapshot: ClusterSnapshot, **options: Any) -> RollPlan:
    return plan_roll(snapshot, restartable_nodes(snapshot), RollOptions(**options), NOW).plan


def partitions_of(nodes: list[int]) -> Iterator[list[list[int]]]:
    if not nodes:
        yield []
        return
    first, *rest = nodes
    for parts in partitions_of(rest):
        yield [[first], *parts]
        for number, part in enumerate(parts):
            yield [*parts[:number], [first, *part], *parts[number + 1 :]]


@st.composite
def snapshots(draw: st.DrawFn) -> ClusterSnapshot:
    rows = []
    for number in range(draw(st.integers(1, 5))):
        replicas = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1))
        isr = [broker for broker in replicas if draw(st.integers(0, 5))] or replicas[:1]
        rows.append(
            partition(number=number, replicas=replicas, isr=isr, leader=isr[0], min_isr=draw(st.integers(1, 3)))
        )
    return snapshot_of(rows, [{"broker": broker, "alive": True} for broker in IDS], source="zookeeper")


@given(snapshots(), st.booleans(), st.sampled_from([None, 1, 2]))
@examples(0.6)
def test_no_plan_of_safe_waves_has_fewer(snapshot: ClusterSnapshot, rf_one: bool, most: int | None) -> None:
    options = RollOptions(accept_rf_one=rf_one, most_in_wave=most)
    found = plan_roll(snapshot, IDS, options, NOW).plan
    safe: dict[tuple[int, ...], bool] = {}

    def is_safe(wave: list[int]) -> bool:
        key = tuple(sorted(wave))
        if key not in safe:
            safe[key] = not judge_stop(snapshot, key, options.accepted).against
        return safe[key] and (most is None or len(key) <= most)

    free = [broker for broker in IDS if is_safe([broker])]
    assert sorted(one.node for one in found.held_back) == sorted(set(IDS) - set(free))
    assert all(one.reasons for one in found.held_back)
    assert all(is_safe(list(wave)) for wave in found.waves)
    assert sorted(node for wave in found.waves for node in wave) == sorted(free)
    fewest = min(len(parts) for parts in partitions_of(free) if all(is_safe(wave) for wave in parts))
    assert (len(found.waves), found.proven) == (fewest, True)


def test_voters_one_at_a_time_and_the_active_controller_last() -> None:
    snapshot = with_voters(cluster(brokers=3), 1, 2, 3, leader=1)
    found = plan(snapshot)
    assert [set(wave) & {1, 2, 3} for wave in found.waves] == [{2}, {3}, {1}]
    assert (found.controller, found.bound.kind) == (1, BoundKind.CLIQUE)


def test_controllers_that_are_no_brokers_are_restarted_too() -> None:
    found = plan(with_voters(cluster(partition(), brokers=3), 11, 12, 13, leader=11))
    assert len(found.waves) == 3
    assert {11, 12, 13} <= set(found.nodes)
    assert 11 in found.waves[-1]


def test_a_voter_of_which_nothing_is_told_is_not_down() -> None:
    voters = Table.from_rows(QUORUM, [{"node": 11, "voter": True, "leader": True}])
    draft = plan_roll(replace(cluster(brokers=1, source="kafka"), quorum=voters), [1, 11, 12], RollOptions(), NOW)
    assert (draft.plan.waves, draft.plan.down) == (((1, 11),), (12,))
    assert draft.unknown


def test_voters_without_which_there_is_no_majority() -> None:
    found = plan(with_voters(cluster(brokers=2), 1, 2, leader=1))
    assert [one.node for one in found.never] == [1, 2]
    assert found.never[0].reasons == (
        "the controller quorum would have no majority: 1 of 2 voters would be up, 2 are needed",
    )


def test_racks_one_after_another_and_the_controllers_last() -> None:
    snapshot = cluster(brokers=5, controller=2)
    assert plan(snapshot).waves == ((1, 2, 3, 4, 5),)
    assert plan(snapshot, one_rack_at_a_time=True).waves == ((1, 3, 5), (2, 4))
    assert plan(replace(snapshot, controller=3), one_rack_at_a_time=True, most_in_wave=2).waves[-1] in (
        (1, 3),
        (3, 5),
        (3,),
    )
    unknown = snapshot_of([], [{"broker": 1, "alive": True}], source="zookeeper")
    with pytest.raises(UsageError, match="broker 1 tells no rack"):
        plan(unknown, one_rack_at_a_time=True)


def test_who_is_down_is_in_no_wave() -> None:
    found = plan(cluster(partition(isr=[1, 2], min_isr=1), brokers=3, down=(3,)))
    assert (found.waves, found.down) == (((1,), (2,)), (3,))


def test_nodes_of_a_cluster_that_names_no_brokers_are_those_with_replicas() -> None:
    row = partition(replicas=[4, 2, 7], isr=[2])
    assert restartable_nodes(snapshot_of([row])) == (2, 4, 7)
    assert restartable_nodes(with_voters(snapshot_of([row]), 11, leader=11)) == (2, 4, 7, 11)
    assert restartable_nodes(snapshot_of([row], [{"broker": 2, "alive": True}, {"broker": 5}])) == (2, 5)


def test_only_some_nodes() -> None:
    snapshot = cluster(partition(), brokers=4)
    some = plan_roll(snapshot, [1, 4], RollOptions(), NOW).plan
    assert (some.waves, some.only_some) == (((1, 4),), True)
    assert plan(snapshot).only_some is False


def test_what_is_not_known_is_said() -> None:
    draft = plan_roll(cluster(partition(min_isr=None)), [1, 2, 3], RollOptions(), NOW)
    assert draft.unknown == ("min.insync.replicas or the leader of 1 partition on these brokers is not known",)
    assert plan_roll(cluster(source="describe-text"), [], RollOptions(), NOW).unknown


def test_the_file(tmp_path: Path) -> None:
    path = tmp_path / "roll.json"
    made = plan(cluster(partition(), partition(replicas=[3], isr=[3], leader=3, min_isr=1)), accept_topics="a.*")
    digest = write_roll(made, path)
    assert read_roll(path) == (made, digest)
    with pytest.raises(UsageError, match="is there already"):
        write_roll(made, path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"waves": [[1, 2, 3]]}))
    with pytest.raises(InputError, match="its digest does not match"):
        read_roll(path)
    path.write_text(json.dumps(document | {"schema": "kreplica/roll/v9"}))
    with pytest.raises(InputError, match="this kreplica reads kreplica/roll/v1"):
        read_roll(path)
    path.write_text(json.dumps({"schema": "kreplica/plan/v1"}))
    with pytest.raises(InputError, match="not a plan of kreplica"):
        read_roll(path)
