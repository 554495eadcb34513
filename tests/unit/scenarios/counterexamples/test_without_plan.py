"""Each model whose counterexamples may have no plan has a reason for that."""

from __future__ import annotations

import pytest

from kreplica.engine.explorer.families import FAMILIES
from kreplica.scenarios.counterexamples.without_plan import GOAL, why_no_plan


@pytest.mark.parametrize("model", [name for family in FAMILIES for name in family.names])
def test_a_model_has_a_reason_of_its_invariants_and_another_of_its_goals(model: str) -> None:
    assert why_no_plan(model, is_goal=True) == GOAL
    assert why_no_plan(model, is_goal=False) not in ("", GOAL)
