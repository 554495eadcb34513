"""One line on a terminal that says how it goes while a command waits; nothing where stderr is no terminal."""

from __future__ import annotations

import shutil
import sys

from commands.terminal import one_line

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
