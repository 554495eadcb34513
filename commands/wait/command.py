"""kreplica wait: until replicas are in sync again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options import (
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
from commands.shared.values import parse_duration, parse_ids, spell_duration
from kreplica.errors import ExitCode, UnreachableError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer
    from kreplica.config.handle import ClusterHandle
    from kreplica.health.wait_conditions import Left
    from kreplica.model.schema import Kind
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.monitoring.clusters import Reading
    from kreplica.sources import Facet
    from kreplica.system.deadline import Deadline

COLUMNS = ("topic", "partition", "leader", "replicas", "isr", "missing")
TIMEOUT = "30m"
POLL_SECONDS = 2.0
"""Seconds between two reads."""


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
        where = f"broker{'s' * (len(self.brokers) > 1)} {', '.join(map(str, self.brokers))}"
        if self.goal is For.in_sync:
            return f"{where} up, every replica there in sync"
        return "no partition under-replicated" + (f" on {where}" if self.brokers else "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of waiting.

    Args:
        reading: The last read.
        snapshot: Its selected partitions.
        left: The part of the goal that was not reached.
        waited: Seconds of waiting; None for a dump, which is read once.
    """

    reading: Reading
    snapshot: ClusterSnapshot
    left: Left
    waited: float | None

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that could not be read or are not known."""
        return (*(gap.message for gap in self.snapshot.gaps), *self.left.unknown)

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of a gate: never 0 on incomplete data."""
        from kreplica.health.gates import gate_code

        return gate_code(not self.left.reached, self.missing)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("wait", short_help="Wait until replicas are in sync again, for scripts.")(wait)


@takes_sources
def wait(
    sources: SourceOptions,
    goal: Annotated[For, typer.Option("--for", help="What to wait for.")],
    broker: Annotated[list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Of these brokers.")] = None,
    timeout: Annotated[str, typer.Option("--timeout", metavar="DURATION", help="Give up after so long.")] = TIMEOUT,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    max_age: MaxAgeOfActionOption = MAX_AGE,
    output: OutputOption = None,
) -> None:
    """Wait until no partition is under-replicated, or until brokers are up and every replica on them is in sync.

    A partition without a leader is not in sync. Exits 0 when that is reached, 1 when the time is up first, 3 when the
    cluster does not answer at the end either, 5 when it is reached as far as can be seen but something could not be
    read, is not known or is too old. A dump is read once; --timeout 0 checks once.
    """
    from commands.shared.printing.output import emit
    from commands.shared.stop_options import one_cluster

    question = Question(goal, parse_ids(broker or ()), topic, exclude_internal)
    if goal is For.in_sync and not broker:
        raise UsageError("--for in-sync needs a broker", "which one is waited for?", "give --broker ID")
    patience = parse_duration(timeout, "--timeout")
    handle = one_cluster(sources.handles(), "one cluster is waited for at a time")
    age = parse_duration(max_age, "--max-age")
    outcome = _wait(handle, question, 0.0 if handle.dump is not None else patience, age)
    way_in = sources.again(outcome.snapshot.name)
    emit(_answer(question, outcome), output, lambda console: _show(question, outcome, way_in, console))
    raise typer.Exit(outcome.exit_code)


def _wait(handle: ClusterHandle, question: Question, patience: float, most_age: float) -> Outcome:
    """Reads again and again until the goal is reached or the time is up; no read goes on after that time."""
    from commands.shared.printing.progress import Progress
    from kreplica.system.deadline import Deadline

    deadline = Deadline(patience)
    with Progress() as progress:
        while True:
            began, state = deadline.passed(), ""
            try:
                outcome = _look(handle, question, deadline, most_age)
            except UnreachableError as error:
                if not error.may_pass or not deadline.has_time_for(deadline.passed() - began):
                    raise
                state = error.what
            else:
                if outcome.exit_code is ExitCode.OK or not deadline.has_time_for(deadline.passed() - began):
                    return outcome
                state = outcome.left.words() or f"not known: {outcome.missing[0]}"
            progress.say(f"waiting for {question.words}: {state}; {spell_duration(deadline.remaining())} left")
            time.sleep(deadline.pause(POLL_SECONDS, deadline.passed() - began))


def _look(handle: ClusterHandle, question: Question, deadline: Deadline, most_age: float) -> Outcome:
    """Reads the cluster; if the goal looks reached, also every broker, which shows hidden topics and silent brokers."""
    from kreplica.sources import Facet

    outcome = _read(handle, question, Facet.PARTITIONS, deadline, most_age)
    return (
        _read(handle, question, Facet.LOG_DIRS | Facet.ANSWERS, deadline, most_age) if outcome.left.reached else outcome
    )


def _read(handle: ClusterHandle, question: Question, wanted: Facet, deadline: Deadline, most_age: float) -> Outcome:
    from kreplica.health.gates import Freshness, for_gate
    from kreplica.health.wait_conditions import Goal, what_is_left
    from kreplica.model.selection import select
    from kreplica.monitoring.clusters import read_clusters

    freshness = Freshness(most_age)
    reading = read_clusters((replace(handle, timeout=deadline.bound(handle.timeout)),), wanted, freshness)
    whole = reading.snapshots[0]
    snapshot = for_gate(select(whole, topics=question.topics, exclude_internal=question.exclude_internal), freshness)
    _require_known(whole, question.brokers)
    left = what_is_left(snapshot, Goal(question.goal.value), question.brokers)
    return Outcome(reading, snapshot, left, None if handle.dump is not None else deadline.passed())


def _require_known(snapshot: ClusterSnapshot, brokers: Sequence[int]) -> None:
    """Refuses unknown brokers, except in ZooKeeper mode: ZooKeeper, unlike KRaft, forgets a broker that is down."""
    from commands.shared.stop_gate import known_nodes
    from kreplica.model.snapshot import MetadataMode

    known = known_nodes(snapshot)
    unknown = sorted(set(brokers) - set(known))
    if unknown and snapshot.mode is not MetadataMode.ZOOKEEPER:
        raise UsageError(f"no broker {', '.join(map(str, unknown))}", f"known are {', '.join(map(str, known))}")


def _answer(question: Question, outcome: Outcome) -> Answer:
    from commands.shared.printing.output import Answer, cluster_object

    return Answer(
        command="wait",
        rows_name="partitions",
        columns=COLUMNS,
        rows=_rows(outcome),
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
        warnings=[*outcome.reading.warnings(), *outcome.left.unknown],
        kinds=_kinds(),
    )


def _rows(outcome: Outcome) -> list[dict[str, object]]:
    from kreplica.health.listing import partition_rows
    from kreplica.model.evaluate import Evaluator

    rows = partition_rows(Evaluator(outcome.snapshot), outcome.left.rows)
    return [{name: row[name] for name in COLUMNS} for row in rows]


def _kinds() -> dict[str, Kind]:
    from kreplica.health.listing import ROW_KINDS

    return {name: ROW_KINDS[name] for name in COLUMNS}


def _show(question: Question, outcome: Outcome, way_in: str, console: Console) -> None:
    from commands.shared.printing.screen import aged, places, print_lines, print_verdict

    after = "" if outcome.waited is None else f"after {spell_duration(outcome.waited)}: "
    age = aged(outcome.snapshot)
    if outcome.exit_code is ExitCode.FINDINGS:
        print_verdict(console, "NOT YET", "red", f"{after}{outcome.left.words()}{age}")
        left = places([(row["topic"], row["partition"]) for row in _rows(outcome)])
        print_lines(console, "left", [left] * bool(left))
        narrow = narrowed(question.topics, question.exclude_internal, question.brokers)
        print_lines(console, "next", [f"kreplica describe {way_in}{narrow} --under-replicated"], whole=True)
    elif outcome.exit_code is ExitCode.INCOMPLETE:
        print_verdict(console, "INCOMPLETE", "yellow", f"{after}{question.words}, but not all is known{age}")
    else:
        print_verdict(console, "REACHED", "green", f"{after}{question.words}{age}")
    print_lines(console, "missing", outcome.missing)
