"""kreplica whatif: what would happen; one file a subcommand."""

from __future__ import annotations

import typer

from commands.shared.groups import register_subcommands

SUBCOMMANDS = {
    "list": "commands.whatif.list_scenarios",
    "show": "commands.whatif.show_scenario",
    "run": "commands.whatif.run.command",
    "compare": "commands.whatif.compare",
    "fail": "commands.whatif.fail.command",
    "models": "commands.whatif.list_models",
    "model": "commands.whatif.show_model",
    "prove": "commands.whatif.prove.command",
    "validate": "commands.whatif.validate.command",
}
"""The module that registers each subcommand, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(help="Rehearse failures, settings and versions by Kafka's own rules.", no_args_is_help=True)
    register_subcommands(group, SUBCOMMANDS, below)
    app.add_typer(group, name="whatif")
