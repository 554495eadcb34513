"""kreplica imbalance: partitions not led by their preferred leader, and what brings these leaders back."""

from __future__ import annotations

import typer

from commands.shared.help import examples
from commands.shared.options.common import (
    ExcludeInternalOption,
    ExitZeroOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    exit_of,
    narrowed,
    takes_sources_as_of,
)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "imbalance",
        short_help="Show partitions not led by their preferred replica, and why.",
        epilog=examples(
            "kreplica imbalance --dump sample --exclude-internal",
            "kreplica imbalance --bootstrap-server kafka1:9092 --topic 'orders.*'",
        ),
    )(imbalance)


@takes_sources_as_of
def imbalance(
    sources: SourceOptions,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Show how leaders are spread over the brokers, and whether the controller brings them back by itself.

    The answer tells when the controller acts, or why it does not, which preferred leaders can be elected now, and what
    is skewed. A ZooKeeper-mode controller goes by a ratio for each broker, a KRaft controller does not.

    Exits 1 when partitions are not led by their preferred leader, 5 when all are but something could not be read.
    """
    from commands.imbalance.answer import BalancedView, answer
    from commands.imbalance.screen import show
    from commands.shared.printing.output import emit
    from kreplica.monitoring import balance

    found = balance.imbalance(sources.handles(), topics=topic, exclude_internal=exclude_internal)
    narrow = narrowed(topic, exclude_internal)
    views = [BalancedView(one, f"{sources.again(one.snapshot.name)}{narrow}") for one in found.clusters]
    emit(answer(found), output, lambda console: show(views, console))
    code = found.exit_code
    raise exit_of(code, exit_zero=exit_zero)
