"""The space-time diagram in plain text: a lane for each node, time going down, an arrow for each message."""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.moments import FAULTS, Moment, brief_moment, lanes
from kreplica.engine.settings import MICROSECONDS

LANE = 18
"""Columns of one lane."""


def space_time(told: Sequence[Moment]) -> list[str]:
    """The diagram, a line a moment.

    An arrow runs from the lane of the sender to that of the node at which something happened. The column on the right
    says what.

    Args:
        told: Moments in order (``kreplica.engine.moments``).
    """
    names = lanes(told)
    places = {name: number for number, name in enumerate(names)}
    head = f"{'ms':>12}  " + "".join(f"{name[: LANE - 2]:<{LANE}}" for name in names)
    return [head.rstrip(), *(_line(moment, places) for moment in told)]


def _line(moment: Moment, places: dict[str, int]) -> str:
    row = list(("|" + " " * (LANE - 1)) * len(places))
    if moment.node in places:
        row[places[moment.node] * LANE] = "*"
    _draw_arrow(row, moment, places)
    who = "" if moment.node == FAULTS else f"{moment.node}: "
    return f"{moment.time / MICROSECONDS:>12.3f}  {''.join(row)}{who}{brief_moment(moment)}"


def _draw_arrow(row: list[str], moment: Moment, places: dict[str, int]) -> None:
    if moment.message is None or moment.message.values[0] == moment.node:
        return
    source, target = places[str(moment.message.values[0])] * LANE, places[moment.node] * LANE
    left, right = min(source, target), max(source, target)
    for column in range(left + 1, right):
        row[column] = "-"
    name = str(moment.message.values[2])
    room = right - left - 3
    label = f" {name} " if len(name) + 2 <= room else name[:room]
    begin = left + 1 + (right - left - 1 - len(label)) // 2
    row[begin : begin + len(label)] = label
    row[source] = "o"
    row[target + (1 if target < source else -1)] = "<" if target < source else ">"
