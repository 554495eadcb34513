"""Scenarios before they are played, as rows: all of them, and one with its cluster, clients, faults and cases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kreplica.engine.fault_plan import plan_to_json
from kreplica.errors import NoJudgement
from kreplica.report.clients import client_words
from kreplica.scenarios import scenario_named, scenarios
from kreplica.scenarios.outcome_rows import shown_settings
from kreplica.scenarios.rows import ListedScenario, ScenarioCase
from kreplica.scenarios.scenario import Scenario


@dataclass(frozen=True, slots=True)
class ListedScenarios(NoJudgement):
    """Scenarios of this package, and those from outside.

    Args:
        scenarios: The scenarios.
    """

    scenarios: Sequence[Scenario]

    @property
    def rows(self) -> list[ListedScenario]:
        """A row for each."""
        return [
            ListedScenario(
                scenario=each.name,
                title=each.title,
                versions=list(dict.fromkeys(case.version for case in each.cases)),
                played_under=each.played_under,
                source=each.source,
            )
            for each in self.scenarios
        ]


@dataclass(frozen=True, slots=True)
class ShownScenario(NoJudgement):
    """A scenario before it is played.

    Args:
        scenario: The scenario.
    """

    scenario: Scenario

    @property
    def rows(self) -> list[ScenarioCase]:
        """Its cases: what must come out, by version and settings."""
        return [
            ScenarioCase(
                version=case.version,
                settings=shown_settings(dict(case.settings)),
                expected={name: _plain(value) for name, value in case.expected.items()},
                controllers=[str(mode) for mode in case.modes],
            )
            for case in self.scenario.cases
        ]

    @property
    def facts(self) -> Mapping[str, object]:
        """Its words, its cluster, its clients and its faults, as plain values."""
        scenario, setup = self.scenario, self.scenario.setup
        return {
            "name": scenario.name,
            "title": scenario.title,
            "why": " ".join(scenario.why.split()),
            "source": scenario.source,
            "notes": " ".join(scenario.notes.split()),
            "played_under": scenario.played_under,
            "brokers": [{"id": broker.id, "rack": broker.rack} for broker in setup.brokers],
            "topics": [
                {
                    "name": topic.name,
                    "assignment": [list(replicas) for replicas in topic.assignment],
                    "settings": dict(topic.settings),
                }
                for topic in setup.topics
            ],
            "clients": [
                {
                    "name": client.name,
                    "does": client_words(client),
                    "settings": shown_settings(dict(client.settings)),
                }
                for client in setup.clients
            ],
            "settings": shown_settings(dict(setup.settings)),
            "duration_ms": setup.duration // 1000,
            "plan": json.loads(plan_to_json(scenario.plan)),
        }


def whatif_list() -> ListedScenarios:
    """Lists the scenarios, those from outside last.

    Raises:
        UsageError: An entry point of another package names no scenario.
    """
    return ListedScenarios(scenarios())


def whatif_show(name: str) -> ShownScenario:
    """Tells why a scenario is worth a look, its cluster, clients and faults, and what comes out by version.

    Raises:
        UsageError: There is none of that name; the nearest ones are given.
    """
    return ShownScenario(scenario_named(name))


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str | dict | type(None)) else str(value)
