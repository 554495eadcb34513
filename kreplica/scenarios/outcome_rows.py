"""Runs of scenarios as rows: the outcome of each, every step of one, several runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kreplica.engine.checkers.groups.owners import owned_twice
from kreplica.engine.checkers.history_of_logs import ReplicaLogs
from kreplica.engine.checkers.outcome import Outcome
from kreplica.engine.checkers.transactions import transaction_outcomes
from kreplica.engine.plans.text import step_words
from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.settings import Value
from kreplica.engine.trace import KINDS, Event, rule_of, sentence
from kreplica.engine.trace_rows import event_row
from kreplica.engine.versions.ineffective_settings import idle_settings
from kreplica.errors import ExitCode, UsageError
from kreplica.model.tables.rows import names_of
from kreplica.report.explain import rule_source
from kreplica.scenarios.playing import Run, play
from kreplica.scenarios.rows import ComparedRun, TimelineStep
from kreplica.scenarios.scenario import Scenario

VALUE_LISTS = (
    "lost",
    "unseen",
    "duplicated",
    "reordered",
    "aborted_read",
    "stale_read",
    "lost_read",
    "read_twice",
    "skipped",
    "non_monotonic",
    "own_unread",
)


@dataclass(frozen=True, slots=True)
class NotPlayed:
    """A variant whose version lacks what the scenario or a setting asks for."""

    version: str
    settings: Mapping[str, Value]
    error: UsageError


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """A scenario under several versions and settings.

    Args:
        scenario: The scenario.
        columns: A run for each variant, or why it could not be played.
        seed: Seed of every run.
    """

    scenario: Scenario
    columns: Sequence[Run | NotPlayed]
    seed: int

    @property
    def runs(self) -> list[Run]:
        """The variants that could be played."""
        return [run for run in self.columns if not isinstance(run, NotPlayed)]

    @property
    def rows(self) -> list[ComparedRun]:
        """A row for each variant."""
        return [_compared(column, self.scenario.name, self.seed) for column in self.columns]

    @property
    def exit_code(self) -> ExitCode:
        """1 where an outcome is not the one that the scenario expects."""
        return ExitCode.FINDINGS if any(run.differences for run in self.runs) else ExitCode.OK


def compare_runs(
    scenario: Scenario, variants: Sequence[tuple[str, Mapping[str, Value]]], seed: int = 0
) -> ComparedRuns:
    """Plays a scenario once for each variant.

    Args:
        scenario: The scenario.
        variants: Version and settings of each.
        seed: Seed of every run.

    Raises:
        UsageError: None can be played; the first one's error.
    """
    columns = [_played(scenario, version, settings, seed) for version, settings in variants]
    errors = [column.error for column in columns if isinstance(column, NotPlayed)]
    if len(errors) == len(columns):
        raise errors[0]
    return ComparedRuns(scenario, columns, seed)


def _played(scenario: Scenario, version: str, settings: Mapping[str, Value], seed: int) -> Run | NotPlayed:
    try:
        return play(scenario, version, settings, seed)
    except UsageError as error:
        return NotPlayed(version, settings, error)


def _compared(column: Run | NotPlayed, scenario: str, seed: int) -> ComparedRun:
    if isinstance(column, NotPlayed):
        return ComparedRun(
            scenario=scenario,
            version=column.version,
            settings=shown_settings(dict(column.settings)),
            seed=seed,
            not_played=column.error.why or column.error.what,
        )
    found = outcome_row(column)
    return ComparedRun(**{name: found[name] for name in names_of(ComparedRun) if name in found})


def timeline(run: Run, shows: Callable[[int], bool] | None = None) -> Iterator[TimelineStep]:
    """The events of a run as rows, each with the ends and high watermarks of its partition's replicas then.

    Args:
        run: The run.
        shows: Whether events of a time, in microseconds, get a row; all if None.
    """
    logs = ReplicaLogs()
    for event in run.events:
        logs(event)
        if shows is None or shows(event.time):
            yield _step(event, logs)


def shown_settings(settings: object) -> dict[str, object]:
    """Settings as a user writes them: acks=-1 is ``all``."""
    assert isinstance(settings, dict)
    return {name: "all" if name == "acks" and value == ACKS_ALL else value for name, value in settings.items()}


def remarks(run: Run, asked_version: str | None = None) -> list[str]:
    """Remarks on requests that made no difference: steps that never happened, settings without effect.

    Args:
        run: The run.
        asked_version: As ``--kafka-version`` gave it.
    """
    rules = run.version.name
    return [
        *([played_by(asked_version, rules)] if asked_version not in (None, rules) else []),
        *idle_settings(run.scenario.setup, run.version, run.settings),
        *(f"never came about: {step_words(step)}" for step in run.missed),
    ]


def played_by(asked: str | None, rules: str) -> str:
    """A remark that a version is played by the rules of an earlier one."""
    return f"Kafka {asked} is played by the rules and defaults of {rules}, the newest that the engine knows"


def outcome_row(run: Run) -> dict[str, Any]:
    """Outcome of a run, and whether it is the expected one."""
    return {
        "scenario": run.scenario.name,
        "version": run.version.name,
        "settings": shown_settings(dict(run.settings)),
        "seed": run.seed,
        **measured(run.outcome),
        **_transactions(run),
        "owned_twice": list(owned_twice(run.events)),
        "as_expected": None if run.case is None else not run.differences,
        "differences": [str(difference) for difference in run.differences],
    }


def _transactions(run: Run) -> dict[str, Any]:
    """Transactions that are incomplete, or not as reported to their producer, and partitions with open ones."""
    found = transaction_outcomes(run.events)
    return {"torn": list(found.torn), "broken": list(found.broken), "hanging": list(found.hanging)}


def measured(outcome: Outcome) -> dict[str, Any]:
    """The outcome's measures by name."""
    histories, measures = outcome.histories, outcome.measures
    return {
        "sent": histories.sent,
        "acknowledged": histories.acknowledged,
        "failed": histories.failed,
        **{name: list(getattr(histories, name)) for name in VALUE_LISTS},
        "diverged": list(outcome.diverged),
        "unavailable_ms": measures.unavailable_ms,
        "read_only_ms": measures.read_only_ms,
        "produce_ms_50": measures.produce_ms(50),
        "produce_ms_99": measures.produce_ms(99),
        "produce_ms_max": measures.produce_ms(100),
        "leader_changes": measures.leader_changes,
        "isr_changes": measures.isr_changes,
        "findings": [
            {
                "time_ms": found.time / 1000,
                "invariant": str(found.invariant),
                "partition": found.partition,
                "offset": found.offset,
                "node": found.node,
                "expected": found.expected,
                "found": found.found,
            }
            for found in outcome.findings
        ],
    }


def _step(event: Event, logs: ReplicaLogs) -> TimelineStep:
    named = KINDS[event.kind].fields[:1] == ("partition",)
    rule = rule_of(event)
    return TimelineStep(
        **event_row(event),
        partition=event.values[0] if named else None,
        what=sentence(event),
        rule=rule or None,
        rule_source=(rule_source(rule) or None) if rule else None,
        **_offsets(str(event.values[0]) if named else "", logs),
    )


def _offsets(partition: str, logs: ReplicaLogs) -> dict[str, Any]:
    leader, followers = logs.leader(partition), logs.followers(partition)
    return {
        "leader": None if leader is None else leader.node,
        "leader_leo": None if leader is None else leader.end_offset,
        "remote_leo": None
        if leader is None
        else {f"broker-{number}": offset for number, offset in sorted(leader.followers.items())},
        "leader_hw": None if leader is None else leader.high_watermark,
        "follower_leo": {name: replica.end_offset for name, replica in followers.items()} or None,
        "follower_hw": {name: replica.shown_high_watermark for name, replica in followers.items()} or None,
    }
