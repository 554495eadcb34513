"""The list of models: every model and every bound of it is told, and what is told of it is so."""

from __future__ import annotations

import pytest

from kreplica.engine.explorer.catalogue import ABOUT, BOUNDS, option_of
from kreplica.engine.explorer.families import FAMILIES, Family
from kreplica.engine.explorer.listing import whatif_model, whatif_models
from kreplica.engine.explorer.proof import whatif_prove
from kreplica.errors import UsageError

NAMES = [name for family in FAMILIES for name in family.names]


def test_each_model_has_one_line() -> None:
    assert set(ABOUT) == set(NAMES)
    lines = [(one.subject, one.about) for one in ABOUT.values()]
    assert len(set(lines)) == len(lines)
    assert max(len(one.about) for one in ABOUT.values()) <= 92


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.names[0])
def test_each_bound_has_a_meaning(family: Family) -> None:
    for name in family.names:
        shown = whatif_model(name)
        bounds = BOUNDS[ABOUT[name].subject]
        assert [row.option for row in shown.rows] == [option_of(bound) for bound in shown.family.default._fields]
        assert set(bounds) == set(shown.family.default._fields)


def test_mutants_are_left_out_unless_asked_for() -> None:
    few, every = whatif_models(), whatif_models(mutants=True)
    assert [row.model for row in every.rows] == NAMES
    assert [row.model for row in few.rows] == [row.model for row in every.rows if not row.mutant]
    assert (few.mutants, every.mutants) == (len(every.rows) - len(few.rows), 0)
    assert {row.model for row in every.rows if row.mutant} == {name for name in NAMES if name[-3:-1] == "-m"}


def test_the_first_property_is_the_one_that_is_asked_by_default() -> None:
    shown = whatif_model("retries-one")
    (default,) = [one for one in shown.facts["properties"] if one["default"]]  # type: ignore[attr-defined]
    proof = whatif_prove("retries-one")
    assert [one.name for one in proof.invariants] == [default["name"]]
    assert {row.option.removeprefix("--"): int(row.default) for row in shown.rows}.items() <= proof.verdict.items()


def test_an_unknown_model_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no model 'kip320'.*kip-320"):
        whatif_model("kip320")
