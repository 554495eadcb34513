"""Durations in readable form."""

from __future__ import annotations


def spell_duration(seconds: float) -> str:
    """``8 s``, ``1 min 5 s``, ``2 h 10 min``, ``3 d 4 h``: the two largest units that say something."""
    if seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    left, parts = round(seconds), []
    for word, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {word}")
        elif parts:
            break
    return " ".join(parts[:2]) or "0 s"
