"""kreplica sandbox start: a cluster of real brokers on loopback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from commands.sandbox.options import NameOption
from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.groups import takes
from commands.shared.printing.terminal import stderr_console

if TYPE_CHECKING:
    from kreplica.sandbox import Sandbox, SandboxSettings

LISTENERS = "plaintext, tls, mtls, sasl-plain, scram-sha-256, scram-sha-512, tls-sasl-plain, tls-scram-sha-256 or -512"


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "start",
        short_help="Start a cluster of N brokers on free ports.",
        epilog=examples(
            "kreplica sandbox start",
            "kreplica sandbox start --mode zookeeper --brokers 4 --racks 2 --name old",
            "kreplica sandbox start --kafka-version 2.8.2 --set 2:replica.lag.time.max.ms=4000",
        ),
    )(start)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of the cluster: its release, its servers, their racks and log directories."""

    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="kraft (Kafka 4.3.1) or zookeeper (3.9.2); that of --kafka-version if not given.",
        ),
    ] = ""
    kafka_version: Annotated[
        str,
        typer.Option(
            "--kafka-version",
            metavar="VERSION",
            help="Release of Kafka: 0.10.2.2, 0.11.0.3, 1.1.1, 2.0.0, 2.0.1, 2.1.1, 2.7.0, 2.8.0, 2.8.1, 2.8.2, 3.3.2,"
            " 3.9.2, 4.2.0 or 4.3.1.",
        ),
    ] = ""
    brokers: Annotated[int, typer.Option("--brokers", metavar="N", help="Number of brokers; their ids are 1 to N.")] = 3
    controllers: Annotated[
        int,
        typer.Option("--controllers", metavar="N", help="Separate KRaft controllers; 0: the first brokers are it too."),
    ] = 0
    racks: Annotated[
        str,
        typer.Option("--racks", metavar="A,B,…", help="Racks of the brokers in turn, by name or as a number of them."),
    ] = ""
    log_dirs: Annotated[int, typer.Option("--log-dirs", metavar="N", help="Log directories of each broker.")] = 1


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """Options of who may do what: listeners, users, access control."""

    listener: Annotated[
        list[str] | None,
        typer.Option("--listener", metavar="KIND", help=f"Listener beside plaintext; repeat it. {LISTENERS}."),
    ] = None
    user: Annotated[
        list[str] | None,
        typer.Option(
            "--user", metavar="NAME=PASSWORD", help="User of SASL and mutual TLS beside admin and alice; repeat it."
        ),
    ] = None
    authorizer: Annotated[
        bool,
        typer.Option(
            "--authorizer", help="Enforce access control lists; admin and the plaintext listener may do everything."
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of the servers' settings and memory."""

    ibp: Annotated[
        str, typer.Option("--ibp", metavar="VERSION", help="inter.broker.protocol.version (with --mode zookeeper).")
    ] = ""
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="[ID:]KEY=VALUE",
            help="Any broker setting, of one broker with its id before it (2:KEY=VALUE); repeat it.",
        ),
    ] = None
    heap: Annotated[int, typer.Option("--heap", metavar="MIB", help="Heap of each server in MiB.")] = 256


@takes("cluster", ClusterOptions)
@takes("access", AccessOptions)
@takes("servers", ServerOptions)
def start(
    *,
    name: NameOption = "default",
    cluster: ClusterOptions,
    access: AccessOptions,
    servers: ServerOptions,
    output: OutputOption = None,
) -> None:
    """Start a cluster of N brokers on free loopback ports.

    If it does not come up, the broker's own reason is printed and nothing is left behind. The first start fetches
    the jars of Kafka (about 45 MB) into the cache, each checked against its SHA-256.
    """
    from commands.sandbox.answer import emit_servers
    from kreplica.sandbox import start as start_sandbox

    settings = _settings(name, cluster, access, servers)
    with _progress() as say:
        sandbox = start_sandbox(settings, progress=say)
    emit_servers("sandbox-start", [sandbox], f"started sandbox {name}", output, _how_to_connect(sandbox))


def _settings(name: str, cluster: ClusterOptions, access: AccessOptions, servers: ServerOptions) -> SandboxSettings:
    from commands.sandbox.answer import broker_settings, choice, pairs, racks
    from kreplica.sandbox import Listener, Mode, SandboxSettings, mode_of

    settings_of_all, settings_by_broker = broker_settings(servers.setting or [])
    return SandboxSettings(
        name=name,
        mode=choice(Mode, cluster.mode, "--mode") if cluster.mode else mode_of(cluster.kafka_version),
        release=cluster.kafka_version,
        brokers=cluster.brokers,
        controllers=cluster.controllers,
        racks=racks(cluster.racks),
        log_dirs=cluster.log_dirs,
        listeners=tuple(choice(Listener, kind, "--listener") for kind in access.listener or ["plaintext"]),
        users={"admin": "admin-secret", "alice": "alice-secret"} | pairs(access.user or [], "--user"),
        authorizer=access.authorizer,
        ibp=servers.ibp,
        broker_settings=settings_of_all,
        settings_by_broker=settings_by_broker,
        heap_mib=servers.heap,
    )


def _how_to_connect(sandbox: Sandbox) -> list[str]:
    lines = []
    for listener in sandbox.settings.listeners:
        secured = listener.mechanism or listener.encrypted
        file = f" --command-config {sandbox.client_properties_file(listener)}" if secured else ""
        lines.append(f"{listener:<17} --bootstrap-server {sandbox.bootstrap_servers_of(listener)}{file}")
    return lines


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Shows each step on stderr while it lasts, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    with stderr_console().status("starting") as shown:
        yield shown.update
