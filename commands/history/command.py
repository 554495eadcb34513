"""kreplica history: the life of a partition, a topic or a broker, as many snapshots told it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import LARGEST_INT32, OutputOption
from commands.shared.options.history import ClusterOption, SinceOption, UntilOption, wanted_of
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


TopicArgument = Annotated[
    str | None,
    typer.Argument(metavar="TOPIC[-P]", show_default=False, help="A topic, or one partition of it: orders-2."),
]
InOption = Annotated[
    str,
    typer.Option(
        "--in", "--dump", metavar="HISTORY", help="The history of kreplica audit ingest, a path or s3://BUCKET/PREFIX."
    ),
]
PartitionOption = Annotated[
    int | None,
    typer.Option("--partition", min=0, max=LARGEST_INT32, metavar="P", help="One partition of the topic."),
]
BrokerOption = Annotated[
    int | None,
    typer.Option("--broker", min=0, max=LARGEST_INT32, metavar="ID", help="A broker, in place of a topic."),
]
ConsumerGroupOption = Annotated[
    str | None,
    typer.Option("--consumer-group", "--group", metavar="NAME", help="A consumer group: what it had committed."),
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="When the group had committed it: 2026-03-01T12:00, or 7d ago."),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "history",
        short_help="Show what a partition, topic or broker was, from when to when.",
        epilog=examples(
            "kreplica history orders-2 --in history --since 7d",
            "kreplica history --consumer-group payments --as-of 2026-03-01T12:00 --in history",
            "kreplica history --broker 3 --in s3://fleet/history --cluster prod-eu",
        ),
    )(history)


def history(
    history_in: InOption,
    topic: TopicArgument = None,
    partition: PartitionOption = None,
    broker: BrokerOption = None,
    consumer_group: ConsumerGroupOption = None,
    as_of: AsOfOption = None,
    cluster: ClusterOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    output: OutputOption = None,
) -> None:
    """Show the life of a partition, a topic or a broker: each state, from when to when, and what changed.

    Rows of their own mark times in which no snapshot knew it, and times in which a snapshot was due but none was taken.
    Without a topic and a broker, the clusters of the history are listed.

    With --consumer-group, the offsets that a group had committed at a moment: by the last sample before it, and the
    first one after it. Exits 5 when something in the history could not be read.
    """
    from commands.history.answer import answer_to
    from commands.history.screen import show
    from commands.shared.printing.output import emit
    from commands.shared.values import parse_moment
    from kreplica.history.lives.reading import lives_in

    if topic is not None and broker is not None:
        raise UsageError("a topic and --broker have lives of their own", fix="leave one of them out")
    _check_group(consumer_group, as_of, (topic, broker, partition, since, until))
    if topic is None and partition is not None:
        raise UsageError(
            "--partition is of a topic", "none is named", f"kreplica history TOPIC --partition {partition}"
        )
    moment = None if as_of is None else parse_moment(as_of, "--as-of")
    wanted = wanted_of(cluster or (), since, until)
    found = lives_in(history_in, topic, partition, broker, wanted, group=consumer_group, moment=moment)
    emit(answer_to(found), output, lambda console: show(found, console))
    raise typer.Exit(found.exit_code)


def _check_group(group: str | None, as_of: str | None, others: Sequence[object]) -> None:
    if group is not None and any(other is not None for other in others):
        fix = "leave the other options out but --cluster and --as-of"
        raise UsageError("a consumer group is asked for alone, at one moment", fix=fix)
    if group is None and as_of is not None:
        fix = "name --consumer-group; kreplica describe --dump HISTORY --as-of TIME shows partitions"
        raise UsageError("--as-of is of a consumer group here", "none is named", fix)
