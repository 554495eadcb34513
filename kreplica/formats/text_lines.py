"""Lines of the small text files that brokers keep beside their logs, each with its byte position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MOST_SHOWN = 40
"""How many characters of a wrong line are shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end.

    Args:
        position: Byte at which it begins.
        size: Its bytes, line end included.
        text: Its text; bytes that are no UTF-8 are replaced, and fit no form.
    """

    position: int
    size: int
    text: str

    @property
    def shown(self) -> str:
        """The text as a message shows it."""
        return repr(self.text if len(self.text) <= MOST_SHOWN else self.text[:MOST_SHOWN] + "…")


def lines_of(content: bytes) -> Iterator[Line]:
    """Lines in order; the empty one after the last line end is none."""
    position = 0
    for raw in content.split(b"\n"):
        size = min(len(raw) + 1, len(content) - position)
        if size:
            yield Line(position, size, raw.removesuffix(b"\r").decode("utf-8", errors="replace"))
        position += size
