"""The one place where text meets a terminal: nothing in data moves its cursor, colours it or is taken for markup.

Names of topics, groups, clusters, racks and files, and messages of brokers and tools may hold anything: control codes
(C0 and C1), characters that turn the direction of writing, markup of the library that lays out the screen. Each is
escaped here (``\\x1b``), in answers for people everywhere, in those for programs where they are shown on a terminal;
in a file or a pipe these stay as they are. A line is printed by ``print_out`` or ``print_err``, all else by a console.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

LONGEST_LINE = 4000
_LINE_ENDS = re.compile(r"(\n+)")


def printable(text: str) -> str:
    """The text with escapes for characters that would move a terminal's cursor, which any name may hold."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escape(ord(letter)) for letter in text)


def one_line(text: str) -> str:
    """The text without line breaks, which messages of other programs may have."""
    return printable(" ".join(text.splitlines()))


def printable_lines(text: str) -> str:
    """As ``printable``, line by line: for text whose line breaks are ours."""
    return "".join(part if part.startswith("\n") else printable(part) for part in _LINE_ENDS.split(text))


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def print_out(text: str) -> None:
    """Prints one line to stdout."""
    print(printable(text))


def print_err(text: str) -> None:
    """Prints one line to stderr, as long as a screen takes: a value that it repeats may have megabytes."""
    line = one_line(text)
    more = len(line) - LONGEST_LINE
    print(line if more <= 0 else f"{line[:LONGEST_LINE]}… ({more} characters more)", file=sys.stderr)


def pass_on(text: str, stream: TextIO) -> None:
    """Writes what another program printed; on a terminal escaped, tabs excepted."""
    stream.write(printable_lines(text.expandtabs()) if stream.isatty() else text)


def as_shown(content: bytes | memoryview) -> bytes | memoryview:
    """An answer for programs as stdout gets it: on a terminal with escapes, which mean the same in JSON."""
    if not sys.stdout.isatty():
        return content
    return _json_escaped(bytes(content).decode("utf-8", "backslashreplace")).encode()


def _json_escaped(text: str) -> str:
    def escaped(letter: str) -> str:
        return "".join(f"\\u{unit:04x}" for unit in memoryview(letter.encode("utf-16-le")).cast("H"))

    return "".join(letter if letter.isprintable() or letter == "\n" else escaped(letter) for letter in text)


class _ShownLines:
    """stdout for the csv module on a terminal: escapes what it writes."""

    def write(self, text: str) -> int:
        sys.stdout.write(_json_escaped(text))
        return len(text)


def csv_stream() -> Any:
    """The stream for the csv module."""
    return _ShownLines() if sys.stdout.isatty() else sys.stdout


def stdout_console() -> Console:
    """A console on stdout: colour on a terminal unless NO_COLOR; nothing in a text is taken for markup or emoji."""
    wide = None if sys.stdout.isatty() else 4096
    return _console_class()(file=sys.stdout, width=wide, highlight=False, soft_wrap=True, markup=False, emoji=False)


def stderr_console() -> Console:
    """A console on stderr, for progress."""
    return _console_class()(stderr=True, highlight=False, markup=False, emoji=False)


@cache
def _console_class() -> type[Console]:
    """The class of consoles, made on demand: to import Rich would slow down every start of the program."""
    from rich.console import Console
    from rich.segment import Segment

    class PrintableConsole(Console):
        """A console that escapes what it prints; in strings also line breaks, except those at the end.

        Attributes:
            lines_shown: Texts that stand on lines of their own.
        """

        def __init__(self, **how: Any) -> None:
            super().__init__(**how)
            self.lines_shown: set[str] = set()

        def print(self, *objects: Any, **how: Any) -> None:
            super().print(*(_without_breaks(each) if isinstance(each, str) else each for each in objects), **how)

        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                shown = segment.text if segment.control else printable_lines(segment.text)
                yield segment if shown == segment.text else Segment(shown, segment.style)

    return PrintableConsole


def lines_shown(console: Console) -> set[str]:
    """Texts that were printed to this console on lines of their own; a set to add to."""
    found: set[str] = getattr(console, "lines_shown", set())
    return found


def _without_breaks(text: str) -> str:
    inside = text.strip("\n")
    begin = text.find(inside)
    return text[:begin] + printable(inside) + text[begin + len(inside) :]
