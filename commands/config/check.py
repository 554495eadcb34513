"""kreplica config check: tries a context step by step, and names the obstacles."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options.common import ConfigOption, OutputOption, TimeoutOption
from commands.shared.printing.output import Answer, emit
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.monitoring.context_check import CheckedContexts, CheckRow
    from kreplica.sources.permissions import Permission


def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CONTEXT]...", help="Contexts, or patterns such as 'prod-*'; the current one if none."),
    ] = None,
    config: ConfigOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = None,
) -> None:
    """Try a context: its files, its secrets, the way in, who the cluster sees, and which commands it lets work.

    Nothing is changed. A permission that is lacking is no finding, because not everybody should have all of them. Exits
    2 when the settings of a context cannot be used, 3 when a cluster cannot be reached or refuses the credentials, 1
    when there is a warning.
    """
    from kreplica.monitoring.context_check import CheckRow, config_check

    checked = config_check(names or (), config, timeout=timeout, uses=permission_uses(), environ=os.environ)
    summary = {"contexts": len(checked.names), **checked.counts}
    answer = Answer("config-check", "checks", CheckRow, checked.rows, summary=summary)
    emit(answer, output, lambda console: _show(checked, console))
    raise typer.Exit(checked.exit_code)


def permission_uses() -> dict[Permission, str]:
    """The permissions that commands need, or that make their answers complete, each with these commands."""
    from commands.shared.kafka_requests import COMMAND_REQUESTS, commands_that_need

    every = dict.fromkeys(
        permission for command in COMMAND_REQUESTS.values() for permission in (*command.permissions, *command.optional)
    )
    needing = {permission: ", ".join(commands_that_need(permission)) for permission in every}
    return {
        permission: f"for {commands}" if commands else "for causes only" for permission, commands in needing.items()
    }


def _count(rows: Sequence[CheckRow], status: str) -> int:
    return sum(row.status == status for row in rows)


def _show(checked: CheckedContexts, console: Console) -> None:
    from commands.shared.printing.screen import print_lines, print_verdict
    from kreplica.monitoring.context_check import UNKNOWN

    for name in checked.names:
        own = [row for row in checked.rows if row.context == name]
        print_verdict(console, *_verdict(name, own))
        for line in _lines(own):
            print_lines(console, "", [line])
        fixes = dict.fromkeys(row.fix for row in own if row.fix and row.status != UNKNOWN)
        print_lines(console, "next", fixes, whole=True)


def _lines(rows: Sequence[CheckRow]) -> Iterator[str]:
    """A line for each check; granted permissions share one, since only missing ones name the commands concerned."""
    from kreplica.monitoring.context_check import OK

    there = [row for row in rows if row.status == OK and " on the " in row.check]
    for row in rows:
        if row not in there:
            yield f"{row.status:<11}  {row.check}: {row.message}"
        elif row is there[0]:
            yield f"{OK:<11}  permissions: {', '.join(one.check for one in there)}"


def _verdict(name: str, rows: Sequence[CheckRow]) -> tuple[str, str, str]:
    from kreplica.monitoring.context_check import FAILED, LACKING, UNREACHABLE, WARNING

    if _count(rows, FAILED):
        return "UNUSABLE", "red", f"{name}: {rows[-1].message}"
    if _count(rows, UNREACHABLE):
        return "UNREACHABLE", "red", f"{name}: {rows[-1].message}"
    lacking = _count(rows, LACKING)
    tail = f", {counted(lacking, 'permission')} lacking" if lacking else ", no permission is seen lacking"
    if warnings := _count(rows, WARNING):
        return "WARNING", "yellow", f"{name} works, with {counted(warnings, 'warning')}{tail}"
    return "OK", "green", f"{name} works{tail}"
