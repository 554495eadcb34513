"""Many runs: the same on any number of processes, failures shrunk to what fails by itself."""

from __future__ import annotations

import pytest

from kreplica.engine import observe, version_named
from kreplica.engine.fault_plan import plan_from_json, plan_to_json
from kreplica.engine.plans.omissions import settings_of, without
from kreplica.scenarios import scenario_named
from kreplica.scenarios.random_runs import Job, ManyRuns, is_failure, run_many, wrong_with

JOB = Job("acks1-leader-crash", "3.9-kraft", {"acks": 0})
FIRST, RUNS = 70, 20


@pytest.fixture(scope="module")
def in_turn() -> ManyRuns:
    return run_many(JOB, FIRST, RUNS, processes=1)


def test_two_processes_give_the_same(in_turn: ManyRuns) -> None:
    assert run_many(JOB, FIRST, RUNS, processes=2) == in_turn


def test_a_part_of_the_seeds_gives_a_part_of_the_verdicts(in_turn: ManyRuns) -> None:
    assert run_many(JOB, FIRST + 5, 3, processes=1).verdicts == in_turn.verdicts[5:8]


def test_verdicts_are_counted(in_turn: ManyRuns) -> None:
    assert [verdict.seed for verdict in in_turn.verdicts] == list(range(FIRST, FIRST + RUNS))
    assert in_turn.wrong["lost"] == sum(verdict.lost > 0 for verdict in in_turn.verdicts) > 0


def test_the_smallest_plan_fails_by_itself_and_from_its_file(in_turn: ManyRuns) -> None:
    smallest = in_turn.smallest
    assert smallest is not None
    assert is_failure(smallest.wrong)
    plan = plan_from_json(plan_to_json(smallest.plan), "plan.json")
    setup = without(scenario_named(JOB.scenario).setup, smallest.leave_out).with_settings(JOB.settings)
    outcome, _ = observe(setup, plan, version_named(JOB.version), smallest.seed)
    assert wrong_with(outcome) == smallest.wrong
    for place in range(len(plan)):
        fewer = plan[:place] + plan[place + 1 :]
        assert not is_failure(wrong_with(observe(setup, fewer, version_named(JOB.version), smallest.seed)[0]))


def test_records_that_the_failure_does_not_need_are_left_out(in_turn: ManyRuns) -> None:
    """One lost record is enough for a loss: the scenario's others are not sent."""
    smallest = in_turn.smallest
    assert smallest is not None
    clients = without(scenario_named(JOB.scenario).setup, smallest.leave_out).clients
    assert sum(len(getattr(client, "sends", ())) for client in clients) == 1


def test_the_cluster_is_as_small_as_what_was_promised_lets_it_be(in_turn: ManyRuns) -> None:
    """A record that nobody acknowledged is lost with two replicas as with three: three were promised, and stay."""
    smallest = in_turn.smallest
    assert smallest is not None
    setup = without(scenario_named(JOB.scenario).setup, smallest.leave_out)
    assert [len(setup.brokers), *map(len, setup.topics[0].assignment)] == [3, 3]
    assert set(settings_of(setup)) == {"acks", "min.insync.replicas"}
