"""The way in that options name: a dump, brokers, ZooKeeper or contexts.

A dump needs no more than its name. The others have properties and secrets (kreplica/config/resolve.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kreplica.config.handle import DEFAULT_TIMEOUT, WAYS_IN, ClusterHandle, ClusterSettings, Setting
from kreplica.errors import UsageError
from kreplica.system.time_limits import check_timeout

SAMPLE = "sample"
PACKAGED_DUMPS = {
    SAMPLE: "packaged: a broker is down, a voter of the quorum with it",
    "sample-healthy": "packaged: the same cluster before that",
}
"""Dumps that the package carries, by the word for ``--dump``: three brokers of Kafka 4.3.1, recorded
(tests/golden/README.md tells how)."""


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
    if dump is not None and "${" not in dump:
        seconds = DEFAULT_TIMEOUT if timeout is None else check_timeout(timeout, "--timeout")
        return (ClusterHandle(dump, dump=dump, timeout=seconds),)
    # A dump has no properties and no secrets: what reads these takes longer to import than this takes to run.
    from kreplica.config.contexts import load_contexts
    from kreplica.config.resolve import effective_settings, from_options, resolve, timeout_setting, with_timeout

    option = timeout_setting(timeout)
    if dump is not None:
        found = [ClusterSettings(dump, {"dump": Setting(dump, "--dump"), **with_timeout(option)})]
    elif zookeeper is not None or bootstrap_server is not None or command_config is not None:
        found = [from_options(bootstrap_server, command_config, zookeeper, option)]
    else:
        file = load_contexts(config_path, environ)
        if not contexts and file.current is None:
            raise UsageError("no cluster is named", "", WAYS_IN)
        found = [effective_settings(file, name, option) for name in file.matching(contexts or (str(file.current),))]
    return tuple(resolve(settings, environ) for settings in found)


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
