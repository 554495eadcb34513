"""kreplica audit mutes: the rules that are muted."""

from __future__ import annotations

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "mutes",
        short_help="List the rules that are muted.",
        epilog=examples(
            "kreplica audit mutes",
            "kreplica audit mutes -o json",
        ),
    )(mutes)


def mutes(output: OutputOption = None) -> None:
    """List the rules that are muted, also those whose time is over.

    Mutes are kept in mutes.toml beside the contexts file. Exits 0 when there are none, 2 when the file cannot be used.
    """
    from commands.audit.mutes.answer import answer_to
    from commands.audit.mutes.screen import show_list
    from commands.shared.printing.output import emit
    from kreplica.fleet.muting import list_mutes

    found = list_mutes()
    emit(answer_to("audit-mutes", found), output, lambda console: show_list(found, console))
