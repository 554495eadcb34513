"""Delta debugging: what a failure needs of many things.

Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (2002).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Item = TypeVar("Item")


def fewest(items: tuple[Item, ...], fails: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """Those without which it does not fail: parts are left out, ever smaller ones, in the end one by one.

    Args:
        items: With all of them it fails.
        fails: Whether it does with some of them, in their order.
    """
    parts = 2
    while items:
        size = -(-len(items) // parts)
        candidates = (items[:begin] + items[begin + size :] for begin in range(0, len(items), size))
        smaller = next((candidate for candidate in candidates if fails(candidate)), None)
        if smaller is not None:
            items, parts = smaller, max(parts - 1, 2)
        elif size <= 1:
            break
        else:
            parts = min(parts * 2, len(items))
    return items
