"""Resolves options, environment and the contexts file to frozen ClusterHandles: clusters and how to reach them.

    options, environment, contexts file, properties file
      --effective_settings--> ClusterSettings: every value as written, with its origin; nothing is looked up
      --resolve_handles-----> ClusterHandle: secrets looked up (kreplica/config/secrets.py)

Precedence: an option, then the context, then the properties file it names, then the default. A command gets resolved
handles and reads no other configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from kreplica.config.contexts import Context, ContextsFile, load_contexts
from kreplica.config.exposure import exposure_warnings, require_private
from kreplica.config.handle import DEFAULT_TIMEOUT, ClusterHandle, ClusterSettings, Setting
from kreplica.config.java_properties import parse_property_lines
from kreplica.config.properties import property_warnings
from kreplica.config.secrets import Surroundings, look_up
from kreplica.config.security import parse_jaas, security_warnings
from kreplica.errors import ConfigurationError, UsageError
from kreplica.system.redaction import is_secret_name, remember_secret
from kreplica.system.time_limits import check_timeout
from kreplica.system.untrusted_files import read_whole

DEFAULT_PORT = 9092
ZOOKEEPER_PORT = 2181
WAYS_IN = (
    "give one of --bootstrap-server HOST:PORT, --zookeeper HOST:PORT/CHROOT, --dump PATH (`--dump sample` needs no"
    " cluster) or --context NAME"
)
SAMPLE = "sample"
PACKAGED_DUMPS = {
    SAMPLE: "packaged: a broker is down, a voter of the quorum with it",
    "sample-healthy": "packaged: the same cluster before that",
}
"""Dumps that the package carries, by the word for ``--dump``: three brokers of Kafka 4.3.1, recorded
(tests/golden/README.md tells how)."""
DEFAULT = "default"
_STORES = (".truststore.location", ".keystore.location")


def resolve_handles(
    *,
    bootstrap_server: str | None = None,
    command_config: str | None = None,
    zookeeper: str | None = None,
    dump: str | None = None,
    contexts: Sequence[str] = (),
    config_path: str | None = None,
    timeout: float | None = None,
    environ: Mapping[str, str],
) -> tuple[ClusterHandle, ...]:
    """Resolves a command's options to the clusters it is about; no cluster is asked.

    Args:
        bootstrap_server: ``host:port,...``.
        command_config: File of Java client properties; may itself hold ``bootstrap.servers``.
        zookeeper: ``host:port,.../chroot``.
        dump: A dump's path, ``-``, ``sample`` or ``sample-healthy``.
        contexts: Names of contexts or patterns such as ``prod-*``.
        config_path: The contexts file; the environment or the user's configuration folder if None.
        timeout: Seconds; the context's, or 10, if None.
        environ: Environment variables.

    Returns:
        At least one handle; several only for contexts, in the order of the file.

    Raises:
        UsageError: No way in, or more than one.
        ConfigurationError: The contexts file, a properties file or a secret cannot be used.
    """
    _check_one_way_in(bootstrap_server, command_config, zookeeper, dump, contexts)
    option = timeout_setting(timeout)
    if dump is not None:
        found = [ClusterSettings(dump, {"dump": Setting(dump, "--dump"), **_with_timeout(option)})]
    elif zookeeper is not None or bootstrap_server is not None or command_config is not None:
        found = [_from_options(bootstrap_server, command_config, zookeeper, option)]
    else:
        file = load_contexts(config_path, environ)
        if not contexts and file.current is None:
            raise UsageError("no cluster is named", "", WAYS_IN)
        found = [effective_settings(file, name, option) for name in file.matching(contexts or (str(file.current),))]
    return tuple(resolve(settings, environ) for settings in found)


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


def parse_bootstrap_servers(servers: str) -> tuple[tuple[str, int], ...]:
    """Splits ``host:port,...`` into addresses; a port left out is 9092, IPv6 stands in brackets.

    Raises:
        UsageError: A part is no host and port.
    """
    parts = [part.strip() for part in servers.split(",") if part.strip()]
    if not parts:
        raise UsageError("the bootstrap servers are empty", "", "give HOST:PORT, several separated by commas")
    return tuple(_parse_server(part) for part in parts)


def parse_zookeeper(connect: str) -> tuple[tuple[tuple[str, int], ...], str]:
    """Splits ``host:port,.../chroot``, as Kafka's zookeeper.connect has it, into addresses and chroot.

    A port left out is 2181, IPv6 stands in brackets; the chroot is ``/`` where none is given.

    Raises:
        UsageError: A part is no host and port, or the chroot is no path.
    """
    servers, slash, path = connect.strip().partition("/")
    parts = [part.strip() for part in servers.split(",") if part.strip()]
    chroot = slash + path.rstrip("/")
    if not parts:
        raise UsageError("the ZooKeeper servers are empty", "", "give HOST:PORT/CHROOT, hosts separated by commas")
    if any(name in ("", ".", "..") or "\0" in name or "," in name for name in chroot.split("/")[1:] if chroot != "/"):
        raise UsageError(f"ZooKeeper chroot {chroot!r} cannot be used", "expected /PATH once, after the last server")
    return tuple(_parse_server(part, "ZooKeeper server", ZOOKEEPER_PORT) for part in parts), chroot or "/"


def _check_one_way_in(
    bootstrap_server: str | None,
    command_config: str | None,
    zookeeper: str | None,
    dump: str | None,
    contexts: Sequence[str],
) -> None:
    given = {
        "--bootstrap-server": bootstrap_server,
        "--zookeeper": zookeeper,
        "--dump": dump,
        "--context": contexts or None,
    }
    ways = [option for option, value in given.items() if value is not None]
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} exclude each other", "", "give one of them")
    if command_config is not None and ways not in ([], ["--bootstrap-server"], ["--zookeeper"]):
        why = "it belongs to --bootstrap-server or --zookeeper"
        raise UsageError(f"--command-config does not go with {ways[0]}", why)


def _from_options(
    bootstrap_server: str | None, command_config: str | None, zookeeper: str | None, timeout: Setting | None
) -> ClusterSettings:
    properties = _read_properties(Path(command_config)) if command_config is not None else {}
    files = (Path(command_config),) if command_config is not None else ()
    if zookeeper is not None:  # bootstrap.servers of the file are not what was named
        settings = {"zookeeper": Setting(zookeeper, "--zookeeper"), **_with_timeout(timeout)}
        return ClusterSettings(zookeeper, settings, properties, files=files)
    servers = properties.get("bootstrap.servers")
    if bootstrap_server is not None:
        servers = Setting(bootstrap_server, "--bootstrap-server")
    if servers is None:
        raise UsageError("no cluster is named", f"{command_config} has no bootstrap.servers", WAYS_IN)
    settings = {"bootstrap_servers": servers, **_with_timeout(timeout)}
    return ClusterSettings(servers.text, settings, properties, files=files)


def _context_settings(path: Path, name: str, context: Context) -> dict[str, Setting]:
    written = {
        "bootstrap_servers": context.bootstrap_servers,
        "zookeeper": context.zookeeper,
        "timeout": None if context.timeout is None else f"{context.timeout:g}",
        "read_only": None if context.read_only is None else str(context.read_only).lower(),
        "production": None if context.production is None else str(context.production).lower(),
    }
    found = {
        key: Setting(text, f"{path}: contexts.{name}.{key}", path.parent, path)
        for key, text in written.items()
        if text is not None
    }
    found.setdefault("timeout", Setting(f"{DEFAULT_TIMEOUT:g}", DEFAULT))
    return found | {flag: Setting("false", DEFAULT) for flag in ("read_only", "production") if flag not in found}


def _with_timeout(option: Setting | None) -> dict[str, Setting]:
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


def _parse_server(part: str, what: str = "bootstrap server", default_port: int = DEFAULT_PORT) -> tuple[str, int]:
    host, bracket, tail = part[1:].partition("]") if part.startswith("[") else ("", "", "")
    if bracket:
        port = tail.removeprefix(":") if tail else str(default_port)
    else:
        host, _, port = part.partition(":")
        port = port if ":" in part else str(default_port)
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(f"{what} {part!r} cannot be used", "expected HOST:PORT", "for IPv6: [ADDRESS]:PORT")
    return host, int(port)


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
        raise ConfigurationError(f"cannot read client properties {path}", error.strerror or str(error)) from None
    return {
        key: Setting(value, f"{path}, line {number}", file=path)
        for key, (value, number) in parse_property_lines(text, str(path)).items()
    }
