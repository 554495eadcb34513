"""One line of progress on a terminal while a command waits; nothing where stderr is not a terminal.

Also repeats answers for --watch.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

from commands.shared.printing.output import OutputFormat, print_error
from commands.shared.printing.terminal import one_line
from kreplica.errors import KreplicaError, UsageError
from kreplica.model.wording.words import counted

_BEGIN, _CLEAR = "\r", "\x1b[K"


class Progress:
    """Repaints one line of stderr; used as a context manager it leaves none behind."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write(_BEGIN + _CLEAR)
            sys.stderr.flush()

    def say(self, text: str) -> None:
        """Replaces the line; what is wider than the terminal is cut."""
        if self._shown:
            sys.stderr.write(_BEGIN + one_line(text)[: shutil.get_terminal_size().columns - 1] + _CLEAR)
            sys.stderr.flush()


class Estimate:
    """Tells how much of something is done, and from the second moment on how long the rest will take.

    Args:
        progress: The line.
        words: What is done: ``snapshots folded``.
    """

    def __init__(self, progress: Progress, words: str) -> None:
        self._progress, self._words, self._began = progress, words, time.monotonic()

    def done(self, count: int, every: int) -> None:
        """Says so many of so many."""
        seconds = time.monotonic() - self._began
        left = f", about {seconds * (every - count) / count:.0f} s left" if 0 < count < every and seconds > 1 else ""
        self._progress.say(f"{count} of {every} {self._words}{left}")


PATIENCE_SECONDS = 1.0
"""Seconds that an answer may take before the shown page is called stale; also between two updates of that note."""
FIRST_SECONDS = 0.2
"""The same where there is no page yet."""
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def watch(answer_once: Callable[[], bool], seconds: float, output: OutputFormat | None) -> None:
    """Answers until interrupted or until nobody reads any more.

    Errors do not end it, since a cluster that stops answering is worth watching. Exceptions are refused credentials,
    and in the first round the user's own errors: an option or a file that cannot be used.

    Args:
        answer_once: Prints the answer; returns whether anybody still reads.
        seconds: From the start of one round to that of the next.
        output: The form; a table on a terminal is painted in place, any other is appended round by round.
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
    """Buffer of the next page; it claims to be the terminal on which it is painted."""

    def isatty(self) -> bool:
        return True


class _Painter:
    """Paints whole pages at once: no flicker, and no half page when interrupted.

    While it waits for an answer, the previous page is marked as stale, with its time and the brokers that are silent.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = ""
        self._last_at = ""
        self._terminal = sys.stdout
        self._terminal.write("\n" * shutil.get_terminal_size().lines)  # the screen's content scrolls up, it is not lost

    def answer(self, answer_once: Callable[[], bool]) -> bool:
        """Paints the answer, warnings included."""
        page = _Page()
        redirected = contextlib.redirect_stdout(page), contextlib.redirect_stderr(page)
        with self._telling_what_is_waited_for(), redirected[0], redirected[1]:
            answer_once()
        self._last, self._last_at = page.getvalue(), _time()
        self._paint(self._last)
        return True

    def fail(self, error: KreplicaError) -> None:
        """Paints the error above the answer there was before."""
        before = f"before that, at {self._last_at}:\n{self._last}" if self._last else ""
        self._paint(f"error: {one_line(str(error))}\n{before}")

    @contextlib.contextmanager
    def _telling_what_is_waited_for(self) -> Iterator[None]:
        from kreplica.system.pool import Pool

        over, began = threading.Event(), time.monotonic()
        with Pool({"telling": partial(self._tell, over, began)}):
            try:
                yield
            finally:
                over.set()

    def _tell(self, over: threading.Event, began: float) -> None:
        """Paints who has not answered, at once if the screen is still empty, and the age of the page below."""
        from kreplica.system.deadline import awaited

        while not over.wait(PATIENCE_SECONDS if self._last else FIRST_SECONDS):
            names = ", ".join(one_line(name) for name in awaited()) or "the cluster"
            waiting = f"no answer from {names} for {time.monotonic() - began:.0f} s"
            self._paint(f"STALE since {self._last_at}: {waiting}\n{self._last}" if self._last else f"{waiting}\n")

    def _paint(self, text: str) -> None:
        head = f"{_time()}, every {self._seconds:g} s; Ctrl-C ends"
        width, height = shutil.get_terminal_size()
        lines = _fitting([head, *text.splitlines()], width, height)
        self._terminal.write(_HOME + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
        self._terminal.flush()


def _time() -> str:
    return f"{datetime.now(UTC):%H:%M:%S} UTC"


def _fitting(lines: list[str], width: int, height: int) -> list[str]:
    """The lines that fit on the screen above the cursor's; the last says how many do not."""
    left = height - 1
    for number, line in enumerate(lines):
        left -= max(1, -(-len(_ESCAPES.sub("", line)) // width))
        if left < 0 or (left == 0 and number + 1 < len(lines)):
            more = len(lines) - number
            return [
                *lines[:number],
                f"and {counted(more, 'more line')}: make the window taller, or ask for less by --topic",
            ]
    return lines
