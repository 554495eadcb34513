"""kreplica assign: where Kafka would place the replicas of a new topic."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import LARGEST_INT32, OutputOption, SourceOptions, takes_sources
from commands.shared.options.stops import one_cluster


class Algorithm(StrEnum):
    """Kafka's algorithms for new topics."""

    striped = "striped"
    rack_aware = "rack-aware"
    rack_unaware = "rack-unaware"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "assign",
        short_help="Place the replicas of a new topic as Kafka does, repeatably.",
        epilog=examples(
            "kreplica assign invoices --partitions 6 --replication-factor 3 --dump sample-healthy",
            "kreplica assign invoices --partitions 6 --replication-factor 3 --seed 7 --dump sample-healthy",
        ),
    )(assign)


@takes_sources
def assign(
    sources: SourceOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Name of a topic that does not exist yet.")],
    partitions: Annotated[
        int, typer.Option("--partitions", min=1, max=100_000, metavar="N", help="Number of partitions.")
    ],
    replication_factor: Annotated[
        int, typer.Option("--replication-factor", min=1, max=32767, metavar="N", help="Replicas of each partition.")
    ],
    algorithm: Annotated[
        Algorithm | None,
        typer.Option(
            "--algorithm",
            help="KRaft's striped placement, or those of ZooKeeper mode.  [default: the controller's]",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=-LARGEST_INT32,
            max=LARGEST_INT32,
            metavar="N",
            help="Seed of the random numbers.  [default: made from the topic's name]",
        ),
    ] = None,
    output: OutputOption = None,
) -> None:
    """Show the replicas that a new topic would get, and the command that creates it with them; nothing is changed.

    The algorithms are Kafka's own. Kafka draws new random numbers each time. Here the same topic, cluster and seed
    always give the same replicas.

    Exits 2 when the replicas cannot be placed, 5 when it is not known whether some broker can take replicas.
    """
    from commands.assign.answer import answer
    from commands.assign.screen import show
    from commands.shared.printing.output import emit
    from kreplica.monitoring import placement
    from kreplica.planner.topic_placement import PlacementAlgorithm

    handle = one_cluster(sources.handles(), "a topic belongs to one cluster")
    chosen = None if algorithm is None else PlacementAlgorithm(algorithm)
    found = placement.assign(handle, topic, partitions, replication_factor, algorithm=chosen, seed=seed)
    emit(answer(found), output, lambda console: show(found, topic, console))
    raise typer.Exit(found.exit_code)
