"""kreplica sandbox: a real Apache Kafka on loopback, to practise on and to break."""

from __future__ import annotations

import typer

from commands.shared.groups import register_subcommands

SUBCOMMANDS = {
    "start": "commands.sandbox.start",
    **dict.fromkeys(("stop", "status", "kill", "pause", "resume", "start-broker"), "commands.sandbox.servers"),
    "topic": "commands.sandbox.topic",
    "load": "commands.sandbox.load",
    "tool": "commands.sandbox.tool",
}
"""The module that registers each subcommand, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(help="Run a real Apache Kafka on loopback, to practise on.", no_args_is_help=True)
    register_subcommands(group, SUBCOMMANDS, below)
    app.add_typer(group, name="sandbox")
