"""A rehearsal as an answer: a row a move, the counts of all runs, and the worst of them told."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from commands.shared.options.engine_settings import shown_settings
from commands.shared.printing.output import Answer, Row, cluster_object
from kreplica.execution.rehearsal.kinds import KIND_WORDS
from kreplica.execution.rehearsal.rows import RehearsedMove

if TYPE_CHECKING:
    from kreplica.execution.rehearsal.rehearse import RehearsedPlan


def rehearse_answer(found: RehearsedPlan, path: Path, again: str) -> Answer[RehearsedMove]:
    """The answer of a rehearsal.

    Args:
        found: What was played.
        path: The plan's file.
        again: Options of the command that replays a run, but plan, runs and seed.
    """
    return Answer(
        command="rebalance-rehearse",
        rows_name="moves",
        columns=RehearsedMove,
        rows=found.rows,
        clusters=[cluster_object(snapshot) for snapshot in found.reading.snapshots],
        summary={
            "verdict": found.word,
            "plan": str(path),
            "plan_id": found.plan.plan_id,
            "version": found.staged.stage.version,
            "settings": shown_settings(dict(found.options.settings)),
            "seed": found.options.seed,
            "failures": found.options.failures,
            "runs": len(found.verdicts),
            "asked": found.options.runs,
            "moves": len(found.plan.changes),
            "played": len(found.rows),
            "brokers": [broker.id for broker in found.staged.stage.setup.brokers],
            "failing": found.failing,
            "failing_without_plan": found.failing_without,
            "wrong": found.wrong,
            "unwritten_ms": found.unwritten_ms,
            "kinds": [
                {"kind": str(kind), "meaning": KIND_WORDS[kind], "moves": able, "played": played}
                for kind, (able, played) in found.kinds.items()
            ],
            "worst": _worst(found, path, again),
        },
        warnings=found.warnings,
    )


def _worst(found: RehearsedPlan, path: Path, again: str) -> Row | None:
    worst = found.worst
    if worst is None:
        return None
    return {
        "seed": worst.verdict.seed,
        "trace_hash": worst.verdict.trace_hash,
        "topic": worst.key[0],
        "partition": worst.key[1],
        "lost": list(worst.harm.lost),
        "unseen": list(worst.harm.unseen),
        "unwritten_ms": worst.harm.unwritten_ms,
        "wrong": list(worst.verdict.wrong),
        "wrong_without_plan": list(worst.verdict.wrong_without),
        "stopped": worst.verdict.stopped,
        "failures": list(worst.failures),
        "why": worst.why,
        "story": [{"time_ms": one.time_ms, "what": one.what} for one in worst.story],
        "replay": replay_line(found, path, again),
    }


def replay_line(found: RehearsedPlan, path: Path, again: str) -> str:
    """The command that plays the worst run once more, and tells it."""
    assert found.worst is not None
    return f"kreplica rebalance rehearse {shlex.quote(str(path))} {again} --runs 1 --seed {found.worst.verdict.seed}"
