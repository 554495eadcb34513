"""Batches of elections that no single broker has to bear.

A thousand elections at once onto one broker make it open a thousand logs as leader while its followers wait. The order
made here is proportional: wherever it is cut, each broker has about its share of the part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def spread(items: Sequence[Item], broker_of: Callable[[Item], int]) -> tuple[Item, ...]:
    """The items in an order in which those of each broker stand evenly between the others.

    Of a broker with ``k`` of ``n`` items any run of ``m`` of them holds ``k * m / n``, give or take the number of
    brokers; the items of one broker keep their order, and the same items always give the same order.

    Args:
        items: What is to be done.
        broker_of: The broker that an item burdens.
    """
    groups: dict[int, list[Item]] = defaultdict(list)
    for item in items:
        groups[broker_of(item)].append(item)
    placed = [
        ((2 * position + 1) / (2 * len(group)), broker, position)
        for broker, group in groups.items()
        for position in range(len(group))
    ]
    return tuple(groups[broker][position] for _, broker, position in sorted(placed))


def batches(items: Sequence[Item], size: int) -> tuple[tuple[Item, ...], ...]:
    """The items cut into runs of at most ``size``."""
    assert size > 0, "a batch holds at least one item"
    return tuple(tuple(items[begin : begin + size]) for begin in range(0, len(items), size))
