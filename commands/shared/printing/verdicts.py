"""The words of verdicts and the exit code that each stands for: one table for all commands.

The exit code of a command follows the first word of its verdict. With --exit-zero, findings end with 0 instead of 1,
and 2, 3 and 5 stay as they are. Two kinds of words are judged otherwise: severities by --fail-on, and outcomes of
scenarios by the outcome that the scenario expects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from kreplica.health.rules import Severity

_FINE = (
    *(
        "ALONE",
        "BALANCED",
        "CLEAN",
        "DIFF",
        "DIFFERS",
        "DONE",
        "DRY RUN",
        "FINISHED",
        "GOOD",
        "HEALTHY",
        "HOLDS",
        "INFO",
        "MET",
        "NEXT",
    ),
    *("MUTED", "NO HARM", "NOTHING NEW", "OK", "OPEN", "PLANNED", "REACHED", "SAFE", "SAME", "SKEWED", "STRAYS"),
)
_FINDINGS = (
    *("AT RISK", "CRITICAL", "DAMAGED", "DIFFERENT", "DIVERGED", "FAILS", "FILLING", "HANGING", "HARM", "IMBALANCED"),
    *(
        "LIMIT",
        "MISSED",
        "NEARLY FULL",
        "NOT YET",
        "OFFLINE",
        "OUT OF RANGE",
        "OVERDUE",
        "PARTIAL",
        "UNCLEAN",
        "UNHEALTHY",
    ),
    *("UNSAFE", "WAIT", "WARNING", "WRONG"),
)

EXIT_CODES: Mapping[str, ExitCode] = {
    **dict.fromkeys(_FINE, ExitCode.OK),
    **dict.fromkeys(_FINDINGS, ExitCode.FINDINGS),
    "UNUSABLE": ExitCode.USAGE,
    "UNREACHABLE": ExitCode.UNREACHABLE,
    **dict.fromkeys(("FAILED", "REFUSED"), ExitCode.CHANGE_REFUSED),
    "EMPTY": ExitCode.INCOMPLETE,
    "INCOMPLETE": ExitCode.INCOMPLETE,
}

BY_EXPECTATION = frozenset({"LOST", "DIVERGED", "BROKEN", "ODD", "SAFE"})
"""Words of ``whatif run``, whose exit code says whether the scenario came out as expected."""

COLORS: Mapping[ExitCode, str] = {
    ExitCode.OK: "green",
    ExitCode.FINDINGS: "red",
    ExitCode.CHANGE_REFUSED: "red",
    ExitCode.INCOMPLETE: "yellow",
}
"""Colours of the words of a verdict that follows its exit code alone."""

_SEVERITY_COLORS = ("green", "yellow", "red")

_WORST_FIRST = (ExitCode.FINDINGS, ExitCode.UNREACHABLE, ExitCode.USAGE, ExitCode.INCOMPLETE)


def severity_color(severity: Severity) -> str:
    """Colour of a severity, as the word of a verdict or beside what was found."""
    return _SEVERITY_COLORS[severity.rank - 1]


def code_of(*words: str) -> ExitCode:
    """The exit code of a command that says these words, one for each cluster: the worst of theirs.

    Args:
        words: First words of the verdicts.
    """
    codes = {EXIT_CODES[word] for word in words}
    return next((code for code in _WORST_FIRST if code in codes), ExitCode.OK)
