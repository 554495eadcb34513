"""kreplica whatif show: one scenario before it is played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.engine_settings import shown_settings
from commands.whatif.options import ScenarioArgument, pairs

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer
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
    """Show a scenario: its purpose, cluster, clients and faults, and the outcome by version.

    Exits 0, 2 when there is no such scenario.
    """
    from commands.shared.printing.output import Answer, emit
    from kreplica.scenarios.listing import whatif_show
    from kreplica.scenarios.rows import ScenarioCase

    shown = whatif_show(scenario)
    chosen = shown.scenario
    answer = Answer(
        command="whatif-show",
        rows_name="cases",
        columns=ScenarioCase,
        rows=shown.rows,
        summary={"scenario": chosen.name, "title": chosen.title},
        objects={"scenario": shown.facts},
    )
    emit(answer, output, lambda console: _show(answer, chosen, console))


def _show(answer: Answer[ScenarioCase], scenario: Scenario, console: Console) -> None:
    from commands.shared.printing.screen import TableColumn, print_columns, print_lines, print_verdict
    from kreplica.engine.plans.text import step_words

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
