"""kreplica whatif validate: whether Kafka's rules make the changes that a cluster's metadata log has."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "validate",
        short_help="Hold a cluster's own metadata log against Kafka's rules.",
        epilog=examples(
            "kreplica whatif validate /srv/kafka/__cluster_metadata-0",
            "kreplica whatif validate /srv/kafka -o json",
            "kreplica whatif validate /srv/kafka --set broker.session.timeout.ms=9000",
            "kreplica whatif validate /var/lib/zookeeper/version-2",
        ),
    )(validate)


def validate(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="__cluster_metadata-0 of KRaft nodes, directories with it, segments, checkpoints, quoted patterns; or"
            " version-2 of a ZooKeeper server, its files log.ZXID, or the directory above.",
        ),
    ],
    kafka_version: Annotated[
        str | None,
        typer.Option(
            "--kafka-version",
            metavar="VERSION",
            help="Release of the controllers.  [default: what they said of themselves in the log]",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=MS",
            help="KRaft: broker.session.timeout.ms of the controllers, replica.lag.time.max.ms of the brokers; what"
            " comes too soon for it is refused. May be repeated.  [default: the shortest time that is seen]",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="List every change on the screen.")] = False,
    output: OutputOption = None,
) -> None:
    """Check that each change in a cluster's own log follows Kafka's rules: KRaft's metadata log, or ZooKeeper's
    transaction logs.

    Leader, ISR, ELR, assignment and both epochs must be the result of an election, of a broker that leaves or comes
    back, of an ISR that a leader asked for, or of a step of a reassignment, with the brokers and settings of that
    offset. If a record is refused, it was altered, one before it is missing, or a rule of kreplica is wrong.
    Checkpoints must hold the same state as the records. Settings that only the controllers' server.properties have are
    tried. With --set, it is also refused if a broker is fenced before its session can be over, or an ISR shrinks before
    a member can lag. If the node did not lead the quorum, its last records may not have been committed.

    In ZooKeeper mode every version of a state znode is judged, by the brokers that were live within the minute before.

    Exits 0 when every change is explained, 1 when a record is refused, 2 when there is no such log, 5 when part of it
    could not be read and nothing else is refused.
    """
    from commands.shared.options.engine_settings import parse_settings
    from commands.shared.printing.output import emit
    from commands.whatif.validate.answer import answer_of
    from commands.whatif.validate.screen import show
    from kreplica.formats.traces.validation import whatif_validate

    validation = whatif_validate(paths, kafka_version, parse_settings(settings))
    words = [*paths, *(("--kafka-version", kafka_version) if kafka_version else ())]
    words += [word for text in settings or () for word in ("--set", text)]
    emit(answer_of(validation), output, lambda console: show(validation, words, console, everything=everything))
    raise typer.Exit(validation.exit_code)
