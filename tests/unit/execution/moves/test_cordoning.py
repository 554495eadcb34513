"""Brokers that a plan drains are cordoned while it runs, and put back; replicas that appear on them are told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plans.moved import OPTIONS, Moved

from kreplica.config.handle import ClusterHandle
from kreplica.errors import ChangeRefusedError
from kreplica.execution.moves import carrying_out
from kreplica.execution.moves.carrying_out import (
    CarryOutOptions,
    moves_apply,
    moves_resume,
    moves_rollback,
    moves_status,
)
from kreplica.execution.moves.plans.plan_file import write_replica_plan

HERE = ClusterHandle("paper", "127.0.0.1:1")
QUICK = CarryOutOptions(replace(OPTIONS, max_wait=0.2))


@pytest.fixture
def draining(moved: Moved, monkeypatch: pytest.MonkeyPatch) -> Moved:
    """A plan that empties broker 3."""
    monkeypatch.setattr(carrying_out, "LiveCluster", lambda *_, **__: moved.cluster)
    moved.cluster.start(*[(1, 2, 3)] * 3)
    plan = moved.make(dict.fromkeys(range(3), (1, 2, 4)))
    moved.digest = write_replica_plan(replace(plan, drained=(3,)), moved.path, replace=True)
    return moved


def during(moved: Moved) -> list[object]:
    """Cordons whenever moves are asked for."""
    seen: list[object] = []

    def look(what: str) -> None:
        if what == "after the reassignment":
            seen.append(moved.cluster.read().get("cordons"))

    moved.cluster.point = look
    return seen


@pytest.mark.parametrize("before", [{}, {"3": "/one"}])
def test_a_drained_broker_is_cordoned_while_it_is_emptied(draining: Moved, before: dict[str, str]) -> None:
    draining.cluster.set(cordons=before)
    seen = during(draining)
    outcome = moves_apply(HERE, draining.path, QUICK, execute=True)
    assert (outcome.exit_code, outcome.remarks) == (0, ())
    assert seen == [{"3": "*"}]
    assert draining.cluster.read()["cordons"] == before
    assert not draining.progress.owes


def test_an_operators_cordon_stays(draining: Moved) -> None:
    draining.cluster.set(cordons={"3": "*"})
    assert moves_apply(HERE, draining.path, QUICK, execute=True).remarks == ()
    assert draining.cluster.read()["cordons"] == {"3": "*"}


def test_a_cordon_is_kept_where_that_is_asked_for(draining: Moved) -> None:
    outcome = moves_apply(HERE, draining.path, replace(QUICK, keep_cordon=True), execute=True)
    assert (outcome.exit_code, outcome.remarks) == (0, ("brokers 3 stay cordoned",))
    assert draining.cluster.read()["cordons"] == {"3": "*"}
    assert moves_status(HERE, draining.path).exit_code == 0


def test_brokers_without_the_setting_are_drained_without_it(draining: Moved) -> None:
    draining.cluster.set(old=True)
    outcome = moves_apply(HERE, draining.path, QUICK, execute=True)
    assert (outcome.exit_code, outcome.remarks) == (0, ())
    assert "cordons" not in draining.cluster.read()


def test_a_cordon_stays_while_something_is_in_flight_and_is_owed(draining: Moved) -> None:
    draining.cluster.change(1, hangs=True)
    outcome = moves_apply(HERE, draining.path, QUICK, execute=True)
    assert (outcome.exit_code, draining.cluster.read()["cordons"]) == (4, {"3": "*"})
    told = moves_status(HERE, draining.path)
    assert (told.exit_code, told.remarks) == (1, ("the cordon of brokers 3 is still to be put back",))
    draining.cluster.change(1, hangs=False)
    outcome = moves_resume(HERE, draining.path, QUICK, execute=True)
    assert (outcome.exit_code, outcome.remarks) == (0, ())
    assert draining.cluster.read()["cordons"] == {}


def test_a_value_that_somebody_set_meanwhile_is_left(draining: Moved) -> None:
    draining.cluster.point = lambda what: (
        draining.cluster.set(cordons={"3": "/two"}) if what == "after the reassignment" else None
    )
    assert moves_apply(HERE, draining.path, QUICK, execute=True).exit_code == 0
    assert draining.cluster.read()["cordons"] == {"3": "/two"}
    assert not draining.progress.owes


def test_what_a_broker_that_is_down_is_owed_is_put_back_later(draining: Moved) -> None:
    draining.cluster.point = lambda what: draining.cluster.set(dead=[3]) if what == "after the reassignment" else None
    outcome = moves_apply(HERE, draining.path, QUICK, execute=True)
    assert outcome.remarks == ("broker 3 is still cordoned: resume puts back what was",)
    draining.cluster.point = lambda _: None
    draining.cluster.set(dead=[])
    assert moves_resume(HERE, draining.path, QUICK, execute=True).exit_code == 0
    assert draining.cluster.read()["cordons"] == {}


def test_replicas_that_appear_on_a_drained_broker_are_told(draining: Moved) -> None:
    rows = draining.cluster.read()["rows"]
    draining.cluster.set(rows={**rows, "7": {"replicas": [3, 1], "isr": [3, 1], "leader": 3}})
    outcome = moves_apply(HERE, draining.path, QUICK, execute=True)
    assert outcome.remarks == ("broker 3 has 1 replica that the plan does not move: orders-7",)


def test_a_stop_keeps_its_reason_when_the_cordon_is_put_back(draining: Moved) -> None:
    draining.cluster.change(1, leader=-1)
    outcome = moves_apply(HERE, draining.path, QUICK, execute=True)
    assert outcome.state.progress.message.startswith(
        "nothing has moved on for 0.2 s: orders-1: no live broker leads it"
    )
    assert draining.cluster.read()["cordons"] == {}


def test_the_way_back_onto_a_cordoned_broker_is_refused_with_what_to_type(draining: Moved) -> None:
    moves_apply(HERE, draining.path, replace(QUICK, keep_cordon=True), execute=True)
    before = draining.cluster.replicas
    said = (
        "broker 3 is cordoned, and 3 replicas would go back there; a cordoned broker takes no new replica; take the"
        " cordon away first: kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type brokers"
        " --entity-name 3 --delete-config cordoned.log.dirs"
    )
    told = moves_rollback(HERE, draining.path, QUICK)
    assert (told.exit_code, told.executed, told.remarks) == (4, False, (said,))
    with pytest.raises(ChangeRefusedError) as refused:
        moves_rollback(HERE, draining.path, QUICK, execute=True)
    assert (str(refused.value), draining.cluster.replicas) == (said, before)
    draining.cluster.set(cordons={"3": "/one"})  # one directory alone takes nothing, the others do
    assert moves_rollback(HERE, draining.path, QUICK, execute=True).exit_code == 0
    assert draining.cluster.replicas == [(1, 2, 3)] * 3


def test_the_way_back_begins_with_the_plans_own_cordon(draining: Moved) -> None:
    draining.cluster.change(1, hangs=True)
    assert moves_apply(HERE, draining.path, QUICK, execute=True).exit_code == 4
    draining.cluster.change(1, hangs=False)
    assert draining.cluster.read()["cordons"] == {"3": "*"}
    seen = during(draining)
    assert moves_rollback(HERE, draining.path, QUICK).remarks == ("the cordon of brokers 3 is still to be put back",)
    assert moves_rollback(HERE, draining.path, QUICK, execute=True).exit_code == 0
    assert set(map(str, seen)) == {"{}"}
    assert draining.cluster.replicas == [(1, 2, 3)] * 3
    assert not draining.progress.owes
