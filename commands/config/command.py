"""kreplica config: the contexts file: made, listed, switched, explained and tried."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.config.named_contexts import named_contexts, read_contexts
from commands.shared.help import examples
from commands.shared.options import ConfigOption, OutputOption, TimeoutOption
from commands.shared.printing.output import Answer, OutputFormat, emit

if TYPE_CHECKING:
    from rich.console import Console

    from commands.config.rows import ContextRow, SettingRow
    from kreplica.config.contexts import ContextsFile
    from kreplica.config.handle import ClusterSettings


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
    from commands.config.rows import FileRow
    from kreplica.config.contexts import locate, write_template

    path, _ = locate(config, os.environ)
    write_template(path)
    answer = Answer("config-init", "files", FileRow, [FileRow(str(path), "written")])

    def human(console: Console) -> None:
        console.print(f"wrote {path}, every key explained and commented out")
        console.print("next     name a cluster in it, then: kreplica config check NAME")

    emit(answer, output, human)


def list_contexts(config: ConfigOption = None, output: OutputOption = None) -> None:
    """List the clusters of the contexts file; the current one is marked.

    Exits 0 when there are none, 2 when the file cannot be used.
    """
    file = read_contexts(config)
    _emit_contexts("config-list", file, output)


def use(
    name: Annotated[str, typer.Argument(metavar="CONTEXT", help="The context that becomes the current one.")],
    config: ConfigOption = None,
    output: OutputOption = None,
) -> None:
    """Make a context the current one: the cluster of every command that names none.

    Comments and layout of the contexts file stay as they are. Exits 2 when there is no such context.
    """
    from kreplica.config.contexts import write_current

    file = read_contexts(config)
    file.matching([name])
    write_current(file, name)
    _emit_contexts("config-use", read_contexts(config), output)


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
    from commands.config.rows import SettingRow
    from kreplica.config.contexts import locate
    from kreplica.config.handle import Setting
    from kreplica.config.resolve import effective_settings
    from kreplica.system.time_limits import check_timeout

    file, chosen = named_contexts(names or (), config)
    option = None if timeout is None else Setting(f"{check_timeout(timeout, '--timeout'):g}", "--timeout")
    path, named_by = locate(config, os.environ)
    rows: list[SettingRow] = []
    for name in chosen:
        rows.append(SettingRow(name, "contexts_file", str(path), named_by or "default"))
        rows += setting_rows(effective_settings(file, name, option))
    answer = Answer("config-show", "settings", SettingRow, rows)
    emit(answer, output, lambda console: _show_settings(rows, len(chosen) > 1, origin, console))


def setting_rows(settings: ClusterSettings) -> list[SettingRow]:
    """Effective values of one context: its own settings, client properties, and the commands its secrets come from."""
    from commands.config.rows import SettingRow
    from kreplica.config.exposure import shown

    name = settings.name
    rows = [SettingRow(name, key, setting.text, setting.origin) for key, setting in settings.settings.items()]
    rows += [
        SettingRow(name, f"properties.{key}", shown(key, setting.text), setting.origin)
        for key, setting in settings.properties.items()
    ]
    # Only the program: its arguments may hold what nobody else should read.
    rows += [
        SettingRow(
            name, f"commands.{key}", words[0] if words else "", f"{settings.files[0]}: contexts.{name}.commands.{key}"
        )
        for key, words in settings.commands.items()
    ]
    return rows


def _emit_contexts(command: str, file: ContextsFile, output: OutputFormat | None) -> None:
    from commands.config.rows import ContextRow

    rows = [_context_row(file, name) for name in file.contexts]
    summary = {"contexts": len(rows), "current": file.current, "file": None if file.path is None else str(file.path)}
    answer = Answer(command, "contexts", ContextRow, rows, summary=summary)
    emit(answer, output, lambda console: _show_contexts(file, rows, console))


def _context_row(file: ContextsFile, name: str) -> ContextRow:
    from commands.config.rows import ContextRow

    context = file.contexts[name]
    return ContextRow(
        context=name,
        current=name == file.current,
        bootstrap_servers=context.bootstrap_servers,
        zookeeper=context.zookeeper,
        command_config=context.command_config,
        security_protocol=context.properties.get("security.protocol"),
        read_only=context.read_only is True,
        production=context.production is True,
    )


def _show_contexts(file: ContextsFile, rows: Sequence[ContextRow], console: Console) -> None:
    from commands.config.rows import ContextRow
    from commands.shared.printing.screen import TableColumn, print_columns, table_columns
    from kreplica.config.contexts import default_path

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


def _show_settings(rows: Sequence[SettingRow], several: bool, origin: bool, console: Console) -> None:
    from commands.config.rows import SettingRow
    from commands.shared.printing.screen import print_rows

    print_rows(console, SettingRow, rows, shown=[*["context"] * several, "name", "value", *["origin"] * origin])
