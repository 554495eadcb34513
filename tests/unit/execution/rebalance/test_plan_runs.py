"""Plans carried out by the functions of the library: what is asked first, what is refused, what the outcome says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kreplica.config.handle import ClusterHandle
from kreplica.errors import ChangeRefusedError, ExitCode, UnreachableError, UsageError
from kreplica.execution.executor import Pace
from kreplica.execution.journal_file import journal_path
from kreplica.execution.rebalance import plan_state, running
from kreplica.execution.rebalance.apply import rebalance_apply, rebalance_resume
from kreplica.execution.rebalance.leaders import rebalance_leaders
from kreplica.execution.rebalance.rollback import rebalance_rollback
from kreplica.execution.rebalance.running import RebalanceOptions
from kreplica.execution.rebalance.status import rebalance_cancel, rebalance_status
from kreplica.monitoring import clusters

HANDLE = ClusterHandle(name="paper", bootstrap_servers="127.0.0.1:1")


@pytest.fixture
def plan(paper: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A plan of three elections in two steps; the library reads the cluster on paper."""
    made = paper(0, 1, 3)
    monkeypatch.setattr(clusters, "read_snapshot", made.cluster.read_snapshot)
    return made


def led_by_preferred(plan: Any) -> list[bool]:
    return [row["leader"] == row["replicas"][0] for row in plan.cluster.rows()]


def test_a_plan_is_confirmed_once_then_applied_and_reported(plan: Any) -> None:
    asked, said = [], []

    def confirm(cluster: str, change: str) -> None:
        asked.append((cluster, change, led_by_preferred(plan), journal_path(plan.path).exists()))

    outcome = rebalance_apply(HANDLE, plan.path, RebalanceOptions(confirm=confirm, report=said.append), execute=True)
    before = [False, False, True, False, True, True]
    assert asked == [("cluster-id", "run 3 preferred leader elections", before, False)]
    assert said == ["batch 1 of 2: 2 of 2 as planned", "batch 2 of 2: 1 of 1 as planned"]
    assert all(led_by_preferred(plan))
    assert (outcome.executed, outcome.exit_code, dict(outcome.counts)) == (True, ExitCode.OK, {"done": 3})
    assert {row.partition: row.leader for row in outcome.rows} == {0: 1, 1: 2, 3: 1}, "read again"


@pytest.mark.parametrize("change", [rebalance_apply, rebalance_resume])
def test_what_is_not_confirmed_is_not_begun(plan: Any, change: Any) -> None:
    def refuse(*_: str) -> None:
        raise ChangeRefusedError("nothing was changed", "not confirmed")

    before = plan.cluster.rows()
    with pytest.raises(ChangeRefusedError, match="nothing was changed"):
        change(HANDLE, plan.path, RebalanceOptions(confirm=refuse), execute=True)
    assert (plan.cluster.rows(), journal_path(plan.path).exists()) == (before, False)


def test_without_execute_nothing_is_asked_and_nothing_done(plan: Any) -> None:
    options = RebalanceOptions(confirm=lambda *_: pytest.fail("nobody is to be asked"))
    before = plan.cluster.rows()
    outcomes = [rebalance_apply(HANDLE, plan.path, options), rebalance_resume(HANDLE, plan.path, options)]
    assert [(one.executed, one.exit_code, one.counts["pending"]) for one in outcomes] == [(False, ExitCode.OK, 3)] * 2
    assert (plan.cluster.rows(), journal_path(plan.path).exists()) == (before, False)


def test_a_pace_splits_the_steps(plan: Any) -> None:
    said: list[str] = []
    rebalance_apply(HANDLE, plan.path, RebalanceOptions(Pace(batch=1), report=said.append), execute=True)
    assert said == [f"batch {number} of 3: 1 of 1 as planned" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("handle", "reason"),
    [(replace(HANDLE, read_only=True), "read_only"), (ClusterHandle("kept", dump="sample"), "it is a dump")],
)
def test_a_cluster_that_may_not_be_changed_is_refused_before_anybody_is_asked(
    plan: Any, handle: ClusterHandle, reason: str
) -> None:
    options = RebalanceOptions(confirm=lambda *_: pytest.fail("nobody is to be asked"))
    with pytest.raises(ChangeRefusedError, match=reason):
        rebalance_apply(handle, plan.path, options, execute=True)
    assert not journal_path(plan.path).exists()
    rebalance_apply(HANDLE, plan.path, execute=True)
    with pytest.raises(ChangeRefusedError, match=reason):
        rebalance_rollback(handle, plan.path, options, execute=True, allow_reorder=True)
    assert all(led_by_preferred(plan))


def test_elections_through_zookeeper_need_a_word(plan: Any) -> None:
    by_zookeeper = ClusterHandle("paper", zookeeper="127.0.0.1:1")
    with pytest.raises(ChangeRefusedError, match="--allow-zookeeper-write allows that"):
        rebalance_apply(by_zookeeper, plan.path, execute=True)
    assert not journal_path(plan.path).exists()


def test_a_rollback_brings_back_what_was(plan: Any) -> None:
    before = [(row["leader"], row["replicas"]) for row in plan.cluster.rows()]
    rebalance_apply(HANDLE, plan.path, execute=True)
    with pytest.raises(ChangeRefusedError, match="give --allow-reorder"):
        rebalance_rollback(HANDLE, plan.path, execute=True)
    possible = rebalance_rollback(HANDLE, plan.path)
    assert (possible.executed, dict(possible.rollback_counts), possible.remarks) == (False, {"pending": 3}, ())
    asked: list[str] = []
    options = RebalanceOptions(confirm=lambda _, change: asked.append(change))
    outcome = rebalance_rollback(HANDLE, plan.path, options, execute=True, allow_reorder=True)
    assert asked == ["bring back 3 former leaders"]
    assert [(row["leader"], row["replicas"]) for row in plan.cluster.rows()] == before
    assert (outcome.exit_code, dict(outcome.rollback_counts)) == (ExitCode.OK, {"done": 3})
    assert ["auto.leader.rebalance.enable" in remark for remark in outcome.warnings] == [True]


def test_a_rollback_that_was_interrupted_is_resumed_as_one(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rebalance_apply(HANDLE, plan.path, execute=True)
    with monkeypatch.context() as interrupted:
        interrupted.setattr("kreplica.control.elect.elect_preferred", ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            rebalance_rollback(HANDLE, plan.path, execute=True, allow_reorder=True)
    assert rebalance_status(HANDLE, plan.path).state.phase_words == "interrupted while rolling back"
    outcome = rebalance_resume(HANDLE, plan.path, execute=True)
    assert (outcome.state.rolled, outcome.rollback_counts["done"]) == (True, 3)


def ctrl_c(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_status_counts_what_is_left_and_what_drifted(plan: Any) -> None:
    assert rebalance_status(HANDLE, plan.path).exit_code is ExitCode.FINDINGS
    rebalance_apply(HANDLE, plan.path, execute=True)
    assert rebalance_status(HANDLE, plan.path).exit_code is ExitCode.OK
    plan.cluster.change(0, leader=2)
    outcome = rebalance_status(HANDLE, plan.path)
    reasons = {row.partition: row.reason for row in outcome.rows}
    assert (outcome.exit_code, reasons) == (ExitCode.OK, {0: "broker 2 has come to lead since", 1: "", 3: ""})


def test_a_plan_that_has_drifted_is_not_begun(plan: Any) -> None:
    plan.cluster.change(1, leader_epoch=9)
    outcome = rebalance_apply(HANDLE, plan.path, execute=True)
    assert (outcome.executed, outcome.exit_code) == (False, ExitCode.CHANGE_REFUSED)
    assert dict(outcome.counts) == {"pending": 2, "drifted": 1}
    assert not journal_path(plan.path).exists()


def test_a_cancelled_plan_is_over(plan: Any) -> None:
    assert rebalance_cancel(plan.path).counts == {"pending": 3}
    assert not journal_path(plan.path).exists()
    outcome = rebalance_cancel(plan.path, execute=True)
    assert (outcome.executed, dict(outcome.counts), outcome.state.reading) == (True, {"dropped": 3}, None)
    with pytest.raises(ChangeRefusedError, match="there is nothing to cancel"):
        rebalance_cancel(plan.path)
    with pytest.raises(ChangeRefusedError, match="the plan was cancelled"):
        rebalance_resume(HANDLE, plan.path, execute=True)


def test_what_was_done_is_told_where_the_cluster_is_gone_afterwards(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise UnreachableError("no answer from paper")

    said: list[str] = []
    state = plan_state.look_at_plan(plan.path, HANDLE)
    monkeypatch.setattr(clusters, "read_snapshot", gone)
    options = RebalanceOptions(report=said.append)

    def work(session: Any) -> str:
        session.tell("at work")
        return ""

    after = running.carry_out(state, HANDLE, work, options, lambda _: None)
    assert said == ["at work", "the cluster could not be read afterwards: no answer from paper"]
    assert (dict(after.checks), after.running) == ({}, False)


def test_leaders_are_elected_without_a_plan(plan: Any) -> None:
    asked: list[tuple[str, ...]] = []
    options = RebalanceOptions(confirm=lambda *words: asked.append(words))
    found = rebalance_leaders(HANDLE, options, execute=True)
    assert asked == [("cluster-id", "run 3 preferred leader elections")]
    assert [(row.partition, row.leader_after, row.done) for row in found.rows] == [
        (0, 1, True),
        (1, 2, True),
        (3, 1, True),
    ]
    assert (found.exit_code, all(led_by_preferred(plan))) == (ExitCode.OK, True)


def test_leaders_are_elected_or_planned_not_both(plan: Any) -> None:
    before = plan.cluster.rows()
    out = plan.path.with_name("new.json")
    with pytest.raises(UsageError, match="exclude each other"):
        rebalance_leaders(HANDLE, execute=True, out=out)
    assert not out.exists()
    found = rebalance_leaders(HANDLE, out=out)
    assert found.plan is not None
    assert [change.key for change in found.plan.changes] == [("orders", number) for number in (0, 1, 3)]
    assert (out.exists(), found.executed, plan.cluster.rows()) == (True, False, before)
