"""kreplica decode: the files that brokers leave behind, read without a broker; one file a subcommand."""

from __future__ import annotations

import typer

from commands.decode.path_first import PathAwareGroup
from commands.shared.groups import register_subcommands

SUBCOMMANDS = {
    "offsets": "commands.decode.offsets.command",
    "segment": "commands.decode.segment.command",
    "transactions": "commands.decode.transactions.command",
    "metadata": "commands.decode.metadata.command",
    "checkpoints": "commands.decode.checkpoints",
    "indexes": "commands.decode.indexes",
    "check": "commands.decode.check",
    "compare": "commands.decode.compare",
}
"""The module that registers each subcommand, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(
        cls=PathAwareGroup,
        help="Decode broker files on disk: offsets, transactions, KRaft metadata, checkpoints.",
        no_args_is_help=True,
    )
    register_subcommands(group, SUBCOMMANDS, below)
    app.add_typer(group, name="decode")
