"""kreplica sandbox stop, status, kill, pause, resume and start-broker: servers of a sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from commands.sandbox.options import NameOption
from commands.shared.help import examples
from commands.shared.options.common import OutputOption

if TYPE_CHECKING:
    from commands.shared.printing.output import OutputFormat
    from kreplica.sandbox import Sandbox

ServerArgument = Annotated[int, typer.Argument(metavar="ID", help="Node id; 0 is ZooKeeper.")]


def register(group: typer.Typer) -> None:
    """Adds the subcommands that look at servers, end them or bring them back."""
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
    from commands.sandbox.answer import emit_servers
    from kreplica.sandbox import Sandbox, sandbox_names

    sandboxes = [Sandbox.open(each) for each in ([name] if name else sandbox_names())]
    emit_servers("sandbox-status", sandboxes, "", output)


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


def _steer(
    command: str, name: str, change: Callable[[Sandbox], None], headline: str, output: OutputFormat | None
) -> None:
    from commands.sandbox.answer import emit_servers
    from kreplica.sandbox import Sandbox

    sandbox = Sandbox.open(name)
    change(sandbox)
    emit_servers(command, [sandbox], f"{headline} (sandbox {name})", output)
