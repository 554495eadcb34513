"""Verdict of a run, the words above its picture, and the causes of a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from commands.shared.options.engine_settings import setting_texts
from commands.whatif.records import some
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from kreplica.engine.checkers.causal_slice import CausalSlice
    from kreplica.report.heading import Heading
    from kreplica.scenarios.playing import Run


MOST_NAMED = 12
"""Records that a message about an unknown one names."""


_ODD = {
    "duplicated": "duplicated",
    "reordered": "reordered",
    "unseen": "unreadable",
    "aborted_read": "read although aborted",
    "stale_read": "read from a stale replica",
    "lost_read": "read and gone",
    "skipped": "passed over by a reader",
    "own_unread": "not read by who wrote it",
    "torn": "readable in part:",
    "broken": "not as its producer was told:",
    "hanging": "with a transaction that nobody ended:",
    "passed_over": "committed and never processed:",
    "owned_twice": "assigned to two members of a group at once:",
}
_ALSO = {
    "read_twice": "read twice",
    "non_monotonic": "read again, further back",
    "processed_twice": "processed twice",
    "committed_early": "committed before it was processed:",
}
"""Words for outcomes besides losses: records read or processed twice, which many applications tolerate."""
_LOOKS = {"red": "bad", "yellow": "odd", "green": "good"}
"""Looks of a verdict in a picture, by its colour on a terminal."""


def title_of(run: Run) -> str:
    """A run in one line: scenario, version, settings and seed."""
    settings = "".join(f", {name}={value}" for name, value in setting_texts(run.settings).items())
    return f"{run.scenario.name}, Kafka {run.version.name}{settings}, seed {run.seed}"


def verdict(run: Run) -> tuple[str, str, str]:
    """Word, colour and sentence for the outcome."""
    from kreplica.engine.checkers.groups.owners import owned_twice
    from kreplica.engine.checkers.groups.processing import processing_outcomes
    from kreplica.engine.checkers.transactions import transaction_outcomes

    outcome, histories = run.outcome, run.outcome.histories
    told = f"{counted(histories.acknowledged, 'record')} acknowledged of {histories.sent} sent"
    if histories.lost:
        return "LOST", "red", f"{some(histories.lost)} although acknowledged; {told}"
    if outcome.diverged:
        return "DIVERGED", "red", f"the logs of {', '.join(outcome.diverged)} differ below the high watermark; {told}"
    if outcome.findings:
        return "BROKEN", "red", f"{counted(len(outcome.findings), 'invariant')} broken; {told}"
    seen = asdict(transaction_outcomes(run.events)) | asdict(processing_outcomes(run.events))
    found = asdict(histories) | seen | {"owned_twice": owned_twice(run.events)}
    odd = _outcome_texts(found, _ODD)
    also = "".join(f"; {words}" for words in _outcome_texts(found, _ALSO))
    if odd:
        return "ODD", "yellow", f"{'; '.join(odd)}{also}; {told}"
    return "SAFE", "green", f"nothing lost, doubled or out of order{also}; {told}"


def heading_of(run: Run) -> Heading:
    """The words above the picture of a run."""
    from kreplica.report.heading import Heading

    word, color, sentence = verdict(run)
    return Heading(title_of(run), f"{word}: {sentence}", _LOOKS[color], run.why)


def _outcome_texts(found: Mapping[str, Sequence[str]], words: Mapping[str, str]) -> list[str]:
    return [f"{told} {some(found[name])}" for name, told in words.items() if found[name]]


def why_of(run: Run, value: str) -> CausalSlice:
    """The events that brought a record to where it is.

    Raises:
        UsageError: Nobody sent it.
    """
    from kreplica.engine.checkers.causal_slice import causal_slice, sent_values
    from kreplica.errors import UsageError

    known = list(sent_values(run.events))
    if value not in known:
        ask = f"one of {', '.join(known[:MOST_NAMED])}" + ("…" if len(known) > MOST_NAMED else "")
        raise UsageError(f"no client sends a record {value!r}", "", ask if known else "")
    return causal_slice(run.events, value)
