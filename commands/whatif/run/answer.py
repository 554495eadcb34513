"""Runs of scenarios as answers: the outcome as one object, each step as a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.shared.printing.output import Answer, Row
from commands.whatif.run.verdict import why_of
from kreplica.scenarios.outcome_rows import outcome_row, remarks, timeline
from kreplica.scenarios.rows import TimelineStep

if TYPE_CHECKING:
    from commands.whatif.run.view import View
    from kreplica.engine.checkers.causal_slice import CausalSlice
    from kreplica.scenarios.playing import Run


def run_answer(run: Run, view: View, asked_version: str | None = None) -> Answer[TimelineStep]:
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
        rows=[step for step, event in zip(timeline(run), run.events, strict=True) if view.shows(event.time)]
        if view.timeline
        else (),
        summary={"events": run.outcome.events, "trace_hash": run.outcome.trace_hash, **_heading(run)},
        objects={"outcome": outcome, **({} if why is None else {"why": why})},
        warnings=[*view.story.warnings, *remarks(run, asked_version)],
    )


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
