"""The space-time diagram in plain text: a lane for each node, time going down, an arrow for each message."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from textwrap import wrap

from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.trace import PLAN
from kreplica.report.moments import Moment, brief_moment, down_after, lanes, partitions_in

LANE, NARROWEST = 18, 8
"""Columns of a lane where there is room, and of the narrowest one that can be read."""

TIME = 14
"""Columns of the time, with the gap after it."""

WORDS, FEWEST_WORDS = 40, 24
"""Columns that narrower lanes leave for the text on the right, and the fewest it is wrapped at."""


@dataclass(frozen=True, slots=True)
class _Canvas:
    """Columns of the lanes.

    Args:
        places: Column of each node's lane.
        lane: Columns of a lane.
        name_partitions: Whether offsets need their partition beside them.
    """

    places: dict[str, int]
    lane: int
    name_partitions: bool


def space_time(moments: Sequence[Moment], width: int | None = None) -> list[str]:
    """The diagram, a line a moment.

    An arrow runs from the lane of the sender to that of the node at which something happened. The column on the right
    describes it. A process that is down has no lane.

    Args:
        moments: Moments in order (``kreplica.report.moments``).
        width: Columns available: lanes get narrower and text is wrapped; None for no limit.
    """
    names = lanes(moments)
    lane = LANE if width is None else max(NARROWEST, min(LANE, (width - TIME - WORDS) // max(len(names), 1)))
    places = {name: number * lane for number, name in enumerate(names)}
    canvas = _Canvas(places, lane, len(partitions_in(moments)) > 1)
    room = None if width is None else max(FEWEST_WORDS, width - TIME - lane * len(names))
    lines = [f"{'ms':>{TIME - 2}}  {''.join(f'{_short(name, lane - 2):<{lane}}' for name in names)}".rstrip()]
    down: Collection[str] = ()
    for moment, down_then in zip(moments, down_after(moments), strict=True):
        lines.extend(_lines(moment, canvas, down, down_then, room))
        down = down_then
    return lines


def _short(name: str, room: int) -> str:
    """Shortens a name; the number at its end distinguishes nodes, so it is kept."""
    tail = name[name.rfind("-") :] if "-" in name else ""
    return name if len(name) <= room else name[: max(room - len(tail), 1)] + tail


def _lines(
    moment: Moment, canvas: _Canvas, before: Collection[str], after: Collection[str], room: int | None
) -> list[str]:
    row = _row(canvas, set(before) & set(after))
    if moment.node in canvas.places:
        row[canvas.places[moment.node]] = "*"
    _draw_arrow(row, moment, canvas.places)
    who = "" if moment.node == PLAN else f"{moment.node}: "
    words = who + brief_moment(moment, canvas.name_partitions)
    first, *more = [words] if room is None else wrap(words, room) or [""]
    behind = " " * TIME + "".join(_row(canvas, after))
    return [f"{moment.time / MICROSECONDS:>{TIME - 2}.3f}  {''.join(row)}{first}", *(behind + line for line in more)]


def _row(canvas: _Canvas, down: Collection[str]) -> list[str]:
    row = [" "] * (canvas.lane * len(canvas.places))
    for name, place in canvas.places.items():
        row[place] = " " if name in down else "|"
    return row


def _draw_arrow(row: list[str], moment: Moment, places: dict[str, int]) -> None:
    if moment.message is None or moment.message.values[0] == moment.node:
        return
    source, target = places[str(moment.message.values[0])], places[moment.node]
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
