"""The option that names an earlier answer: what that has is not told again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from commands.shared.locations import path_of_this_machine
from kreplica.errors import UsageError

BaselineOption = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        callback=path_of_this_machine,
        help="Only what this earlier answer of the command, written by -o json or -o jsonl, does not have.",
    ),
]


def refuse_beside_baseline(baseline: Path | None, others: Mapping[str, bool]) -> None:
    """Raises UsageError if a baseline is given beside an option that is on and gives no findings to compare.

    Args:
        baseline: The file.
        others: Options, and whether each is on.
    """
    for option, is_on in others.items():
        if baseline is not None and is_on:
            reason = "findings are compared by their spans, and only what is new is told"
            raise UsageError(f"--baseline does not go with {option}", reason, f"leave out {option}")
