"""kreplica roll: rolling restarts, planned and supervised; kreplica restarts nothing itself."""

from __future__ import annotations

import typer

from commands.shared.groups import register_subcommands

SUBCOMMANDS = {"plan": "commands.roll.plan", "next": "commands.roll.next_restart"}
"""The module that registers each subcommand, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(help="Plan a rolling restart; ask which brokers may restart next.", no_args_is_help=True)
    register_subcommands(group, SUBCOMMANDS, below)
    app.add_typer(group, name="roll")
