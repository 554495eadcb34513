"""kreplica describe: partitions in trouble, or a verdict on the whole cluster."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from commands.describe.question import GroupBy, Question
from commands.shared.help import examples
from commands.shared.options.common import (
    BROKERS,
    ExcludeInternalOption,
    ExitZeroOption,
    MaxAgeOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    exit_of,
    takes_sources_as_of,
)
from commands.shared.options.groups import replace_parameter
from commands.shared.printing.output import OutputFormat, emit
from kreplica.errors import ExitCode, UsageError


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "describe",
        short_help="Show partitions in trouble, or a verdict on the cluster.",
        epilog=examples(
            "kreplica describe --dump sample --under-replicated --group-by cause",
            "kreplica describe --bootstrap-server kafka1:9092 --under-min-isr --watch 5",
        ),
    )(describe)


FILTERS: Mapping[str, str] = {
    "under_replicated": "In-sync replicas are missing.",
    "masked": "An original replica is missing, hidden by an adding one.",
    "under_min_isr": "No leader, or ISR below min.insync.replicas.",
    "at_min_isr": "ISR exactly min.insync.replicas.",
    "unavailable": "No leader, or the leader is not a live broker.",
    "offline": "No leader.",
    "non_preferred": "Not led by the first replica.",
    "reassigning": "Replicas are being added or removed.",
}
"""Predicates that are filters, by their names, with the help of their flags."""


def _takes_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces the parameter ``filters`` by a flag for each of FILTERS."""
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[bool, _flag(name)], default=False)
        for name in FILTERS
    ]

    def chosen(given: dict[str, Any]) -> tuple[str, ...]:
        wanted = {name: given.pop(name) for name in FILTERS}
        return tuple(name for name, is_wanted in wanted.items() if is_wanted)

    return replace_parameter(command, "filters", flags, chosen)


def _flag(name: str) -> object:
    flag = f"--{name.replace('_', '-')}"
    return typer.Option(flag, help=FILTERS[name], rich_help_panel="Health filters, any of them")


@takes_sources_as_of
@_takes_filters
def describe(
    sources: SourceOptions,
    filters: tuple[str, ...],
    everything: Annotated[bool, typer.Option("--all", help="List every partition.")] = False,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Only partitions with a replica there.")
    ] = None,
    group_by: Annotated[GroupBy | None, typer.Option("--group-by", help="Gather the partitions that match.")] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure", metavar="TIME", help="Also read twice, TIME apart (10s, 2m), how missing replicas catch up."
        ),
    ] = None,
    watch: Annotated[
        float | None, typer.Option("--watch", min=0.5, metavar="SECONDS", help="Repeat until interrupted.")
    ] = None,
    max_age: MaxAgeOption = None,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Show which partitions are in trouble; without a filter, a verdict on the whole cluster.

    Exits 1 when a health filter matched, or without a filter when the verdict is UNHEALTHY; 5 when nothing is wrong but
    something could not be read; 3 when no broker answered. With --all or --group-by alone, nothing is judged.
    """
    from commands.shared.values import parse_duration, parse_ids

    if everything and filters:
        raise UsageError("--all lists every partition", "a health filter lists some", "leave one of them out")
    selection = (topic, exclude_internal, parse_ids(broker or ()))
    seconds = None if measure is None else parse_duration(measure, "--measure", least=1)
    age = None if max_age is None else parse_duration(max_age, "--max-age")
    timed = watch is not None
    question = Question(filters, everything, group_by, *selection, timed=timed, measure=seconds, most_age=age)
    if watch is None:
        code, _ = _answer_once(sources, question, output)
        raise exit_of(code, exit_zero=exit_zero)
    _watch(sources, question, output, watch)


def _answer_once(sources: SourceOptions, question: Question, output: OutputFormat | None) -> tuple[ExitCode, bool]:
    """Prints one answer; returns the exit code and whether stdout still has a reader."""
    from commands.describe.answer import answer
    from commands.describe.screen import show

    description = answer(sources.handles(), question)
    read = emit(description.answer, output, lambda console: show(description, sources, console))
    return description.exit_code, read


def _watch(sources: SourceOptions, question: Question, output: OutputFormat | None, seconds: float) -> None:
    from commands.shared.printing.progress import watch
    from kreplica.system.time_limits import check_timeout

    check_timeout(seconds, "--watch")
    if output not in (None, OutputFormat.table, OutputFormat.json, OutputFormat.jsonl):
        raise UsageError(f"--watch has no end, and {output} has one", fix="use -o jsonl, or leave out --watch")
    if output is OutputFormat.jsonl and not (question.filters or question.everything or question.group_by):
        fix = "name a filter such as --under-replicated, or --all; -o json has the counts"
        raise UsageError("without a filter there are no rows to print", "--watch -o jsonl would print nothing", fix)
    if sources.dump == "-":
        raise UsageError("standard input can be read once only", fix="leave out --watch, or name a file")
    watch(lambda: _answer_once(sources, question, output)[1], seconds, output)
