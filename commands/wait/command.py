"""kreplica wait: until replicas are in sync again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import (
    BROKERS,
    MAX_AGE,
    ExcludeInternalOption,
    MaxAgeOfActionOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    narrowed,
    takes_sources,
)
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer
    from kreplica.config.handle import ClusterHandle
    from kreplica.monitoring.waiting.in_sync import Awaited, AwaitedPartition

TIMEOUT = "30m"


class For(StrEnum):
    """Conditions to wait for."""

    no_under_replicated = "no-under-replicated"
    in_sync = "in-sync"


@dataclass(frozen=True, slots=True)
class Question:
    """The condition to wait for, as the options give it.

    Args:
        goal: The condition.
        brokers: Its brokers; all if empty.
        topics, exclude_internal: Selection of partitions.
    """

    goal: For
    brokers: tuple[int, ...]
    topics: str | None
    exclude_internal: bool

    @property
    def words(self) -> str:
        """The goal in words."""
        from kreplica.model.wording.words import named

        where = named("broker", self.brokers)
        if self.goal is For.in_sync:
            return f"{where} up, every replica there in sync"
        return "no partition under-replicated" + (f" on {where}" if self.brokers else "")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "wait",
        short_help="Wait until replicas are in sync again, for scripts.",
        epilog=examples(
            "kreplica wait --for in-sync --broker 3 --dump sample-healthy --max-age 366d",
            "kreplica wait --bootstrap-server kafka1:9092 --for in-sync --broker 2",
        ),
    )(wait)


@takes_sources
def wait(
    sources: SourceOptions,
    goal: Annotated[For, typer.Option("--for", help="What to wait for.")],
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Only partitions of these brokers.")
    ] = None,
    timeout: Annotated[str, typer.Option("--timeout", metavar="DURATION", help="Give up after this long.")] = TIMEOUT,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    max_age: MaxAgeOfActionOption = MAX_AGE,
    output: OutputOption = None,
) -> None:
    """Wait until no partition is under-replicated, or until brokers are up and every replica on them is in sync.

    A partition without a leader is not in sync. Exits 0 when the state is reached, 1 when the time is up first, 3 when
    the cluster does not answer at the end either, 5 when the state is reached as far as can be seen, but something
    could not be read, is not known or is too old. A dump is read once; --timeout 0 checks once.
    """
    from commands.shared.options.stops import one_cluster
    from commands.shared.printing.output import emit
    from commands.shared.values import parse_duration, parse_ids

    question = Question(goal, parse_ids(broker or ()), topic, exclude_internal)
    if goal is For.in_sync and not broker:
        raise UsageError("--for in-sync needs a broker", "which one is waited for?", "give --broker ID")
    patience = parse_duration(timeout, "--timeout")
    age = parse_duration(max_age, "--max-age")
    handle = one_cluster(sources.handles(), "one cluster is waited for at a time")
    outcome = _wait(handle, question, patience, age)
    connection_options = sources.again(outcome.snapshot.name)
    emit(_answer(question, outcome), output, lambda console: _show(question, outcome, connection_options, console))
    raise typer.Exit(outcome.exit_code)


def _wait(handle: ClusterHandle, question: Question, patience: float, most_age: float) -> Awaited:
    from commands.shared.printing.progress import Progress
    from kreplica.health.wait_conditions import Goal
    from kreplica.monitoring.waiting import in_sync as waiting

    with Progress() as progress:
        return waiting.wait(
            handle,
            Goal(question.goal.value),
            question.brokers,
            timeout=patience,
            topics=question.topics,
            exclude_internal=question.exclude_internal,
            most_age=most_age,
            report=lambda state: progress.say(f"waiting for {question.words}: {state}"),
        )


def _answer(question: Question, outcome: Awaited) -> Answer[AwaitedPartition]:
    from commands.shared.printing.output import Answer, cluster_object
    from kreplica.monitoring.waiting.in_sync import AwaitedPartition

    return Answer(
        command="wait",
        rows_name="partitions",
        columns=AwaitedPartition,
        rows=outcome.rows,
        clusters=[cluster_object(outcome.snapshot)],
        summary={
            "for": question.goal.value,
            "brokers": list(question.brokers),
            "reached": outcome.left.reached,
            "waited_seconds": None if outcome.waited is None else round(outcome.waited, 1),
            "left": len(outcome.left.rows),
            "without_leader": outcome.left.leaderless,
            "not_up": list(outcome.left.down),
            "complete": not outcome.missing,
        },
        warnings=outcome.warnings,
    )


def _show(question: Question, outcome: Awaited, connection_options: str, console: Console) -> None:
    from commands.shared.printing.screen import aged, places, print_lines, print_verdict
    from commands.shared.values import spell_duration

    after = "" if outcome.waited is None else f"after {spell_duration(outcome.waited)}: "
    age = aged(outcome.snapshot)
    if outcome.exit_code is ExitCode.FINDINGS:
        print_verdict(console, "NOT YET", "red", f"{after}{outcome.left.words()}{age}")
        left = places([(row.topic, row.partition) for row in outcome.rows])
        print_lines(console, "left", [left] * bool(left))
        narrow = narrowed(question.topics, question.exclude_internal, question.brokers)
        print_lines(console, "next", [f"kreplica describe {connection_options}{narrow} --under-replicated"], whole=True)
    elif outcome.exit_code is ExitCode.INCOMPLETE:
        print_verdict(console, "INCOMPLETE", "yellow", f"{after}{question.words}, but not all is known{age}")
    else:
        print_verdict(console, "REACHED", "green", f"{after}{question.words}{age}")
    print_lines(console, "missing", outcome.missing)
