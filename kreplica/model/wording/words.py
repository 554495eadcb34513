"""Words of sentences for users: numbers with their nouns, and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def counted(number: int, noun: str, nouns: str = "") -> str:
    """``1 entry``, ``2 entries``; ``nouns`` only where it is not the noun with an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"


def counted_in_thousands(number: int, noun: str) -> str:
    """``1 state``, ``20,308 states``."""
    return f"{number:,} {noun}" + "s" * (number != 1)


def all_counted(number: int, noun: str) -> str:
    """``all 2 partitions``, ``the only partition``."""
    return f"the only {noun}" if number == 1 else f"all {number} {noun}s"


def are(number: int) -> str:
    """``is`` of one, ``are`` of several or of none."""
    return "is" if number == 1 else "are"


def listed(items: Sequence[object], most: int | None = None) -> str:
    """``1, 2, 3``; with ``most`` only so many, and the number of the others: ``1, 2 and 34 more``."""
    left_out = 0 if most is None else len(items) - most
    return ", ".join(map(str, items[:most])) + (f" and {left_out} more" if left_out > 0 else "")


def named(noun: str, items: Sequence[object], most: int | None = None) -> str:
    """``broker 1``, ``brokers 1, 2``; ``most`` as in ``listed``."""
    return f"{noun}{'s' * (len(items) > 1)} {listed(items, most)}"


def ids(values: Iterable[object]) -> str:
    """``1,2,3``, or ``none``."""
    return ",".join(map(str, values)) or "none"


_RATE_UNITS = ((10**9, "GB/s"), (10**6, "MB/s"), (10**3, "KB/s"))


def rate_words(rate: float) -> str:
    """``50 MB/s``, ``1.5 MB/s``, ``800 B/s``: by thousands, as a rate is typed."""
    size, unit = next(((size, unit) for size, unit in _RATE_UNITS if rate >= size), (1, "B/s"))
    return f"{rate / size:.1f}".removesuffix(".0") + f" {unit}"
