"""Resolves options, environment and the contexts file to frozen ClusterHandles: live clusters and how to reach them.

    options, environment, contexts file, properties file
      --effective_settings--> ClusterSettings: every value as written, with its origin; nothing is looked up
      --resolve-------------> ClusterHandle: secrets looked up (kreplica/config/secrets.py)

Precedence: an option, then the context, then the properties file it names, then the default. A command gets resolved
handles and reads no other configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from kreplica.config.addresses import parse_bootstrap_servers, parse_zookeeper
from kreplica.config.contexts import Context, ContextsFile
from kreplica.config.exposure import exposure_warnings, require_private
from kreplica.config.handle import DEFAULT_TIMEOUT, WAYS_IN, ClusterHandle, ClusterSettings, Setting
from kreplica.config.java_properties import parse_property_lines
from kreplica.config.properties import property_warnings
from kreplica.config.secrets import Surroundings, look_up
from kreplica.config.security import parse_jaas, security_warnings
from kreplica.errors import ConfigurationError, UsageError, os_reason
from kreplica.system.redaction import is_secret_name, remember_secret
from kreplica.system.time_limits import check_timeout
from kreplica.system.untrusted_files import read_whole

DEFAULT = "default"
_STORES = (".truststore.location", ".keystore.location")


def timeout_setting(timeout: float | None) -> Setting | None:
    """The setting that ``--timeout`` makes, in seconds; None where it is not given.

    Raises:
        UsageError: It is not above zero, or too long.
    """
    return None if timeout is None else Setting(f"{check_timeout(timeout, '--timeout'):g}", "--timeout")


def effective_settings(file: ContextsFile, name: str, timeout: Setting | None = None) -> ClusterSettings:
    """Returns the effective settings of a context, before references are looked up.

    Args:
        file: The contexts file.
        name: A context that it has.
        timeout: Overrides the context's own.

    Raises:
        ConfigurationError: The properties file cannot be read, or no way in is given.
    """
    assert file.path is not None, "a file that has contexts has a path"
    context, folder = file.contexts[name], file.path.parent
    files, properties = [file.path], dict[str, Setting]()
    if context.command_config is not None:
        files.append(folder / Path(context.command_config).expanduser())
        properties |= _read_properties(files[-1])
    for key, text in context.properties.items():
        located = str(folder / Path(text).expanduser()) if key.endswith(_STORES) and "${" not in text else text
        properties[key] = Setting(located, f"{file.path}: contexts.{name}.properties.{key}", folder, file.path)
    settings = _context_settings(file.path, name, context) | ({} if timeout is None else {"timeout": timeout})
    if "bootstrap_servers" not in settings and "bootstrap.servers" in properties:
        settings["bootstrap_servers"] = properties["bootstrap.servers"]
    if not settings.keys() & {"bootstrap_servers", "zookeeper"}:
        raise ConfigurationError(f"{file.path}: context {name} has no bootstrap_servers", "and no zookeeper")
    return ClusterSettings(name, settings, properties, context.commands, tuple(files))


def resolve(settings: ClusterSettings, environ: Mapping[str, str]) -> ClusterHandle:
    """The handle that settings make; secrets are looked up.

    Raises:
        UsageError: An address cannot be used.
        ConfigurationError: A secret cannot be looked up, or others may write the file that names commands for it.
    """
    if settings.commands:
        require_private(settings.files[0])

    def value(name: str, setting: Setting) -> str:
        return look_up(setting.text, name, Surroundings(environ, setting.folder, settings.commands))

    found = {name: value(name, setting) for name, setting in settings.settings.items()}
    properties = {key: value(f"client property {key}", setting) for key, setting in settings.properties.items()}
    for key, text in properties.items():
        _remember(key, text)
    if "bootstrap_servers" in found:
        parse_bootstrap_servers(found["bootstrap_servers"])
    if "zookeeper" in found:
        parse_zookeeper(found["zookeeper"])
    texts = {name: setting.text for name, setting in settings.properties.items()}
    by_zookeeper = "bootstrap_servers" not in found and "zookeeper" in found
    protection = security_warnings(properties, by_zookeeper=by_zookeeper)
    return ClusterHandle(
        name=settings.name,
        bootstrap_servers=found.get("bootstrap_servers"),
        dump=found.get("dump"),
        properties=MappingProxyType(properties),
        timeout=float(found["timeout"]),
        read_only=found.get("read_only") == "true",
        production=found.get("production") == "true",
        warnings=(*property_warnings(texts), *protection, *exposure_warnings(settings)),
        zookeeper=found.get("zookeeper"),
    )


def from_options(
    bootstrap_server: str | None, command_config: str | None, zookeeper: str | None, timeout: Setting | None
) -> ClusterSettings:
    """The settings that options of brokers or of ZooKeeper make.

    Raises:
        UsageError: No cluster is named.
        ConfigurationError: The properties file cannot be read.
    """
    properties = _read_properties(Path(command_config)) if command_config is not None else {}
    files = (Path(command_config),) if command_config is not None else ()
    if zookeeper is not None:  # bootstrap.servers of the file are not what was named
        settings = {"zookeeper": Setting(zookeeper, "--zookeeper"), **with_timeout(timeout)}
        return ClusterSettings(zookeeper, settings, properties, files=files)
    servers = properties.get("bootstrap.servers")
    if bootstrap_server is not None:
        servers = Setting(bootstrap_server, "--bootstrap-server")
    if servers is None:
        raise UsageError("no cluster is named", f"{command_config} has no bootstrap.servers", WAYS_IN)
    settings = {"bootstrap_servers": servers, **with_timeout(timeout)}
    return ClusterSettings(servers.text, settings, properties, files=files)


def _context_settings(path: Path, name: str, context: Context) -> dict[str, Setting]:
    written = {
        "bootstrap_servers": context.bootstrap_servers,
        "zookeeper": context.zookeeper,
        "timeout": None if context.timeout is None else f"{context.timeout:g}",
        "read_only": None if context.read_only is None else str(context.read_only).lower(),
        "production": None if context.production is None else str(context.production).lower(),
        "tags": ", ".join(context.tags) or None,
    }
    found = {
        key: Setting(text, f"{path}: contexts.{name}.{key}", path.parent, path)
        for key, text in written.items()
        if text is not None
    }
    found.setdefault("timeout", Setting(f"{DEFAULT_TIMEOUT:g}", DEFAULT))
    return found | {flag: Setting("false", DEFAULT) for flag in ("read_only", "production") if flag not in found}


def with_timeout(option: Setting | None) -> dict[str, Setting]:
    """The timeout as a setting: that of the option, or the default."""
    return {"timeout": option or Setting(f"{DEFAULT_TIMEOUT:g}", DEFAULT)}


def _remember(key: str, text: str) -> None:
    if key == "sasl.jaas.config":
        for name, value in _jaas_options(text).items():
            if is_secret_name(name):
                remember_secret(value)
    elif is_secret_name(key):
        remember_secret(text)


def _jaas_options(text: str) -> Mapping[str, str]:
    try:
        return parse_jaas(text).options
    except ConfigurationError:  # told when it is used; GSSAPI uses none
        return {"password": text}


def read_client_properties(path: str) -> dict[str, str]:
    """A file of Java client properties as it stands, nothing looked up.

    Raises:
        ConfigurationError: It cannot be read; names file and line, never a value.
    """
    return {key: setting.text for key, setting in _read_properties(Path(path)).items()}


def _read_properties(path: Path) -> dict[str, Setting]:
    try:
        # Kafka's own tools read these files as Java does, in ISO 8859-1: the same file means the same here.
        text = read_whole(path).decode("iso-8859-1")
    except OSError as error:
        raise ConfigurationError(f"cannot read client properties {path}", os_reason(error)) from None
    return {
        key: Setting(value, f"{path}, line {number}", file=path)
        for key, (value, number) in parse_property_lines(text, str(path)).items()
    }
