"""kreplica decode: the files that brokers leave behind, read without a broker; one file a subcommand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
import typer.core

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


class PathAwareGroup(typer.core.TyperGroup):
    """A group of which a user may forget the subcommand, and name the files at once."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds the subcommand.

        Raises:
            UsageError: A path is there instead.
        """
        if args and args[0] and args[0] not in self.commands and Path(args[0]).exists():
            from commands.decode.path_first import line_that_reads
            from kreplica.errors import UsageError

            raise UsageError(f"a subcommand is missing before {args[0]}", "", line_that_reads(Path(args[0])))
        return super().resolve_command(ctx, args)


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(
        cls=PathAwareGroup,
        help="Decode broker files on disk: offsets, transactions, KRaft metadata, checkpoints.",
        no_args_is_help=True,
    )
    register_subcommands(group, SUBCOMMANDS, below)
    app.add_typer(group, name="decode")
