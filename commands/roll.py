"""kreplica roll: rolling restarts, planned and looked after; kreplica restarts nothing itself."""

from __future__ import annotations

import importlib

import typer

from commands.groups import wanted

SUBCOMMANDS = ("plan", "next")
"""Modules commands.roll_NAME, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.groups)."""
    group = typer.Typer(help="Plan a rolling restart and be told what may restart next.", no_args_is_help=True)
    for name in wanted(SUBCOMMANDS, below):
        importlib.import_module(f"commands.roll_{name}").register(group)
    app.add_typer(group, name="roll")
