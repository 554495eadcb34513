"""The answer of whatif prove: the verdict as an object, a row for each step of a counterexample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from commands.shared.printing.json_document import encoded
from commands.shared.printing.output import Answer, schema_of
from kreplica.engine.explorer.proof import ProofStep

if TYPE_CHECKING:
    from commands.shared.printing.output import Row
    from kreplica.engine.explorer.proof import Proof
    from kreplica.scenarios.counterexamples.replay import Replay
    from kreplica.scenarios.playing import Run


def answer_of(proof: Proof, replays: Mapping[str, Replay], save_plan: Path | None = None) -> Answer[ProofStep]:
    """The answer of the contract.

    Args:
        proof: The proof.
        replays: The counterexamples that could be played, by invariant.
        save_plan: The file that a plan was to be written to.
    """
    from kreplica.scenarios.counterexamples.without_plan import reasons_of

    unwritten = save_plan is not None and not replays
    return Answer(
        command="whatif-prove",
        rows_name="steps",
        columns=ProofStep,
        rows=proof.rows,
        summary={"distinct": proof.found.distinct, "depth": proof.found.depth},
        objects={
            "verdict": proof.verdict,
            "replays": {name: _replay(one) for name, one in replays.items()},
            "without_plan": reasons_of(proof, replays),
        },
        warnings=[*proof.warnings, *([f"there is no plan to write to {save_plan}"] if unwritten else [])],
    )


def _replay(replay: Replay) -> Row:
    from kreplica.engine.plans.text import step_words

    return {
        "plan": [step_words(step) for step in replay.file.steps],
        "runs": [_outcome(run) for run in (replay.run, replay.mended)],
    }


def _outcome(run: Run) -> Row:
    from commands.whatif.run.verdict import verdict

    word, _, sentence = verdict(run)
    return {
        "kafka_version": run.version.name,
        "settings": {name: str(value) for name, value in run.settings.items()},
        "verdict": f"{word}: {sentence}",
        "lost": list(run.outcome.histories.lost),
        "broken": list(dict.fromkeys(str(found.invariant) for found in run.outcome.findings)),
        "trace_hash": run.outcome.trace_hash,
    }


def document_of(answer: Answer[ProofStep]) -> bytes:
    """The answer in one line of JSON."""
    document = {
        "schema": schema_of(answer.command),
        "clusters": answer.clusters,
        **answer.objects,
        answer.rows_name: answer.rows,
        "summary": answer.summary,
        "warnings": answer.warnings,
    }
    return encoded(document) + b"\n"
