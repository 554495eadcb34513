"""The explorer's own models, judged by TLC: the same states, depth, verdict and shortest counterexample.

tests/golden/tlc has what TLC 2.15 says of settings.tla, epoch_answers.tla, quorum.tla, group_members.tla and
kip320_release.tla in benchmarks, which were written anew from what Kafka does; ``python
benchmarks/explorer/judges.py`` asks it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kreplica.engine.explorer import plain_search
from kreplica.engine.explorer.compiled import search as compiled_search
from kreplica.engine.explorer.explored import Explored
from kreplica.engine.explorer.model import Invariant, Model
from kreplica.engine.explorer.models.coordinators.memberships import models as memberships
from kreplica.engine.explorer.models.coordinators.memberships.state import MembershipBounds
from kreplica.engine.explorer.models.epoch_answers import models as answers
from kreplica.engine.explorer.models.epoch_answers.models import AnswersBounds
from kreplica.engine.explorer.models.one_partition import models as partitions
from kreplica.engine.explorer.models.one_partition.state import Bounds
from kreplica.engine.explorer.models.quorum import models as quorum
from kreplica.engine.explorer.models.quorum.state import QuorumBounds
from kreplica.engine.explorer.models.settings import models as settings
from kreplica.engine.explorer.models.settings.state import ANY_LEADER, SettingsBounds, SettingsState
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.versions.version import NEVER

JUDGED = Path(__file__).parents[3] / "golden" / "tlc"
PLENTY = 2**30
Search = Callable[..., Explored]


def holds(_state: SettingsState) -> bool:
    """True of every state."""
    return True


ANYTHING = Invariant("anything", holds, "")
"""A search for a state that breaks it finds them all."""


def rows(name: str) -> list[Any]:
    found = json.loads((JUDGED / f"{name}.json").read_text())
    return [pytest.param(row, id=f"{row['model']} {row['bounds']}") for row in found]


def settings_model(name: str, bounds: Mapping[str, Any]) -> Model:
    acks = ACKS_ALL if bounds["acks"] == "all" else int(bounds["acks"])
    flush = bounds["flush_messages"] or NEVER
    return settings.model_of(name, SettingsBounds(**{**bounds, "acks": acks, "flush_messages": flush}))


def assert_same(model: Model, row: Mapping[str, Any], search: Search = plain_search.search) -> None:
    """One search finds all states, and on its way the first that breaks the invariant."""
    (invariant,) = model.invariants
    found = search(model, [invariant, ANYTHING], PLENTY)
    assert found.complete
    assert (found.distinct, found.depth) == (row["distinct"], row["depth"])
    way = found.broken.get(invariant.name)
    assert (len(way) - 1 if way else None) == row["steps"]


@pytest.mark.one_python
@pytest.mark.parametrize("row", rows("settings"))
def test_a_model_of_settings_has_the_states_that_tlc_counts(row: Mapping[str, Any]) -> None:
    assert_same(settings_model(row["model"], row["bounds"]), row)


@pytest.mark.slow
@pytest.mark.parametrize("row", rows("settings-large"))
def test_so_has_a_large_one_compiled(row: Mapping[str, Any]) -> None:
    assert_same(settings_model(row["model"], row["bounds"]), row, compiled_search.search)


@pytest.mark.parametrize("row", rows("kip320_release"))
def test_one_partition_of_a_release_has_the_states_that_tlc_counts(row: Mapping[str, Any]) -> None:
    bounds = dict(row["bounds"])
    model = partitions.model_of(row["model"], Bounds(last_epoch=bounds.pop("epochs"), **bounds))
    found = plain_search.search(model, [*model.invariants, ANYTHING], PLENTY)
    assert found.complete
    assert (found.distinct, found.depth) == (row["distinct"], row["depth"])
    steps = {name: len(way) - 1 for name, way in found.broken.items()}
    assert min((steps[name] for name in ("strong-isr", "weak-isr") if name in steps), default=None) == row["steps"]
    if row["steps"] is None:
        assert set(steps) <= ({"epoch-prefix"} if model.name == "kip-320-3.9" else set())


@pytest.mark.parametrize("row", rows("epoch_answers"))
def test_a_model_of_answers_under_way_has_the_states_that_tlc_counts(row: Mapping[str, Any]) -> None:
    model = answers.model_of(row["model"], AnswersBounds(row["bounds"]["replicas"], row["bounds"]["epochs"]))
    assert_same(model, row)
    unsettled = plain_search.search(model, [], PLENTY, goals=model.goals).broken
    assert bool(unsettled) != row["settles"]


def quorum_model(row: Mapping[str, Any]) -> Model:
    bounds = dict(row["bounds"])
    return quorum.model_of(row["model"], QuorumBounds(last_epoch=bounds.pop("epochs"), **bounds))


@pytest.mark.one_python
@pytest.mark.parametrize("row", [row for row in rows("quorum") if "invariant" not in row.values[0]])
def test_a_quorum_has_the_states_that_tlc_counts(row: Mapping[str, Any]) -> None:
    model = quorum_model(row)
    found = plain_search.search(model, model.invariants, PLENTY)
    assert found.complete
    assert (found.distinct, found.depth) == (row["distinct"], row["depth"])
    assert (row["steps"], found.broken) == (None, {})


@pytest.mark.one_python
@pytest.mark.parametrize("row", [row for row in rows("quorum") if "invariant" in row.values[0]])
def test_a_quorum_without_a_guard_breaks_in_the_steps_that_tlc_finds(row: Mapping[str, Any]) -> None:
    model = quorum_model(row)
    asked = [one for one in model.invariants if one.name == row["invariant"]]
    assert len(plain_search.search(model, asked, PLENTY).broken[row["invariant"]]) - 1 == row["steps"]


def assert_group_is_same(row: Mapping[str, Any]) -> None:
    model = memberships.model_of(row["model"], MembershipBounds(**row["bounds"]))
    found = plain_search.search(model, [*model.invariants, ANYTHING], PLENTY)
    assert found.complete
    assert (found.distinct, found.depth) == (row["distinct"], row["depth"])
    assert {name: len(way) - 1 for name, way in found.broken.items()} == row["broken"]


@pytest.mark.one_python
@pytest.mark.parametrize("row", rows("group_members"))
def test_a_group_of_kafkas_clients_has_the_states_that_tlc_counts(row: Mapping[str, Any]) -> None:
    assert_group_is_same(row)


@pytest.mark.slow
@pytest.mark.parametrize("row", rows("group_members-large"))
def test_so_has_a_group_in_which_two_clients_own_a_partition(row: Mapping[str, Any]) -> None:
    assert_group_is_same(row)


def test_the_rows_lose_and_hold_within_every_kind_of_bound() -> None:
    """Each kind of fault, both acks, three ways to flush, two and three replicas, losses and none."""
    judged = json.loads((JUDGED / "settings.json").read_text())
    assert {row["model"] for row in judged} == set(settings.VERSIONS)
    assert {row["steps"] is None for row in judged} == {True, False}
    for name in ("losses", "stops", "cut_offs", "power_losses", "power_losses_of_all", "unclean"):
        assert {bool(row["bounds"][name]) for row in judged} == {True, False}, name
    for name, values in (("acks", {"1", "all"}), ("flush_messages", {None, 1, 2}), ("replicas", {2, 3})):
        assert {row["bounds"][name] for row in judged} == values, name
    assert {row["bounds"]["first_leader"] for row in judged} >= {ANY_LEADER, 1, 2}
    assert {row["model"] for row in json.loads((JUDGED / "epoch_answers.json").read_text())} == set(answers.TABLES)
    assert {row["model"] for row in json.loads((JUDGED / "quorum.json").read_text())} == set(quorum.TABLES)
