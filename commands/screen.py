"""The layout of a verdict: a word in colour and a sentence, then lines under short titles."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from commands.terminal import printable
from kreplica.model.durations import spell_duration

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from kreplica.model.snapshot import ClusterSnapshot

INDENT = 9
"""Columns that titles take."""


def counted(number: int, noun: str, nouns: str = "") -> str:
    """``1 entry``, ``2 entries``; ``nouns`` only where it is not the noun with an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"


def utc(moment: datetime) -> str:
    """A time to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def read_at(snapshot: ClusterSnapshot) -> str:
    """The way in and the time; of a dump its age, too."""
    return f"{snapshot.source} at {utc(snapshot.taken_at)}{aged(snapshot, ', ')}"


def aged(snapshot: ClusterSnapshot, before: str = "; the dump is ") -> str:
    """How old a dump is, after ``before``; empty for a cluster that was read itself."""
    from kreplica.model.snapshot import utc_now

    age = snapshot.age_seconds(utc_now())
    if age is None:
        return ""
    length = spell_duration(round(abs(age)))
    return f"{before}{length} old" if age >= 0 else f"{before}of {length} in the future"


def print_cluster(console: Console, snapshot: ClusterSnapshot, size: str = "") -> None:
    """Prints of which cluster something is said, and from when on it was so."""
    name = snapshot.name if snapshot.cluster_id in (None, snapshot.name) else f"{snapshot.name} ({snapshot.cluster_id})"
    print_lines(console, "cluster", [", ".join([name, *([size] if size else []), read_at(snapshot)])])


def print_verdict(console: Console, word: str, color: str, sentence: str) -> None:
    """Prints the word in bold colour and the sentence after it."""
    from rich.text import Text

    head, *rest = _wrapped(console, f"{word} {sentence}")
    console.print(Text.assemble((word, f"bold {color}"), head.removeprefix(word)))
    for line in rest:
        console.print(" " * INDENT + line)


def print_lines(console: Console, title: str, texts: Iterable[str], *, whole: bool = False) -> None:
    """Prints texts below one another, the title before the first; nothing if there are none.

    Args:
        console: Where to.
        title: At most eight characters.
        texts: One entry each; those too long for the terminal go on below, indented.
        whole: Never break a text, because it is there to be copied.
    """
    lead = title
    for text in texts:
        for line in [printable(text)] if whole else _wrapped(console, text):
            console.print(f"{lead:<{INDENT}}{line}".rstrip())
            lead = ""


def _wrapped(console: Console, text: str) -> list[str]:
    text = printable(text)
    if not console.is_terminal:
        return [text]
    kept = text[: len(text) - len(text.lstrip())]
    width = max(20, console.width - INDENT - len(kept))
    lines = textwrap.wrap(text.strip(), width, break_long_words=False, break_on_hyphens=False)
    return [kept + line for line in lines] or [text]
