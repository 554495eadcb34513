"""kreplica whatif: what would happen; one file a subcommand."""

from __future__ import annotations

import importlib

import typer

from commands.groups import wanted

SUBCOMMANDS = ("list", "show", "run", "compare", "fail")
"""Modules commands.whatif_NAME, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.groups)."""
    group = typer.Typer(help="Ask what would happen, by Kafka's own rules.", no_args_is_help=True)
    for name in wanted(SUBCOMMANDS, below):
        importlib.import_module(f"commands.whatif_{name}").register(group)
    app.add_typer(group, name="whatif")
