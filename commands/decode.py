"""kreplica decode: the files that brokers leave behind, read without a broker; one file a subcommand."""

from __future__ import annotations

import importlib

import typer

from commands.groups import wanted

SUBCOMMANDS = ("offsets", "segment", "transactions", "metadata", "checkpoints", "indexes", "check", "compare")
"""Modules commands.decode_NAME, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.groups)."""
    group = typer.Typer(help="Read the files that brokers leave behind, without a broker.", no_args_is_help=True)
    for name in wanted(SUBCOMMANDS, below):
        importlib.import_module(f"commands.decode_{name}").register(group)
    app.add_typer(group, name="decode")
