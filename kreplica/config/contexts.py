"""The contexts file: clusters by name, in TOML.

It is found by ``--config``, else KREPLICA_CONFIG, else ``config.toml`` in the user's configuration folder of this
platform. TEMPLATE, which ``kreplica config init`` writes, shows every key.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from kreplica.errors import ConfigurationError, os_reason
from kreplica.model.wording.nearest_names import nearest_or_known
from kreplica.system.durable_files import make_folders, write_whole
from kreplica.system.time_limits import check_timeout
from kreplica.system.untrusted_files import MalformedError, decode_toml, read_whole

CONFIG_VARIABLE = "KREPLICA_CONFIG"
_WRITES_ONE = "kreplica config init writes one"
_NOTHING: Mapping[str, str] = MappingProxyType({})
_NO_COMMANDS: Mapping[str, tuple[str, ...]] = MappingProxyType({})

TEMPLATE = """\
# Clusters by name, for kreplica: `kreplica describe --context NAME`, or `--context 'prod-*'` for several.
# Look at what holds with `kreplica config show --origin`, try it with `kreplica config check`.

# The cluster of commands that name none; `kreplica config use NAME` changes it.
# current = "staging"

# [contexts.staging]
# bootstrap_servers = "staging-1:9092,staging-2:9092"

# [contexts.old]
# zookeeper = "zk-1:2181,zk-2:2181/kafka"   # of a cluster in ZooKeeper mode; read where no brokers are named

# [contexts.prod-eu]
# bootstrap_servers = "kafka-1:9093,kafka-2:9093"
# command_config = "prod-eu.properties"     # Java client properties, as Kafka's tools take them; relative to this file
# timeout = 20                              # seconds that one read may take; 10 if not given
# read_only = true                          # changes are refused
# production = true                         # changes ask for more confirmation
# tags = ["eu", "payments"]                 # groups of clusters: kreplica audit HISTORY --group eu
#
# [contexts.prod-eu.properties]             # client properties; they win over those of command_config
# "security.protocol" = "SASL_SSL"
# "ssl.truststore.location" = "ca.pem"      # PEM, PKCS#12 or JKS; relative to this file
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.jaas.config" = 'ScramLoginModule required username="ops" password="${env:KAFKA_PASSWORD}";'
#
# A secret need not stand here: ${env:NAME}, ${file:PATH}, ${file:PATH:KEY}, ${directory:DIR:FILE} or ${command:NAME}
# take its place, in the files of command_config, too. Commands are programs with their arguments; no shell sees them.
#
# [contexts.prod-eu.commands]
# password = ["pass", "show", "kafka/prod-eu"]
"""


@dataclass(frozen=True, slots=True)
class Context:
    """One ``[contexts.NAME]`` of the contexts file, as written there."""

    bootstrap_servers: str | None = None
    command_config: str | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: _NOTHING, repr=False)
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_COMMANDS, repr=False)
    timeout: float | None = None
    read_only: bool | None = None
    production: bool | None = None
    zookeeper: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextsFile:
    """The contexts file; ``path`` is None when there is none."""

    path: Path | None
    contexts: Mapping[str, Context]
    current: str | None = None

    def matching(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """The names of the matching contexts, in the order of the file.

        Args:
            patterns: Names, or patterns such as ``prod-*``.

        Raises:
            ConfigurationError: There is no file, or nothing in it matches a pattern.
        """
        if self.path is None:
            raise _no_file()
        chosen: dict[str, None] = {}
        for pattern in patterns:
            names = [pattern] if pattern in self.contexts else fnmatch.filter(self.contexts, pattern)
            if not names:
                raise ConfigurationError(f"no context matches {pattern!r}", f"{self.path}: {_known(self.contexts)}")
            chosen.update(dict.fromkeys(names))
        return tuple(name for name in self.contexts if name in chosen)

    def tagged(self, tags: Sequence[str]) -> tuple[str, ...]:
        """The names of the contexts that have one of these tags, in the order of the file.

        Args:
            tags: Tags, as contexts have them.

        Raises:
            ConfigurationError: There is no file, or no context has a tag.
        """
        if self.path is None:
            raise _no_file()
        known = sorted({tag for context in self.contexts.values() for tag in context.tags})
        for tag in tags:
            if tag not in known:
                raise ConfigurationError(f"{self.path}: no context has the tag {tag}", nearest_or_known(tag, known))
        return tuple(name for name, context in self.contexts.items() if not set(tags).isdisjoint(context.tags))


def chosen_contexts(file: ContextsFile, names: Sequence[str]) -> tuple[str, ...]:
    """The contexts that are meant: those named, or the current one.

    Args:
        file: The contexts file.
        names: Names, or patterns such as ``prod-*``; the current one if empty.

    Raises:
        ConfigurationError: There is no file, no such context, or none is named and none is current.
    """
    if not names and file.path is not None and file.current is None:
        known = ", ".join(file.contexts) or "none"
        raise ConfigurationError("no context is named", f"{file.path} has no current one; its contexts are {known}")
    return file.matching(names or (str(file.current),))


def default_path() -> Path:
    """Default path of the contexts file."""
    import platformdirs

    return platformdirs.user_config_path("kreplica") / "config.toml"


def locate(config_path: str | None, environ: Mapping[str, str]) -> tuple[Path, str]:
    """The contexts file's path and who names it: ``--config``, ``KREPLICA_CONFIG`` or nobody (empty)."""
    if config_path:
        return Path(config_path).expanduser(), "--config"
    if environ.get(CONFIG_VARIABLE):
        return Path(environ[CONFIG_VARIABLE]).expanduser(), CONFIG_VARIABLE
    return default_path(), ""


def load_contexts(config_path: str | None, environ: Mapping[str, str]) -> ContextsFile:
    """Reads the contexts file; the default one may be absent.

    Raises:
        ConfigurationError: A named file is absent, or a file cannot be read or has unknown keys.
    """
    path, named = locate(config_path, environ)
    if not named and not path.is_file():
        return ContextsFile(None, {})
    return _decode_contexts(path, _read_toml(path))


def write_template(path: Path) -> None:
    """Writes a commented contexts file, readable by its owner alone.

    Raises:
        ConfigurationError: There is one already, or it cannot be written.
    """
    try:
        make_folders(path.parent, mode=0o700)
        write_whole(path, TEMPLATE.encode(), replace=False, mode=0o600)
    except FileExistsError:
        raise ConfigurationError(f"{path} exists already", "", "edit it; it is never written over") from None
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}", os_reason(error)) from None


def write_current(file: ContextsFile, name: str) -> None:
    """Makes a context the current one; comments and layout of the file stay, and a reader never sees half a file.

    Raises:
        ConfigurationError: There is no such context, or the file cannot be written.
    """
    import tomlkit

    if name not in file.contexts:
        raise ConfigurationError(f"no context {name!r}", f"{file.path}: {_known(file.contexts)}")
    assert file.path is not None, "a file that has contexts has a path"
    text = _read_text(file.path)
    document = tomlkit.parse(text)
    if "current" in document:
        document["current"] = name
        text = tomlkit.dumps(document)
    else:
        text = _with_first_key(text, f"current = {tomlkit.string(name).as_string()}")
    _replace(file.path.resolve(), text)


def _with_first_key(text: str, key: str) -> str:
    # Before the first table, or it would belong to the last one; below the comment at the file's head.
    lines = text.splitlines(keepends=True)
    head = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    ending = "\r\n" if "\r\n" in text else "\n"
    return "".join([*lines[:head], key + ending, *lines[head:]])


def _replace(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode(), replace=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}", os_reason(error)) from None


def _no_file() -> ConfigurationError:
    return ConfigurationError("there is no contexts file", f"looked for {default_path()}", _WRITES_ONE)


def _read_text(path: Path) -> str:
    try:
        return read_whole(path).decode("utf-8")
    except FileNotFoundError as error:
        raise ConfigurationError(f"cannot read contexts file {path}", _reason(error), _WRITES_ONE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read contexts file {path}", _reason(error)) from None


def _read_toml(path: Path) -> dict[str, object]:
    try:
        return decode_toml(_read_text(path).replace("\r\n", "\n"))
    except MalformedError as error:
        raise ConfigurationError(f"cannot read contexts file {path}", str(error)) from None


def _decode_contexts(path: Path, content: Mapping[str, object]) -> ContextsFile:
    _reject_unknown(path, "", content, ("current", "contexts"))
    tables = content.get("contexts", {})
    if not isinstance(tables, dict):
        raise ConfigurationError(f"{path}: contexts is not a table", "", "write [contexts.NAME]")
    contexts = {name: _decode_context(path, name, table) for name, table in tables.items()}
    current = content.get("current")
    if current is not None and current not in contexts:
        raise ConfigurationError(f"{path}: current names no context: {current!r}", _known(contexts))
    return ContextsFile(path, contexts, str(current) if current is not None else None)


def _decode_context(path: Path, name: str, table: object) -> Context:
    import msgspec

    if not isinstance(table, dict):
        raise ConfigurationError(f"{path}: contexts.{name} is not a table", "", f"write [contexts.{name}]")
    _reject_unknown(path, f"contexts.{name}.", table, tuple(Context.__dataclass_fields__))
    try:
        context = msgspec.convert({**table, "properties": _strings(table.get("properties", {}))}, Context)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{path}: contexts.{name} cannot be used", str(error)) from None
    if context.timeout is not None:
        check_timeout(context.timeout, f"{path}: contexts.{name}.timeout")
    return context


def _strings(properties: object) -> object:
    # TOML has numbers and booleans, Java properties are text: `retries = 3` means "3", `true` means "true".
    if not isinstance(properties, dict):
        return properties
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | float) else value
        for key, value in properties.items()
    }


def _reject_unknown(path: Path, prefix: str, table: Mapping[str, object], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise ConfigurationError(f"{path}: unknown key {prefix}{key}", "", nearest_or_known(key, known))


def _known(contexts: Mapping[str, object]) -> str:
    return f"its contexts are {', '.join(contexts)}" if contexts else "it has no contexts"


def _reason(error: Exception) -> str:
    return os_reason(error) if isinstance(error, OSError) else str(error)
