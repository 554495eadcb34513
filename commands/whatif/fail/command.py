"""kreplica whatif fail: effects of failing brokers, racks, disks or the controller on a cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import (
    BROKERS,
    LARGEST_INT32,
    ExcludeInternalOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    takes_sources,
)
from commands.shared.printing.output import emit
from commands.shared.values import parse_ids
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.health.impact.whatif import FailureCase


class Switch(StrEnum):
    """A feature that can be on or off."""

    on = "on"
    off = "off"


class Truth(StrEnum):
    """A setting that Kafka writes as a boolean."""

    true = "true"
    false = "false"


def register(app: typer.Typer) -> None:
    """Adds the command to the group."""
    app.command(
        "fail",
        short_help="Show what becomes of partitions when brokers, racks or disks fail.",
        epilog=examples(
            "kreplica whatif fail --dump sample-healthy --broker 2",
            "kreplica whatif fail --dump sample-healthy --rack r1 --min-isr 1",
        ),
    )(fail)


@takes_sources
def fail(
    sources: SourceOptions,
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Brokers that crash together.")
    ] = None,
    rack: Annotated[
        list[str] | None, typer.Option("--rack", metavar="RACK", help="Every broker of that rack; may be repeated.")
    ] = None,
    disk: Annotated[
        list[str] | None,
        typer.Option("--disk", metavar="BROKER:PATH", help="A log directory that goes offline; may be repeated."),
    ] = None,
    controller: Annotated[bool, typer.Option("--controller", help="The node of the active controller.")] = False,
    rolling_restart: Annotated[
        bool, typer.Option("--rolling-restart", help="Instead, each broker in turn shuts down and comes back.")
    ] = False,
    min_isr: Annotated[
        int | None,
        typer.Option("--min-isr", min=1, max=LARGEST_INT32, metavar="N", help="Played with this min.insync.replicas."),
    ] = None,
    unclean: Annotated[
        Truth | None, typer.Option("--unclean", help="Played with this unclean.leader.election.enable.")
    ] = None,
    elr: Annotated[
        Switch | None, typer.Option("--elr", help="Played with or without eligible leader replicas (KIP-966).")
    ] = None,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    output: OutputOption = None,
) -> None:
    """Predict what a failure does, by the election rules of Kafka's own controllers.

    For each partition: who leads and who is in sync afterwards, whether it is without a leader or refuses acks=all
    writes, and which records an unclean election may lose. Settings can be changed before the failure, or alone.
    Nothing is done to the cluster. Exits 0 when nothing is lost or unavailable, 1 when something is, 5 when nothing is
    as far as is known, but something could not be read.
    """
    from commands.shared.options.stops import one_cluster
    from commands.whatif.fail.answer import answer_of
    from commands.whatif.fail.screen import show
    from kreplica.health.impact.whatif import FailureCase
    from kreplica.monitoring.failure import whatif_fail

    case = FailureCase(
        brokers=parse_ids(broker or ()),
        racks=tuple(rack or ()),
        disks=tuple(_disk(text) for text in disk or ()),
        controller=controller,
        rolling=rolling_restart,
        min_isr=min_isr,
        unclean=None if unclean is None else unclean is Truth.true,
        elr=None if elr is None else elr is Switch.on,
        topics=topic,
        exclude_internal=exclude_internal,
    )
    _check(case)
    outcome = whatif_fail(one_cluster(sources.handles(), "a failure is of one cluster"), case)
    emit(answer_of(outcome), output, lambda console: show(outcome.played, sources, console))
    raise typer.Exit(outcome.exit_code)


def _disk(text: str) -> tuple[int, str]:
    broker, _, path = text.partition(":")
    if not (broker.isascii() and broker.isdigit() and path):
        raise UsageError(f"--disk {text!r} names no log directory", fix="as in --disk 1:/var/lib/kafka/data")
    return int(broker), path


def _check(case: FailureCase) -> None:
    if case.empty:
        raise UsageError(
            "nothing fails and nothing changes",
            fix="name it: --broker, --rack, --disk or --controller; or --rolling-restart of brokers; or a setting",
        )
    if case.rolling and (case.disks or case.controller):
        raise UsageError("--rolling-restart is of brokers", "disks and the controller do not go with it")
