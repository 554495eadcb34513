"""kreplica decode: the files that brokers leave behind, read without a broker; one file a subcommand."""

from __future__ import annotations

import importlib

import typer

SUBCOMMANDS = ("offsets", "segment", "transactions", "metadata", "checkpoints", "indexes", "check", "compare")
"""Modules commands.decode_NAME, in the order of the help."""


def register(app: typer.Typer, only: str = "") -> None:
    """Adds the command group; if ``only`` is the name of a subcommand, with no other one."""
    group = typer.Typer(help="Read the files that brokers leave behind, without a broker.", no_args_is_help=True)
    for name in [only] if only in SUBCOMMANDS else SUBCOMMANDS:
        importlib.import_module(f"commands.decode_{name}").register(group)
    app.add_typer(group, name="decode")
