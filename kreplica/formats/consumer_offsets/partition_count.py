"""Checks that the contents of an internal topic's partitions agree with its stated number of partitions.

The files of a log directory do not record a topic's number of partitions, but a name is always in the partition that
its hash leads to. With a wrong number a group that is missing would be taken for one that never was.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import nsmallest
from typing import Final

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition

MOST_PARTITIONS: Final = 10_000
MOST_NAMES: Final = 1_000
_HASHES: Final = 1 << 31


def doubt_of_count(homes: Collection[tuple[str, int]], found: Collection[int], partitions: int, topic: str) -> str:
    """Explains why the topic cannot have that many partitions; empty where nothing contradicts it.

    Args:
        homes: Groups or transactional ids, each with the partition that it is in.
        found: The partitions that were found.
        partitions: Stated number of partitions of the topic.
        topic: Its name.
    """
    highest = max(found, default=-1)
    some = nsmallest(MOST_NAMES, homes)
    wrong = next(((name, at) for name, at in some if coordinator_partition(name, partitions) != at), None)
    if highest >= partitions:
        why = f"partition {highest} of {topic} is there, so that it has more than {partitions}"
    elif wrong is not None:
        name, at = wrong
        home = coordinator_partition(name, partitions)
        why = f"{name} stands in partition {at} of {topic}; of {partitions} it would be partition {home}"
    else:
        return ""
    number = _fitting(some, highest)
    return f"{why}: give the number by --partitions" + (f"; {number} would fit" if number is not None else "")


def _fitting(homes: Collection[tuple[str, int]], highest: int) -> int | None:
    """The smallest number of partitions that all names agree with; None if there is none, or nothing to go by."""
    hashes = [(coordinator_partition(name, _HASHES), at) for name, at in homes]
    numbers = range(highest + 1, MOST_PARTITIONS + 1) if hashes else ()
    return next((number for number in numbers if all(each % number == at for each, at in hashes)), None)
