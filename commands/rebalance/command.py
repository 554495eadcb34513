"""kreplica rebalance: bring leaders back to where they are preferred, and move replicas, by a plan."""

from __future__ import annotations

import typer

from commands.shared.groups import register_subcommands

SUBCOMMANDS = {
    "leaders": "commands.rebalance.leaders",
    "replicas": "commands.rebalance.replicas.command",
    "verify": "commands.rebalance.verify",
    "rehearse": "commands.rebalance.rehearse.command",
    "apply": "commands.rebalance.apply",
    "resume": "commands.rebalance.apply",
    "status": "commands.rebalance.status",
    "cancel": "commands.rebalance.status",
    "rollback": "commands.rebalance.rollback",
    "throttle": "commands.rebalance.throttle",
    "throttles": "commands.rebalance.throttles",
}
"""The module that registers each subcommand, in the order of the help."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(
        help="Move leadership back to preferred replicas, and replicas to other brokers.", no_args_is_help=True
    )
    register_subcommands(group, SUBCOMMANDS, below)
    app.add_typer(group, name="rebalance")
