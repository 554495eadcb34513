"""kreplica whatif show: one scenario before it is played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from commands.shared.help import examples
from commands.shared.options import OutputOption
from commands.whatif.options import ScenarioArgument, pairs, shown_settings

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer, Row
    from kreplica.engine.setup import Client
    from kreplica.scenarios import Scenario
    from kreplica.scenarios.rows import ScenarioCase


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "show",
        short_help="Show the parts of a scenario and its expected outcome.",
        epilog=examples(
            "kreplica whatif show hw-truncation-loss",
            "kreplica whatif show hw-truncation-loss -o json",
        ),
    )(show)


def show(scenario: ScenarioArgument, output: OutputOption = None) -> None:
    """Show a scenario: why it is worth a look, its cluster, clients and faults, and what comes out by version.

    Exits 0, 2 when there is no such scenario.
    """
    from commands.shared.printing.output import Answer, emit
    from kreplica.scenarios import scenario_named
    from kreplica.scenarios.rows import ScenarioCase

    chosen = scenario_named(scenario)
    answer = Answer(
        command="whatif-show",
        rows_name="cases",
        columns=ScenarioCase,
        rows=[
            ScenarioCase(
                version=case.version,
                settings=shown_settings(dict(case.settings)),
                expected={name: _plain(value) for name, value in case.expected.items()},
                controllers=[str(mode) for mode in case.modes],
            )
            for case in chosen.cases
        ],
        summary={"scenario": chosen.name, "title": chosen.title},
        objects={"scenario": _scenario(chosen)},
    )
    emit(answer, output, lambda console: _show(answer, chosen, console))


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str | dict | type(None)) else str(value)


def _scenario(scenario: Scenario) -> Row:
    import json

    from kreplica.engine.fault_plan import plan_to_json
    from kreplica.report.clients import client_words

    setup = scenario.setup
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


def _show(answer: Answer, scenario: Scenario, console: Console) -> None:
    from commands.shared.printing.screen import TableColumn, print_columns, print_lines, print_verdict
    from kreplica.engine.plan_text import step_words

    print_verdict(console, scenario.name, "cyan", scenario.title)
    print_lines(console, "why", [" ".join(scenario.why.split())])
    print_lines(console, "source", [scenario.source])
    print_lines(console, "note", [" ".join(scenario.notes.split())] if scenario.notes else [])
    print_lines(console, "versions", [scenario.played_under])
    print_lines(console, "cluster", _cluster(scenario))
    print_lines(console, "clients", [_client(client) for client in scenario.setup.clients])
    print_lines(console, "faults", [step_words(step) for step in scenario.plan])
    console.print()
    cells = [[_since(row), pairs(row.settings) or "as it is", pairs(row.expected)] for row in answer.rows]
    columns = [TableColumn("SINCE VERSION"), TableColumn("SETTINGS"), TableColumn("COMES OUT", fold=True)]
    print_columns(console, columns, cells)
    console.print()
    print_lines(console, "next", [f"kreplica whatif run {scenario.name} --explain"], whole=True)


def _since(row: ScenarioCase) -> str:
    """The version of a case; with the mode if the case holds for ZooKeeper alone."""
    return f"{row.version} in ZooKeeper mode" if row.controllers == ["zookeeper"] else row.version


def _cluster(scenario: Scenario) -> list[str]:
    setup = scenario.setup
    racks = [f"{broker.id} (rack {broker.rack})" if broker.rack else str(broker.id) for broker in setup.brokers]
    lines = [f"brokers {', '.join(racks)}; {setup.duration / 1_000_000:g} s"]
    for topic in setup.topics:
        places = "; ".join(f"{name} on {_ids(ids)}" for name, ids in topic.partitions.items())
        lines.append(f"topic {topic.name}: {places}" + (f"; {pairs(topic.settings)}" if topic.settings else ""))
    return [*lines, *([pairs(shown_settings(dict(setup.settings)))] if setup.settings else [])]


def _client(client: Client) -> str:
    from kreplica.report.clients import client_words

    told = pairs(shown_settings(dict(client.settings)))
    return f"{client.name} {client_words(client)}" + (f"; {told}" if told else "")


def _ids(ids: tuple[int, ...]) -> str:
    return ",".join(map(str, ids))
