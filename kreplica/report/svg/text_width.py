"""Estimated width of text in a picture; generous, as nothing measures it while the picture is written."""

from __future__ import annotations

WIDE = 0.62
"""Width of a letter of a sans-serif font against its size; of English words in bold, 0.6."""


def text_width(text: str, size: int = 12) -> int:
    """Pixels that a line of text takes at most.

    Args:
        text: One line.
        size: Of the font, in pixels.
    """
    return int(len(text) * size * WIDE) + 1
