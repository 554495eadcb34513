"""Partitions in one line: ``orders 0,3-7; clicks 1; and 7 more topics``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MOST_SHOWN = 4
"""How many topics a line names before it says how many more there are."""


def places(partitions: Iterable[tuple[object, object]], most: int = MOST_SHOWN) -> str:
    """Topics with their partitions, in the order in which they come.

    Args:
        partitions: Topic and partition, those of one topic in order; without a topic it is no place.
        most: How many topics are named.
    """
    numbers: dict[object, list[int]] = {}
    for topic, number in partitions:
        if topic is not None and isinstance(number, int):
            numbers.setdefault(topic, []).append(number)
    topics = [f"{topic} {_ranges(some)}" for topic, some in numbers.items()]
    rest = len(topics) - most
    more = [f"and {rest} more topic{'s' * (rest > 1)}"] if rest > 0 else []
    return "; ".join([*topics[:most], *more])


def _ranges(numbers: Sequence[int]) -> str:
    """``0,3-7``; two neighbours stay apart."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
