"""Runs of scenarios as answers: the outcome as one object, each step as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commands.shared.printing.output import Answer, Row
from commands.whatif.options import shown_settings
from commands.whatif.rows import TimelineStep
from commands.whatif.run.verdict import why_of

if TYPE_CHECKING:
    from commands.whatif.run.view import View
    from kreplica.engine.checkers.causal_slice import CausalSlice
    from kreplica.engine.checkers.history_of_logs import ReplicaLogs
    from kreplica.engine.checkers.outcome import Outcome
    from kreplica.engine.trace import Event
    from kreplica.scenarios.playing import Run

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


def run_answer(run: Run, view: View, asked_version: str | None = None) -> Answer:
    """One run: the outcome beside its timeline.

    Args:
        run: The run.
        view: The time span to show, and the record to explain.
        asked_version: As ``--kafka-version`` gave it.
    """
    why = None if view.why is None else _why(why_of(run, view.why))
    outcome = {**outcome_row(run), **view.story.by_partition(run)}
    return Answer(
        command="whatif-run",
        rows_name="timeline",
        columns=TimelineStep,
        rows=_timeline(run, view) if view.timeline else (),
        summary={"events": run.outcome.events, "trace_hash": run.outcome.trace_hash, **_heading(run)},
        objects={"outcome": outcome, **({} if why is None else {"why": why})},
        warnings=[*view.story.warnings, *remarks(run, asked_version)],
    )


def remarks(run: Run, asked_version: str | None = None) -> list[str]:
    """Remarks on requests that made no difference: steps that never happened, settings without effect.

    Args:
        run: The run.
        asked_version: As ``--kafka-version`` gave it.
    """
    from kreplica.engine.ineffective_settings import idle_settings
    from kreplica.engine.plan_text import step_words

    rules = run.version.name
    return [
        *([played_by(asked_version, rules)] if asked_version not in (None, rules) else []),
        *idle_settings(run.scenario.setup, run.version, run.settings),
        *(f"never came about: {step_words(step)}" for step in run.missed),
    ]


def played_by(asked: str | None, rules: str) -> str:
    """A remark that a version is played by the rules of an earlier one."""
    return f"Kafka {asked} is played by the rules and defaults of {rules}, the newest that the engine knows"


def outcome_row(run: Run) -> Row:
    """Outcome of a run, and whether it is the expected one."""
    return {
        "scenario": run.scenario.name,
        "version": run.version.name,
        "settings": shown_settings(dict(run.settings)),
        "seed": run.seed,
        **measured(run.outcome),
        **_transactions(run),
        "as_expected": None if run.case is None else not run.differences,
        "differences": [str(difference) for difference in run.differences],
    }


def _transactions(run: Run) -> Row:
    """Transactions that are incomplete, or not as reported to their producer, and partitions with open ones."""
    from kreplica.engine.checkers.transactions import transaction_outcomes

    found = transaction_outcomes(run.events)
    return {"torn": list(found.torn), "broken": list(found.broken), "hanging": list(found.hanging)}


def measured(outcome: Outcome) -> Row:
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


def _heading(run: Run) -> Row:
    """The words above a picture of the run."""
    from commands.whatif.run.verdict import heading_of

    heading = heading_of(run)
    return {"title": heading.title, "verdict": heading.verdict, "look": heading.look, "story": heading.story}


def _why(found: CausalSlice) -> Row:
    from kreplica.report.explain import rule_source

    return {
        "value": found.value,
        "partition": found.partition,
        "fate": str(found.fate),
        "conclusion": found.conclusion,
        "causes": [
            {
                "event": cause.number,
                "time_ms": cause.time / 1000,
                "what": cause.text,
                "note": cause.note or None,
                "rule": cause.rule or None,
                "rule_source": rule_source(cause.rule) or None,
            }
            for cause in found.causes
        ],
    }


def _timeline(run: Run, view: View) -> list[TimelineStep]:
    from kreplica.engine.checkers.history_of_logs import ReplicaLogs

    logs = ReplicaLogs()
    rows = []
    for event in run.events:
        logs(event)
        if view.shows(event.time):
            rows.append(_step(event, logs))
    return rows


def _step(event: Event, logs: ReplicaLogs) -> TimelineStep:
    from kreplica.engine.trace import KINDS, rule_of, sentence
    from kreplica.engine.trace_rows import event_row
    from kreplica.report.explain import rule_source

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
