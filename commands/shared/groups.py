"""Subcommands of a group: only those that are asked for are built, since each adds a few milliseconds to the start."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import typer
import typer.core

from commands.shared.help import LONGEST, write_section


class GroupWithOwnCommand(typer.core.TyperGroup):
    """A group that is a command, too: unless the first word names a subcommand, all words are for that of its own name.

    That one stands in the group's place: in messages and in its help its name is said once.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the command's name in front where it is meant."""
        own = self.commands.get(str(self.name))
        if isinstance(own, OwnCommand):
            own.beside = {name: command for name, command in self.commands.items() if command is not own}
        below = bool(args) and args[0] in self.commands and args[0] != self.name
        return super().parse_args(ctx, args if below else [str(self.name), *args])


class OwnCommand(typer.core.TyperCommand):
    """A command that may be the own one of a group; its help lists the others then."""

    beside: Mapping[str, Any] = MappingProxyType({})
    """The other commands of the group."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context, with the group's place where this is the group's own command."""
        if parent is not None and isinstance(parent.command, GroupWithOwnCommand) and info_name == parent.info_name:
            parent = parent.parent
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the options, then the other commands."""
        super().format_options(ctx, formatter)
        records = [(name, command.get_short_help_str(LONGEST)) for name, command in self.beside.items()]
        write_section(formatter, "Commands", records)


def register_subcommands(group: typer.Typer, modules: Mapping[str, str], below: str | None) -> None:
    """Imports the modules of subcommands and lets each register its own.

    Args:
        group: Gets the subcommands.
        modules: Module by subcommand, in the order of the help; one that registers several stands by each of them.
        below: The word after the group's name: if it names a subcommand, only that one is built. None where there is
            no such word; empty where only the group's own line of help is wanted, which needs none of them.
    """
    if below == "":
        return
    asked = [below] if below is not None and below in modules else modules
    for module in dict.fromkeys(modules[name] for name in asked):
        importlib.import_module(module).register(group)
