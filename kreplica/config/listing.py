"""The contexts file as rows: its contexts, their effective settings with their origin; made and switched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from kreplica.config.contexts import ContextsFile, chosen_contexts, load_contexts, locate, write_current, write_template
from kreplica.config.exposure import shown
from kreplica.config.handle import ClusterSettings
from kreplica.config.resolve import DEFAULT, effective_settings, timeout_setting
from kreplica.errors import NoJudgement
from kreplica.model.tables.rows import Meaning


class FileRow(Struct, frozen=True):
    """A file that was written."""

    path: Annotated[str, Meaning("the contexts file")]
    status: Annotated[str, Meaning("written")]


class ContextRow(Struct, frozen=True):
    """A context of the contexts file."""

    context: Annotated[str, Meaning("name of the context")]
    current: Annotated[bool, Meaning("whether commands that name no cluster mean it", screen=False)]
    bootstrap_servers: Annotated[
        str | None, Meaning("servers as written, null if command_config or zookeeper names the cluster")
    ]
    zookeeper: Annotated[str | None, Meaning("ZooKeeper servers and chroot, null if none", drop=3)]
    command_config: Annotated[str | None, Meaning("file of client properties as written, null if none", drop=1)]
    security_protocol: Annotated[
        str | None, Meaning("security.protocol of the context's own properties, null if it has none", drop=2)
    ]
    read_only: Annotated[bool, Meaning("whether changes are refused")]
    production: Annotated[bool, Meaning("whether changes ask for more confirmation")]


class SettingRow(Struct, frozen=True):
    """An effective setting of a context."""

    context: Annotated[str, Meaning("name of the context")]
    name: Annotated[
        str,
        Meaning("setting; client properties begin with `properties.`, programs that print secrets with `commands.`"),
    ]
    value: Annotated[str, Meaning("value as written; secrets are `(hidden)`, references to them are shown")]
    origin: Annotated[
        str,
        Meaning("option, environment variable, key of the contexts file, line of a properties file, or default"),
    ]


@dataclass(frozen=True, slots=True)
class WrittenContexts(NoJudgement):
    """A contexts file that was written.

    Args:
        path: Its path.
    """

    path: Path

    @property
    def rows(self) -> list[FileRow]:
        """The file."""
        return [FileRow(str(self.path), "written")]


@dataclass(frozen=True, slots=True)
class ListedContexts(NoJudgement):
    """The contexts of a file.

    Args:
        file: The file.
    """

    file: ContextsFile

    @property
    def rows(self) -> list[ContextRow]:
        """Its contexts, in its order."""
        return [self._row(name) for name in self.file.contexts]

    def _row(self, name: str) -> ContextRow:
        context = self.file.contexts[name]
        return ContextRow(
            context=name,
            current=name == self.file.current,
            bootstrap_servers=context.bootstrap_servers,
            zookeeper=context.zookeeper,
            command_config=context.command_config,
            security_protocol=context.properties.get("security.protocol"),
            read_only=context.read_only is True,
            production=context.production is True,
        )


@dataclass(frozen=True, slots=True)
class ShownContexts(NoJudgement):
    """Effective settings of some contexts.

    Args:
        names: The contexts.
        rows: Their settings, context by context.
    """

    names: Sequence[str]
    rows: Sequence[SettingRow]


def config_init(config_path: str | None = None, *, environ: Mapping[str, str]) -> WrittenContexts:
    """Writes a contexts file with every key explained in comments, readable by its owner alone.

    Args:
        config_path: Where to; the environment or the user's configuration folder says it if None.
        environ: Environment variables.

    Raises:
        ConfigurationError: There is one already, or it cannot be written.
    """
    path, _ = locate(config_path, environ)
    write_template(path)
    return WrittenContexts(path)


def config_list(config_path: str | None = None, *, environ: Mapping[str, str]) -> ListedContexts:
    """Lists the contexts of the contexts file; none where there is no file.

    Args:
        config_path: The contexts file; the environment or the user's configuration folder says it if None.
        environ: Environment variables.

    Raises:
        ConfigurationError: The file cannot be used.
    """
    return ListedContexts(load_contexts(config_path, environ))


def config_use(name: str, config_path: str | None = None, *, environ: Mapping[str, str]) -> ListedContexts:
    """Makes a context the current one; comments and layout of the contexts file stay.

    Args:
        name: The context.
        config_path: The contexts file; the environment or the user's configuration folder says it if None.
        environ: Environment variables.

    Raises:
        ConfigurationError: There is no such context, or the file cannot be read or written.
    """
    file = load_contexts(config_path, environ)
    file.matching([name])
    write_current(file, name)
    return config_list(config_path, environ=environ)


def config_show(
    names: Sequence[str] = (),
    config_path: str | None = None,
    *,
    timeout: float | None = None,
    environ: Mapping[str, str],
) -> ShownContexts:
    """Tells the effective settings of contexts with their origin; secrets are hidden, references to them are not.

    Nothing is looked up and no cluster is asked.

    Args:
        names: Contexts, or patterns such as ``prod-*``; the current one if empty.
        config_path: The contexts file; the environment or the user's configuration folder says it if None.
        timeout: Seconds that one read may take; the context's own if None.
        environ: Environment variables.

    Raises:
        ConfigurationError: There is no such context, or its settings cannot be used.
        UsageError: The timeout is not above zero.
    """
    file = load_contexts(config_path, environ)
    chosen, option = chosen_contexts(file, names), timeout_setting(timeout)
    path, named_by = locate(config_path, environ)
    rows: list[SettingRow] = []
    for name in chosen:
        rows.append(SettingRow(name, "contexts_file", str(path), named_by or DEFAULT))
        rows += _setting_rows(effective_settings(file, name, option))
    return ShownContexts(chosen, rows)


def _setting_rows(settings: ClusterSettings) -> list[SettingRow]:
    """Effective values of one context: its own settings, client properties, and the commands its secrets come from."""
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
