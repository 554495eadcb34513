"""Scenarios before they are played: the list, and one with its parts."""

from __future__ import annotations

import pytest

from kreplica.errors import UsageError
from kreplica.scenarios import names, scenario_named
from kreplica.scenarios.listing import whatif_list, whatif_show


def test_every_scenario_is_listed_in_order() -> None:
    rows = whatif_list().rows
    assert [row.scenario for row in rows] == list(names())
    assert all(row.versions and row.title and row.source for row in rows)


@pytest.mark.parametrize("name", ["hw-truncation-loss", "zombie-transaction", "follower-read-monotonic"])
def test_a_scenario_is_shown_with_its_parts(name: str) -> None:
    scenario, shown = scenario_named(name), whatif_show(name)
    facts = shown.facts
    assert (facts["name"], facts["title"]) == (scenario.name, scenario.title)
    assert facts["brokers"] == [{"id": broker.id, "rack": broker.rack} for broker in scenario.setup.brokers]
    assert [len(facts[key]) for key in ("topics", "clients", "plan")] == [  # type: ignore[arg-type]
        len(scenario.setup.topics),
        len(scenario.setup.clients),
        len(scenario.plan),
    ]
    assert [row.version for row in shown.rows] == [case.version for case in scenario.cases]
    assert [set(row.expected) for row in shown.rows] == [set(case.expected) for case in scenario.cases]


def test_a_scenario_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean hw-truncation-loss"):
        whatif_show("hw-truncation-los")
