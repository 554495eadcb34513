"""First words of verdicts on plans and elections, by the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.shared.printing.verdicts import COLORS, EXIT_CODES
from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

_LOOKED_AT = {
    ExitCode.OK: "DRY RUN",
    ExitCode.FINDINGS: "NOT YET",
    ExitCode.CHANGE_REFUSED: "REFUSED",
    ExitCode.INCOMPLETE: "INCOMPLETE",
}
_CARRIED_OUT = {**_LOOKED_AT, ExitCode.OK: "DONE", ExitCode.CHANGE_REFUSED: "FAILED"}


def plan_word(code: ExitCode, *, executed: bool, left: bool = True) -> str:
    """First word of the verdict on a plan, or on elections.

    Args:
        code: The exit code, which the word says.
        executed: Whether anything was done.
        left: Whether anything can still be done.
    """
    word = (_CARRIED_OUT if executed else _LOOKED_AT)[code]
    return word if left or word != "DRY RUN" else "FINISHED"


def print_plan_verdict(console: Console, word: str, sentence: str) -> None:
    """Prints the verdict: its first word in the colour of its exit code, and the sentence."""
    from commands.shared.printing.screen import print_verdict

    print_verdict(console, word, COLORS[EXIT_CODES[word]], sentence)
