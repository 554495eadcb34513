"""Weights of partitions as a user writes them: a line for each with topic, partition and weight, separated by commas.

# bytes in a second
topic,partition,weight
orders,0,30000
orders,1,7
"""

from __future__ import annotations

from kreplica.errors import InputError

MOST_WEIGHT = 2**50
"""Largest weight: sums over all replicas of a cluster stay within 64 bits."""

HEADER = ["topic", "partition", "weight"]


def parse_weights(text: str, source: str) -> dict[tuple[str, int], int]:
    """Weights by topic and partition; a line that names columns, empty lines and those that begin with # are left out.

    Args:
        text: The file's text.
        source: Its name, for errors.

    Raises:
        InputError: A line does not have that form, or names a partition for the second time.
    """
    found: dict[tuple[str, int], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.split(",")]
        if not line.strip() or line.lstrip().startswith("#") or (not found and cells == HEADER):
            continue
        topic, partition, weight = _cells(cells, source, number)
        if (topic, partition) in found:
            raise InputError(source, f"line {number}", f"partition {topic}-{partition} has a weight already")
        found[topic, partition] = weight
    return found


def _cells(cells: list[str], source: str, number: int) -> tuple[str, int, int]:
    if len(cells) != len(HEADER) or not all(cells):
        raise InputError(source, f"line {number}", "a line is topic,partition,weight")
    return cells[0], _number(cells[1], source, number, 2**31 - 1), _number(cells[2], source, number, MOST_WEIGHT)


def _number(cell: str, source: str, number: int, most: int) -> int:
    digits = cell.isascii() and cell.isdigit() and len(cell) <= len(str(most))
    if not digits or int(cell) > most:
        raise InputError(source, f"line {number}", f"{cell[:40]} is no whole number from 0 to {most}")
    return int(cell)
