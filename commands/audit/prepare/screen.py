"""audit prepare: its answer, and how it looks on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzers.preparing import ArchiveRow
from commands.shared.printing.output import Answer
from commands.shared.printing.screen import print_lines, print_verdict
from commands.shared.values import size_words

if TYPE_CHECKING:
    from rich.console import Console

_WORDS = {
    "made": "made the archive of Spark's classes, {size}",
    "there": "the archive of Spark's classes is there already, {size}",
    "removed": "removed the archive of Spark's classes, {size}",
    "absent": "there was no archive of Spark's classes",
}


def answer_to(found: ArchiveRow) -> Answer[ArchiveRow]:
    """The answer in the form of the contract."""
    return Answer(command="audit-prepare", rows_name="archives", columns=ArchiveRow, rows=[found], summary={})


def show(found: ArchiveRow, console: Console) -> None:
    """Prints what became of the archive, and how it is taken away."""
    print_verdict(console, "OK", "green", _WORDS[found.state].format(size=size_words(found.bytes)))
    print_lines(console, "file", [found.archive])
    print_lines(console, "java", [found.java])
    if found.state in ("made", "there"):
        print_lines(console, "remove", ["kreplica audit prepare --remove"])
