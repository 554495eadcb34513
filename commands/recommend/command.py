"""kreplica recommend: better settings, judged from the current ones."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import (
    ExcludeInternalOption,
    ExitZeroOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    exit_of,
    takes_sources_as_of,
)
from commands.shared.options.rules import FailOn, FailOnOption


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "recommend",
        short_help="Recommend setting changes, with reason, cost and the command.",
        epilog=examples(
            "kreplica recommend --dump sample --topic orders",
            "kreplica recommend --bootstrap-server kafka1:9092 --producer-config producer.properties",
        ),
    )(recommend)


@takes_sources_as_of
def recommend(
    sources: SourceOptions,
    producer_config: Annotated[
        list[str] | None,
        typer.Option("--producer-config", metavar="FILE", help="Java properties of a producer; may be repeated."),
    ] = None,
    consumer_config: Annotated[
        list[str] | None,
        typer.Option("--consumer-config", metavar="FILE", help="Java properties of a consumer; may be repeated."),
    ] = None,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    fail_on: FailOnOption = FailOn.warning,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Recommend changes to settings of brokers, topics and clients, with the reason and the cost.

    Each recommendation tells the present value, where it is set, and the command that changes it. The value in effect
    is judged: the default, a static or dynamic setting, or the topic's own. Properties of a client can be judged
    without a cluster. Nothing is changed.

    Exits 1 when a recommendation is at least as severe as --fail-on, 5 when there is none but something could not be
    read or judged.
    """
    from commands.recommend.answer import answer
    from commands.recommend.screen import show
    from commands.shared.printing.output import emit
    from kreplica.health.rules import Severity
    from kreplica.monitoring.recommendations import Clients

    clients = Clients(tuple(producer_config or ()), tuple(consumer_config or ()))
    found = answer(sources, clients, topic, Severity(fail_on), exclude_internal=exclude_internal)
    emit(found.answer, output, lambda console: show(found, console))
    code = found.found.exit_code
    raise exit_of(code, exit_zero=exit_zero)
