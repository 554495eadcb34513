"""Subcommands of a group: only those that are asked for are built, since each adds a few milliseconds to the start."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import typer


def register_subcommands(group: typer.Typer, modules: Mapping[str, str], below: str | None) -> None:
    """Imports the modules of subcommands and lets each register its own.

    Args:
        group: Gets the subcommands.
        modules: Module by subcommand, in the order of the help.
        below: The word after the group's name: if it names a subcommand, only that one is built. None where there is
            no such word; empty where only the group's own line of help is wanted, which needs none of them.
    """
    if below == "":
        return
    for name in [below] if below is not None and below in modules else modules:
        importlib.import_module(modules[name]).register(group)
