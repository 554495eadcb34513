"""kreplica whatif: what would happen; one file a subcommand."""

from __future__ import annotations

import importlib

import typer

SUBCOMMANDS = ("list", "show", "run", "compare", "fail")
"""Modules commands.whatif_NAME, in the order of the help."""


def register(app: typer.Typer) -> None:
    """Adds the command group."""
    group = typer.Typer(help="Ask what would happen, by Kafka's own rules.", no_args_is_help=True)
    for name in SUBCOMMANDS:
        importlib.import_module(f"commands.whatif_{name}").register(group)
    app.add_typer(group, name="whatif")
