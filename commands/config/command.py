"""kreplica config: the contexts file: made, listed, switched, explained and tried."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import ConfigOption, OutputOption, TimeoutOption
from commands.shared.printing.output import Answer, OutputFormat, emit

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.config.contexts import ContextsFile
    from kreplica.config.listing import ContextRow, ListedContexts, ShownContexts


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(help="Name clusters in a contexts file, and check them.", no_args_is_help=True)
    app.add_typer(group, name="config")
    if below == "":
        return
    from commands.config.check import check

    group.command(
        "init",
        short_help="Write a contexts file with every key explained.",
        epilog=examples(
            "kreplica config init",
            "kreplica config init --config clusters.toml",
        ),
    )(init)
    group.command(
        "list",
        short_help="List the clusters of the contexts file.",
        epilog=examples(
            "kreplica config list",
            "kreplica config list --config clusters.toml -o json",
        ),
    )(list_contexts)
    group.command(
        "use",
        short_help="Make a context the current one.",
        epilog=examples(
            "kreplica config use staging",
            "kreplica config use prod-eu --config clusters.toml",
        ),
    )(use)
    group.command(
        "show",
        short_help="Show the effective settings of a context, with their origin.",
        epilog=examples(
            "kreplica config show prod-eu",
            "kreplica config show 'prod-*' --origin",
        ),
    )(show)
    group.command(
        "check",
        short_help="Try a context: files, secrets, connection, permissions.",
        epilog=examples(
            "kreplica config check prod-eu",
            "kreplica config check 'prod-*' -o json",
        ),
    )(check)


def init(config: ConfigOption = None, output: OutputOption = None) -> None:
    """Write a contexts file with every key explained in comments; one that exists is left alone.

    Only its owner can read it. Exits 2 when there is one already.
    """
    from kreplica.config.listing import FileRow, config_init

    written = config_init(config, environ=os.environ)
    answer = Answer("config-init", "files", FileRow, written.rows)

    def human(console: Console) -> None:
        console.print(f"wrote {written.path}, every key explained and commented out")
        console.print("next     name a cluster in it, then: kreplica config check NAME")

    emit(answer, output, human)


def list_contexts(config: ConfigOption = None, output: OutputOption = None) -> None:
    """List the clusters of the contexts file; the current one is marked.

    Exits 0 when there are none, 2 when the file cannot be used.
    """
    from kreplica.config.listing import config_list

    _emit_contexts("config-list", config_list(config, environ=os.environ), output)


def use(
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context that becomes the current one.")],
    config: ConfigOption = None,
    output: OutputOption = None,
) -> None:
    """Make a context the current one: the cluster of every command that names none.

    Comments and layout of the contexts file stay as they are. Exits 2 when there is no such context.
    """
    from kreplica.config.listing import config_use

    _emit_contexts("config-use", config_use(name, config, environ=os.environ), output)


def show(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CONTEXT]...", help="Contexts, or patterns such as 'prod-*'; the current one if none."),
    ] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Also show where each value comes from.")] = False,
    config: ConfigOption = None,
    timeout: TimeoutOption = None,
    output: OutputOption = None,
) -> None:
    """Show the effective settings of a context, client properties included; secrets are hidden, references are not.

    Nothing is looked up and no cluster is asked. Exits 2 when the settings cannot be used.
    """
    from kreplica.config.listing import SettingRow, config_show

    found = config_show(names or (), config, timeout=timeout, environ=os.environ)
    answer = Answer("config-show", "settings", SettingRow, found.rows)
    emit(answer, output, lambda console: _show_settings(found, origin, console))


def _emit_contexts(command: str, listed: ListedContexts, output: OutputFormat | None) -> None:
    from kreplica.config.listing import ContextRow

    file, rows = listed.file, listed.rows
    summary = {"contexts": len(rows), "current": file.current, "file": None if file.path is None else str(file.path)}
    answer = Answer(command, "contexts", ContextRow, rows, summary=summary)
    emit(answer, output, lambda console: _show_contexts(file, rows, console))


def _show_contexts(file: ContextsFile, rows: Sequence[ContextRow], console: Console) -> None:
    from commands.shared.printing.screen import TableColumn, print_columns, table_columns
    from kreplica.config.contexts import default_path
    from kreplica.config.listing import ContextRow

    if not rows:
        where = f"{file.path} names no cluster yet" if file.path else f"there is no contexts file {default_path()}"
        console.print(where)
        console.print("next     kreplica config init" if file.path is None else f"next     edit {file.path}")
        return
    shown = [name for name in ContextRow.__struct_fields__ if name != "current"]
    cells = [["*" if row.current else "", *[getattr(row, name) for name in shown]] for row in rows]
    print_columns(console, [TableColumn(""), *table_columns(ContextRow, shown)], cells)
    if file.current is None:
        console.print("no context is the current one")
        console.print(f"next     kreplica config use {rows[0].context}")


def _show_settings(found: ShownContexts, origin: bool, console: Console) -> None:
    from commands.shared.printing.screen import print_rows
    from kreplica.config.listing import SettingRow

    several = len(found.names) > 1
    print_rows(console, SettingRow, found.rows, shown=[*["context"] * several, "name", "value", *["origin"] * origin])
