"""kreplica sandbox topic: a topic created or deleted, with every running broker knowing of it."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.sandbox.options import NameOption
from commands.shared.help import examples
from commands.shared.options.common import LARGEST_INT32, OutputOption


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "topic",
        short_help="Create or delete a topic.",
        epilog=examples(
            "kreplica sandbox topic orders --partitions 6 --replication-factor 3",
            "kreplica sandbox topic orders --delete",
        ),
    )(topic)


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
