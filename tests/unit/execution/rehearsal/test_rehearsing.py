"""Plans of replicas played on the engine: dangerous ones are seen to lose records, safe ones are not."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of
from plans.rehearsed import BROKERS, cluster, plan_for, rehearsal, staged
from suite.second_python import first_on_each

from kreplica.engine.fault_plan import At, Crash, Step
from kreplica.engine.setup import SECOND
from kreplica.engine.trace import PLAN, Kind
from kreplica.errors import UsageError
from kreplica.execution.moves.plans.progress import MoveState
from kreplica.execution.rehearsal.performance import perform
from kreplica.execution.rehearsal.played_cluster import PlayedCluster
from kreplica.execution.rehearsal.rehearsing import Rehearsal, Verdict, rehearsal_of, rehearse, worst_of
from kreplica.execution.rehearsal.stage import BEGIN
from kreplica.execution.rehearsal.staging import stage_of
from kreplica.planner.reassignment.moves.order import MoveLimits

SEEDS = range(16)
THREE = (1, 2, 3)
BOTH_MODES = pytest.mark.parametrize("version", ["4.1", "3.9"])


def failing(found: Rehearsal, seeds: range = SEEDS) -> list[Verdict]:
    return [one for one in rehearse(found, seeds, processes=1) if one.wrong]


# -- what a plan does to records


@pytest.mark.parametrize("version", first_on_each(["4.1", "3.9"]))
def test_a_safe_plan_loses_nothing_when_one_broker_fails(version: str) -> None:
    found = rehearsal(cluster(THREE, (2, 3, 1)), {0: (1, 2, 4), 1: (5, 3, 6)}, version)
    verdicts = rehearse(found, SEEDS, processes=1)
    assert [one.wrong for one in verdicts] == [()] * len(SEEDS)
    assert all(one.acknowledged > 60 for one in verdicts), "records were written while brokers failed"
    assert any(one.unwritten_ms > 5000 for one in verdicts), "and some were waited for"


@pytest.mark.one_python
@BOTH_MODES
def test_unclean_elections_lose_what_is_being_copied(version: str) -> None:
    """KIP-455: while it is copied, a replica is one of the assignment, and an unclean election takes what is alive."""
    snapshot = cluster((1,), min_isr=1, unclean_leader_election=True)
    found = failing(rehearsal(snapshot, {0: (2,)}, version))
    assert found
    assert all("lost" in one.wrong for one in found)
    assert not any(one.wrong_without for one in found), "left alone, it has one replica, whose log is kept"
    clean = cluster((1,), min_isr=1, unclean_leader_election=False)
    assert not failing(rehearsal(clean, {0: (2,)}, version))


@pytest.mark.one_python
def test_acks_1_loses_records_with_and_without_the_plan() -> None:
    found = failing(rehearsal(cluster(THREE), {0: (4, 2, 3)}, acks=1))
    assert found
    assert any(one.wrong_without for one in found), "what a setting permits, the plan does not bring about"


@pytest.mark.one_python
def test_min_isr_1_loses_records_when_several_brokers_fail() -> None:
    snapshot = cluster((1, 2), min_isr=1, unclean_leader_election=True)
    assert failing(rehearsal(snapshot, {0: (1, 3)}, failures=3), range(8))
    careful = cluster(THREE, min_isr=2, unclean_leader_election=False)
    assert not failing(rehearsal(careful, {0: (1, 2, 4)}, failures=3), range(8))


@BOTH_MODES
def test_the_played_controller_tells_what_goes_on_as_readings_of_the_whole_do(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broker 5 fails when the run begins: the move to it lasts, the other one ends."""
    stage = staged(cluster(THREE, (2, 3, 1)), {0: (1, 2, 4), 1: (5, 3, 6)}, version).stage.lasting(10 * SECOND)
    snapshot, told, keys = PlayedCluster.snapshot, list[Any](), [("orders", number) for number in range(3)]

    def compared(played: PlayedCluster) -> Any:
        found = snapshot(played)
        monkeypatch.setattr(PlayedCluster, "snapshot", lambda _: found)
        told.append({key[1]: tuple(map(frozenset, move)) for key, move in played.ongoing(keys).items()})
        monkeypatch.setattr(PlayedCluster, "snapshot", compared)
        return found

    monkeypatch.setattr(PlayedCluster, "snapshot", compared)
    perform(stage, 1, (Step(At(time=BEGIN), Crash("broker-5")),))
    assert told[0] == {}
    assert told[-1] == {1: (frozenset({1, 2, 3, 5, 6}), frozenset({5, 6}), frozenset({1, 2}))}


@pytest.mark.one_python
def test_the_worst_run_is_the_one_with_most_lost_records() -> None:
    verdicts = rehearse(rehearsal(cluster(THREE), {0: (4, 2, 3)}, acks=1), SEEDS, processes=1)
    worst = worst_of(verdicts)
    assert worst is not None
    most = max(len(one.harm[key].lost) for one in verdicts for key in one.harm)
    assert len(worst[0].harm[worst[1]].lost) == most > 0
    assert worst_of([]) is None


# -- how it is carried out


def test_what_carries_plans_out_moves_within_the_limits_of_the_plan() -> None:
    snapshot = cluster(THREE, THREE, THREE)
    plan = plan_for(snapshot, {2: (1, 2, 4), 0: (1, 2, 5), 1: (6, 4, 5)}, MoveLimits(moves=1))
    played = perform(stage_of(snapshot, plan, {}, "4.1").stage.lasting(10 * SECOND), 0)
    assert set(played.states.values()) == {MoveState.DONE}
    first, second, third = (played.moments["orders", number] for number in (2, 0, 1))
    assert BEGIN <= first.begin < first.end <= second.begin < second.end <= third.begin
    assert third.brokers == (1, 2, 3, 6, 4, 5)


@BOTH_MODES
def test_the_replicas_and_the_leader_are_those_of_the_plan_at_the_end(version: str) -> None:
    stage = staged(cluster(THREE, THREE), {0: (4, 2, 3), 1: (3, 1, 2)}, version).stage.lasting(5 * SECOND)
    played = perform(stage, 0, keep=True)
    last = {event.values[0]: event.values[1:4] for event in played.events if event.kind == Kind.PARTITION_CHANGED}
    assert {name: (leader, set(isr)) for name, (leader, _, isr) in last.items()} == {
        "orders-0": (4, {4, 2, 3}),
        "orders-1": (3, {3, 1, 2}),
    }


def test_a_plan_that_is_left_out_changes_nothing() -> None:
    stage = staged(cluster(THREE), {0: (4, 2, 3)}).stage.lasting(0)
    played = perform(stage, 0, moving=False, keep=True)
    assert not [event for event in played.events if event.node == PLAN]
    assert set(played.states.values()) == {MoveState.PENDING}


# -- the same seed, the same answer


def test_a_seed_gives_the_same_verdict_alone_and_among_others_on_any_number_of_processes() -> None:
    found = rehearsal(cluster(THREE, (2, 3, 1)), {0: (1, 2, 4), 1: (5, 3, 6)})
    together = rehearse(found, range(3, 6), processes=2)
    assert pickle.dumps(together) == pickle.dumps(rehearse(found, range(3, 6), processes=1))
    again = rehearsal(cluster(THREE, (2, 3, 1)), {0: (1, 2, 4), 1: (5, 3, 6)})
    assert rehearse(again, range(5, 6)) == together[2:]
    assert len({one.trace_hash for one in together}) == 3, "seeds differ"


@pytest.mark.parametrize("processes", [1, 2])
def test_what_was_played_so_far_is_kept_when_it_is_stopped(processes: int) -> None:
    told: list[str] = []
    found = rehearsal(cluster(THREE), {0: (1, 2, 4)})
    verdicts = rehearse(found, range(40), processes, told.append, lambda: len(told) >= 3)
    assert [one.seed for one in verdicts] == [0, 1, 2]
    assert told[-1] == "3 of 40 runs played, 0 failing"


# -- what is staged


def test_what_cannot_begin_is_left_out_and_named() -> None:
    snapshot = cluster(THREE, THREE, THREE, brokers=[*BROKERS[:5], {**BROKERS[5], "alive": False}])
    plan = plan_for(snapshot, {0: (1, 2, 4), 1: (1, 2, 6), 2: (1, 4)})
    found = stage_of(snapshot, plan, {}, "4.1")
    assert [one.change.partition for one in found.chosen] == [0]
    assert "orders-1 is not played: broker 6 is not alive" in found.remarks
    assert [one for one in found.remarks if "orders-2 is not played: afterwards" in one]
    with pytest.raises(UsageError, match="no move of the plan can begin"):
        stage_of(snapshot, plan_for(snapshot, {1: (1, 2, 6)}), {}, "4.1")


def test_a_partition_that_has_drifted_is_not_played() -> None:
    plan = plan_for(cluster(THREE, THREE), {0: (1, 2, 4), 1: (1, 2, 4)})
    found = stage_of(cluster((1, 2, 5), THREE), plan, {}, "4.1")
    assert [one.change.partition for one in found.chosen] == [1]
    assert "orders-0 is not played: its replicas are 1,2,5: somebody else changed them" in found.remarks


def test_a_plan_of_another_cluster_is_refused() -> None:
    snapshot = cluster(THREE)
    other = snapshot_of([partition()], BROKERS, cluster_id="another")
    with pytest.raises(UsageError, match="the plan belongs to another cluster"):
        stage_of(other, plan_for(snapshot, {0: (1, 2, 4)}), {}, "4.1")


def test_only_the_brokers_of_the_moves_are_played_with_their_racks_and_those_that_are_down_stay_so() -> None:
    dead = [{**broker, "alive": False} for broker in BROKERS[4:]]
    snapshot = cluster((1, 2, 6), brokers=[*BROKERS[:4], *dead])
    setup = staged(snapshot, {0: (1, 2, 4)}).stage.setup
    assert {broker.id: broker.rack for broker in setup.brokers} == {1: "b", 2: "c", 4: "b", 6: "a"}
    assert setup.down == ("broker-6",)


def test_topics_of_kafka_take_the_records_of_a_producer() -> None:
    rows: list[dict[str, Any]] = [partition("__consumer_offsets", 3, internal=True)]
    snapshot = snapshot_of(rows, BROKERS, features={"metadata.version": 25})
    stage = stage_of(snapshot, plan_for(snapshot, {3: (1, 2, 4)}, topic="__consumer_offsets"), {}, "4.1").stage
    found = rehearsal_of(stage, 1)
    verdicts = rehearse(found, range(6), processes=1)
    assert [one.wrong for one in verdicts] == [()] * 6
    assert {key for one in verdicts for key in one.harm} <= {("__consumer_offsets", 3)}
    assert verdicts[0].acknowledged == perform(found.stage, 0).outcome.histories.sent, "each was acknowledged"
