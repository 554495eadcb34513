"""kreplica sandbox: a real Apache Kafka on loopback, to practise on and to break."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import LARGEST_INT32, OutputOption
from commands.shared.printing.terminal import pass_on, stderr_console

if TYPE_CHECKING:
    from commands.shared.printing.output import OutputFormat
    from kreplica.sandbox import Sandbox

NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the sandbox.")]
ServerArgument = Annotated[int, typer.Argument(metavar="ID", help="Node id; 0 is ZooKeeper.")]

LISTENERS = "plaintext, tls, mtls, sasl-plain, scram-sha-256, scram-sha-512, tls-sasl-plain, tls-scram-sha-256 or -512"


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command group, of its subcommands as many as ``below`` asks for (see commands.shared.groups)."""
    group = typer.Typer(help="Run a real Apache Kafka on loopback, to practise on.", no_args_is_help=True)
    app.add_typer(group, name="sandbox")
    if below == "":
        return
    from commands.sandbox.load import load

    group.command(
        "start",
        short_help="Start a cluster of N brokers on free ports.",
        epilog=examples(
            "kreplica sandbox start",
            "kreplica sandbox start --mode zookeeper --brokers 4 --racks 2 --name old",
            "kreplica sandbox start --kafka-version 2.8.2 --set 2:replica.lag.time.max.ms=4000",
        ),
    )(start)
    group.command(
        "stop",
        short_help="Stop every server and remove its data.",
        epilog=examples(
            "kreplica sandbox stop",
            "kreplica sandbox stop --all",
        ),
    )(stop)
    group.command(
        "status",
        short_help="Show every server: process, registration, log.",
        epilog=examples(
            "kreplica sandbox status",
            "kreplica sandbox status --name old -o json",
        ),
    )(status)
    group.command(
        "kill",
        short_help="Kill one server (SIGKILL), as a crash would.",
        epilog=examples(
            "kreplica sandbox kill 2",
            "kreplica sandbox kill 2 --clean",
        ),
    )(kill)
    group.command(
        "pause",
        short_help="Freeze one server (SIGSTOP).",
        epilog=examples(
            "kreplica sandbox pause 2",
            "kreplica sandbox pause 2 --name old",
        ),
    )(pause)
    group.command(
        "resume",
        short_help="Let a paused server go on.",
        epilog=examples(
            "kreplica sandbox resume 2",
            "kreplica sandbox resume 2 --name old",
        ),
    )(resume)
    group.command(
        "start-broker",
        short_help="Start a server that has stopped.",
        epilog=examples(
            "kreplica sandbox start-broker 2",
            "kreplica sandbox start-broker 2 --name old",
        ),
    )(start_broker)
    group.command(
        "topic",
        short_help="Create or delete a topic.",
        epilog=examples(
            "kreplica sandbox topic orders --partitions 6 --replication-factor 3",
            "kreplica sandbox topic orders --delete",
        ),
    )(topic)
    group.command(
        "load",
        short_help="Produce and consume at a rate; count lost records.",
        epilog=examples(
            "kreplica sandbox load --topic orders --rate 500 --seconds 30 --acks all",
            "kreplica sandbox load --topic orders --acks 1 --consume",
        ),
    )(load)
    behind = {"allow_interspersed_args": False}  # words after the tool's name are the tool's own
    group.command(
        "tool",
        short_help="Run one of Kafka's own tools against the sandbox.",
        epilog=examples(
            "kreplica sandbox tool topics --describe",
            "kreplica sandbox tool --name old consumer-groups --list",
        ),
        context_settings=behind,
    )(tool)


def start(
    name: NameOption = "default",
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="kraft (Kafka 4.3.1) or zookeeper (3.9.2); that of --kafka-version if not given.",
        ),
    ] = "",
    kafka_version: Annotated[
        str,
        typer.Option(
            "--kafka-version",
            metavar="VERSION",
            help="Release of Kafka: 0.10.2.2, 0.11.0.3, 1.1.1, 2.0.0, 2.0.1, 2.1.1, 2.7.0, 2.8.0, 2.8.1, 2.8.2, 3.3.2,"
            " 3.9.2 or 4.3.1.",
        ),
    ] = "",
    brokers: Annotated[
        int, typer.Option("--brokers", metavar="N", help="Number of brokers; their ids are 1 to N.")
    ] = 3,
    controllers: Annotated[
        int,
        typer.Option("--controllers", metavar="N", help="Separate KRaft controllers; 0: the first brokers are it too."),
    ] = 0,
    racks: Annotated[
        str,
        typer.Option("--racks", metavar="A,B,…", help="Racks of the brokers in turn, by name or as a number of them."),
    ] = "",
    log_dirs: Annotated[int, typer.Option("--log-dirs", metavar="N", help="Log directories of each broker.")] = 1,
    listener: Annotated[
        list[str] | None,
        typer.Option("--listener", metavar="KIND", help=f"Listener beside plaintext; repeat it. {LISTENERS}."),
    ] = None,
    user: Annotated[
        list[str] | None,
        typer.Option(
            "--user", metavar="NAME=PASSWORD", help="User of SASL and mutual TLS beside admin and alice; repeat it."
        ),
    ] = None,
    authorizer: Annotated[
        bool,
        typer.Option(
            "--authorizer", help="Enforce access control lists; admin and the plaintext listener may do everything."
        ),
    ] = False,
    ibp: Annotated[
        str, typer.Option("--ibp", metavar="VERSION", help="inter.broker.protocol.version (with --mode zookeeper).")
    ] = "",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="[ID:]KEY=VALUE",
            help="Any broker setting, of one broker with its id before it (2:KEY=VALUE); repeat it.",
        ),
    ] = None,
    heap: Annotated[int, typer.Option("--heap", metavar="MIB", help="Heap of each server in MiB.")] = 256,
    output: OutputOption = None,
) -> None:
    """Start a cluster of N brokers on free loopback ports.

    If it does not come up, the broker's own reason is printed and nothing is left behind. The first start fetches
    the jars of Kafka (about 45 MB) into the cache, each checked against its SHA-256.
    """
    from commands.sandbox.answer import broker_settings, choice, pairs
    from commands.sandbox.answer import racks as rack_names
    from kreplica.sandbox import Listener, Mode, SandboxSettings, mode_of
    from kreplica.sandbox import start as start_sandbox

    settings_of_all, settings_by_broker = broker_settings(setting or [])
    settings = SandboxSettings(
        name=name,
        mode=choice(Mode, mode, "--mode") if mode else mode_of(kafka_version),
        release=kafka_version,
        brokers=brokers,
        controllers=controllers,
        racks=rack_names(racks),
        log_dirs=log_dirs,
        listeners=tuple(choice(Listener, kind, "--listener") for kind in listener or ["plaintext"]),
        users={"admin": "admin-secret", "alice": "alice-secret"} | pairs(user or [], "--user"),
        authorizer=authorizer,
        ibp=ibp,
        broker_settings=settings_of_all,
        settings_by_broker=settings_by_broker,
        heap_mib=heap,
    )
    with _progress() as say:
        sandbox = start_sandbox(settings, progress=say)
    _tell("sandbox-start", [sandbox], f"started sandbox {name}", output, _how_to_connect(sandbox))


def stop(
    name: NameOption = "default",
    everything: Annotated[bool, typer.Option("--all", help="Every sandbox.")] = False,
    output: OutputOption = None,
) -> None:
    """End every server of a sandbox and remove its data."""
    from commands.sandbox.answer import emit_stopped
    from kreplica.sandbox import remove, sandbox_names

    names = sandbox_names() if everything else [name]
    for each in names:
        remove(each)
    emit_stopped(names, output)


def status(
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Only this sandbox; all if not given.")] = "",
    output: OutputOption = None,
) -> None:
    """Show every server of the sandboxes: its process, and whether the cluster counts it as alive."""
    from kreplica.sandbox import Sandbox, sandbox_names

    sandboxes = [Sandbox.open(each) for each in ([name] if name else sandbox_names())]
    _tell("sandbox-status", sandboxes, "", output)


def kill(
    server: ServerArgument,
    clean: Annotated[
        bool, typer.Option("--clean", help="SIGTERM: the broker hands its leaderships over first.")
    ] = False,
    name: NameOption = "default",
    output: OutputOption = None,
) -> None:
    """End one server with SIGKILL, as a crash would; its data stay and start-broker brings it back."""
    _steer(
        "sandbox-kill",
        name,
        lambda sandbox: sandbox.shut_down(server) if clean else sandbox.kill(server),
        f"server {server} {'shut down' if clean else 'killed'}",
        output,
    )


def pause(server: ServerArgument, name: NameOption = "default", output: OutputOption = None) -> None:
    """Freeze one server (SIGSTOP): connections stay open and nothing answers."""
    _steer("sandbox-pause", name, lambda sandbox: sandbox.pause(server), f"server {server} paused", output)


def resume(server: ServerArgument, name: NameOption = "default", output: OutputOption = None) -> None:
    """Let a paused server go on."""
    _steer("sandbox-resume", name, lambda sandbox: sandbox.resume(server), f"server {server} resumed", output)


def start_broker(server: ServerArgument, name: NameOption = "default", output: OutputOption = None) -> None:
    """Start a server that has ended, on the data it left; done when the cluster counts it as alive."""
    _steer(
        "sandbox-start-broker", name, lambda sandbox: sandbox.start_broker(server), f"server {server} started", output
    )


def topic(
    topic: Annotated[str, typer.Argument(metavar="NAME", help="Name of the topic.")],
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, max=LARGEST_INT32, metavar="N", help="Number of partitions.")
    ] = 1,
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            min=1,
            max=LARGEST_INT32,
            metavar="N",
            help="Replicas of each; the broker's default if not given.",
        ),
    ] = None,
    replica_assignment: Annotated[
        str,
        typer.Option(
            "--replica-assignment",
            metavar="1:2,2:3,…",
            help="Brokers of each partition's replicas, the preferred leader first.",
        ),
    ] = "",
    config: Annotated[
        list[str] | None, typer.Option("--config", metavar="KEY=VALUE", help="Setting of the topic; repeat it.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the topic instead.")] = False,
    name: NameOption = "default",
    output: OutputOption = None,
) -> None:
    """Create a topic (or delete it), and wait until every running broker knows."""
    from commands.sandbox.answer import assignment, emit_topic, pairs
    from kreplica.sandbox import Sandbox

    sandbox = Sandbox.open(name)
    if delete:
        sandbox.delete_topic(topic)
    else:
        sandbox.create_topic(
            topic,
            partitions=partitions,
            replication_factor=replication_factor or -1,
            assignment=assignment(replica_assignment),
            configs=pairs(config or [], "--config"),
        )
    emit_topic(sandbox, topic, deleted=delete, output=output)


def tool(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Name of the tool, such as topics or kafka-topics.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENTS…", help="Arguments of the tool.")] = None,
    name: NameOption = "default",
) -> None:
    """Run one of Kafka's own tools against the sandbox; --bootstrap-server is put in.

    The name is that of Kafka's script, with or without kafka- and .sh; the exit code is the tool's own. kreplica's own
    options stand before the name.
    """
    from kreplica.sandbox import Sandbox

    result = Sandbox.open(name).run_tool(tool, *(arguments or []))
    pass_on(result.stdout, sys.stdout)
    pass_on(result.stderr, sys.stderr)
    raise typer.Exit(result.exit_status)


def _steer(
    command: str, name: str, change: Callable[[Sandbox], None], headline: str, output: OutputFormat | None
) -> None:
    from kreplica.sandbox import Sandbox

    sandbox = Sandbox.open(name)
    change(sandbox)
    _tell(command, [sandbox], f"{headline} (sandbox {name})", output)


def _tell(
    command: str, sandboxes: Sequence[Sandbox], headline: str, output: OutputFormat | None, after: Sequence[str] = ()
) -> None:
    from commands.sandbox.answer import emit_servers

    emit_servers(command, sandboxes, headline, output, after)


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
