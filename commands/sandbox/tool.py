"""kreplica sandbox tool: one of Kafka's own tools, run against a sandbox."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from commands.sandbox.options import NameOption
from commands.shared.help import examples
from commands.shared.printing.terminal import pass_on


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    behind = {"allow_interspersed_args": False}  # words after the tool's name are the tool's own
    group.command(
        "tool",
        short_help="Run one of Kafka's own tools against the sandbox.",
        epilog=examples(
            "kreplica sandbox tool topics --describe",
            "kreplica sandbox tool --name old consumer-groups --list",
        ),
        context_settings=behind,
    )(tool)


def tool(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Name of the tool, such as topics or kafka-topics.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENTS…", help="Arguments of the tool.")] = None,
    name: NameOption = "default",
) -> None:
    """Run one of Kafka's own tools against the sandbox; --bootstrap-server is put in.

    The name is that of Kafka's script, with or without kafka- and .sh; the exit code is the tool's own. kreplica's own
    options stand before the name.
    """
    from kreplica.sandbox import Sandbox

    result = Sandbox.open(name).run_tool(tool, *(arguments or []))
    pass_on(result.stdout, sys.stdout)
    pass_on(result.stderr, sys.stderr)
    raise typer.Exit(result.exit_status)
