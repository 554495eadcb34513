"""kreplica rebalance: bring leaders back to where they are preferred, at once or by a plan."""

from __future__ import annotations

import typer


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(help="Bring leaders back to where they are preferred.", no_args_is_help=True)
    app.add_typer(group, name="rebalance")
    if below == "":
        return
    from commands.rebalance import apply, leaders, rollback, status

    group.command("leaders", short_help="Elect preferred leaders, or write a plan of it.")(leaders.leaders)
    group.command("apply", short_help="Run the elections of a plan.")(apply.apply)
    group.command("status", short_help="How far a plan has come.")(status.status)
    group.command("resume", short_help="Go on with a plan that was interrupted.")(apply.resume)
    group.command("cancel", short_help="Drop what is left of a plan.")(status.cancel)
    group.command("rollback", short_help="Bring back the leaders that a plan replaced.")(rollback.rollback)
