"""Sizes as a person reads them; JSON has bytes."""

from __future__ import annotations

_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_words(count: int) -> str:
    """``512 bytes``, ``1.5 GiB``: one digit after the point."""
    value, step = float(count), 0
    while abs(value) >= 1024 and step < len(_SIZES) - 1:
        value, step = value / 1024, step + 1
    return f"{count} {_SIZES[0]}" if step == 0 else f"{value:.1f} {_SIZES[step]}"
