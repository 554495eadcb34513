"""The part of a run that is shown: which partition, which time, in which form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commands.shared.values import parse_duration
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from commands.whatif.run.story import Story

MICROSECONDS_A_SECOND = 1_000_000
_MILLISECONDS = re.compile(r"\d{1,9}(?:\.\d{1,3})?ms", re.ASCII)


@dataclass(frozen=True, slots=True)
class View:
    """The part of one run to show.

    Args:
        story: The scenario that was played.
        partition: Partition whose step table and logs are shown; the first one if None.
        explain: Sentences instead of the diagram.
        why: The record to explain.
        first: Start of the time span, in microseconds of virtual time.
        last: End of the time span, in microseconds; None for the end of the run.
        svg: File for the picture.
        plan: The file its plan is from.
        timeline: Whether every event is a row of the answer.
    """

    story: Story
    partition: str | None = None
    explain: bool = False
    why: str | None = None
    first: int = 0
    last: int | None = None
    svg: Path | None = None
    plan: Path | None = None
    timeline: bool = True

    def shows(self, time: int) -> bool:
        """True if events at this time are shown."""
        return self.first <= time and (self.last is None or time <= self.last)


def window(after: str | None, before: str | None) -> tuple[int, int | None]:
    """The first and the last microsecond of ``--after`` and ``--before``.

    Raises:
        UsageError: One is no time, or nothing lies between them.
    """
    first = 0 if after is None else _moment(after, "--after")
    last = None if before is None else _moment(before, "--before")
    if last is not None and last < first:
        raise UsageError(f"--before {before} is earlier than --after {after}", "nothing lies between them")
    return first, last


def _moment(text: str, option: str) -> int:
    """Microseconds of a time; also takes milliseconds as runs print them."""
    if _MILLISECONDS.fullmatch(text.strip()):
        return round(float(text.strip().removesuffix("ms")) * 1000)
    return round(parse_duration(text, option) * MICROSECONDS_A_SECOND)
