"""Answers again and again: --watch."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from commands.output import OutputFormat, print_error
from commands.terminal import one_line
from kreplica.errors import KreplicaError, UsageError

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def watch(answer_once: Callable[[], bool], seconds: float, output: OutputFormat | None) -> None:
    """Answers until interrupted or until nobody reads any more.

    A cluster that does not answer for a while is what one watches for, so errors do not end it, except in the first
    round the user's own: an option or a file that cannot be used; and credentials that are refused.

    Args:
        answer_once: Prints the answer; returns whether anybody still reads.
        seconds: From the begin of one round to that of the next.
        output: The form; a table on a terminal is painted in place, everything else is added round by round.
    """
    painter = _Painter(seconds) if sys.stdout.isatty() and output in (None, OutputFormat.table) else None
    first = True
    while True:
        began = time.monotonic()
        try:
            if not (painter.answer(answer_once) if painter else answer_once()):
                return
        except KreplicaError as error:
            if (first and isinstance(error, UsageError)) or not error.may_pass:
                raise
            if painter:
                painter.fail(error)
            else:
                print_error(error, output)
        first = False
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))


class _Page(io.StringIO):
    """What will be painted; it passes for the terminal that it ends on."""

    def isatty(self) -> bool:
        return True


class _Painter:
    """Paints whole pages at once: no flicker, and no half page when interrupted."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = ""
        sys.stdout.write(
            "\n" * shutil.get_terminal_size().lines
        )  # what stands on the screen scrolls up, it is not lost

    def answer(self, answer_once: Callable[[], bool]) -> bool:
        """Paints the answer, warnings included."""
        page = _Page()
        with contextlib.redirect_stdout(page), contextlib.redirect_stderr(page):
            answer_once()
        self._last = page.getvalue()
        self._paint(self._last)
        return True

    def fail(self, error: KreplicaError) -> None:
        """Paints the error above the answer there was before."""
        before = f"before that:\n{self._last}" if self._last else ""
        self._paint(f"error: {one_line(str(error))}\n{before}")

    def _paint(self, text: str) -> None:
        head = f"{datetime.now(UTC):%H:%M:%S} UTC, every {self._seconds:g} s; Ctrl-C ends"
        width, height = shutil.get_terminal_size()
        lines = _fitting([head, *text.splitlines()], width, height)
        sys.stdout.write(_HOME + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
        sys.stdout.flush()


def _fitting(lines: list[str], width: int, height: int) -> list[str]:
    """The lines that fit on the screen above the cursor's; the last says how many do not."""
    left = height - 1
    for number, line in enumerate(lines):
        left -= max(1, -(-len(_ESCAPES.sub("", line)) // width))
        if left < 0 or (left == 0 and number + 1 < len(lines)):
            more = len(lines) - number
            return [*lines[:number], f"and {more} more lines: make the window taller, or ask for less by --topic"]
    return lines
