"""Reasons for which counterexamples have no plan: each model has one."""

from __future__ import annotations

import pytest

from kreplica.engine.explorer.families import FAMILIES
from kreplica.scenarios.counterexamples.without_plan import GOAL, why_no_plan


@pytest.mark.parametrize("model", [name for family in FAMILIES for name in family.names])
def test_a_model_has_a_reason_of_its_invariants_and_another_of_its_goals(model: str) -> None:
    assert why_no_plan(model, is_goal=True) == GOAL
    assert why_no_plan(model, is_goal=False) not in ("", GOAL)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("coordinator-m2", "every release has the guard that this model lacks"),
        ("consumer-group-m1", "every release has the guard that this model lacks"),
        ("consumer-group-4.2-m1", "every release has the guard that this model lacks"),
        ("quorum-m2", "every release has the guard that this model lacks; a run elects its controllers at once"),
        ("consumer-group-4.3-mended", "no release behaves like this model"),
        ("settings-4.1-mended", "no release behaves like this model"),
        ("consumer-group-4.3", "a plan has two consumers and one fault"),
        ("async-isr-m1", "(KIP-497, since 2.7)"),
    ],
)
def test_a_reason_tells_what_the_model_is_to_releases(model: str, told: str) -> None:
    assert told in why_no_plan(model, is_goal=False)
