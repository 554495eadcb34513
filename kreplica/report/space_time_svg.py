"""The space-time diagram and the log strips below it as one SVG page, without scripts and without fonts of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kreplica.engine.log_strips import Strip
from kreplica.engine.moments import FAULTS, Moment, brief_moment, lanes
from kreplica.engine.settings import MICROSECONDS

LANE, ROW, LEFT, TOP, TEXT = 150, 26, 90, 70, 460
"""Pixels: between lanes, between rows, left of the first lane, above the first row, for the words on the right."""

COLORS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
"""Leader epochs in turn."""

CELL, STRIP = 64, 34
"""Pixels: of a record, from strip to strip."""

MOST_CELLS = 16
"""A strip with more records than these shows runs of an epoch instead of records."""

_STYLE = (
    "text{font:12px sans-serif;fill:#222}.head{font-weight:bold;text-anchor:middle}.time{text-anchor:end;fill:#666}"
    ".lane{stroke:#bbb}.arrow{stroke:#555;marker-end:url(#tip)}.dot{fill:#222}.fault{fill:#c33;font-weight:bold}"
    ".label{text-anchor:middle;fill:#555;font-size:10px}.cell{text-anchor:middle;fill:#fff;font-size:11px}"
    ".hw{stroke:#000;stroke-width:3}"
)
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>'
)


def space_time_svg(title: str, told: Sequence[Moment], strips: Sequence[Strip]) -> str:
    """An SVG document.

    Args:
        title: Above the diagram.
        told: Moments in order, a row each; arrows begin at the row of the moment in which they were sent.
        strips: The logs, below.
    """
    names = lanes(told)
    places = {name: LEFT + number * LANE + LANE // 2 for number, name in enumerate(names)}
    bottom = TOP + len(told) * ROW + 10
    width = max(LEFT + len(names) * LANE + TEXT, LEFT + 140 + MOST_CELLS * CELL)
    height = bottom + (len(strips) + 2) * STRIP
    body = [*_lanes(places, bottom), *_rows(told, places, LEFT + len(names) * LANE), *_strips(strips, bottom + STRIP)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style>{_TIP}",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text x="20" y="24" style="font-size:16px;font-weight:bold">{escape(title)}</text>',
            *body,
            "</svg>\n",
        )
    )


def _lanes(places: dict[str, int], bottom: int) -> list[str]:
    drawn = []
    for name, x in places.items():
        drawn.append(f'<text class="head" x="{x}" y="{TOP - 20}">{escape(name)}</text>')
        drawn.append(f'<line class="lane" x1="{x}" y1="{TOP - 12}" x2="{x}" y2="{bottom}"/>')
    return drawn


def _rows(told: Sequence[Moment], places: dict[str, int], right: int) -> list[str]:
    drawn: list[str] = []
    for number, moment in enumerate(told):
        y = TOP + number * ROW
        drawn.append(f'<text class="time" x="{LEFT - 10}" y="{y + 4}">{moment.time / MICROSECONDS:.3f} ms</text>')
        if moment.node in places:
            drawn.extend(_arrow(moment, places, y, told, number))
            drawn.append(f'<circle class="dot" cx="{places[moment.node]}" cy="{y}" r="4"/>')
        style = ' class="fault"' if moment.node == FAULTS else ""
        who = "" if moment.node == FAULTS else f"{moment.node}: "
        drawn.append(f'<text{style} x="{right}" y="{y + 4}">{escape(who + brief_moment(moment))}</text>')
    return drawn


def _arrow(moment: Moment, places: dict[str, int], y: int, told: Sequence[Moment], number: int) -> list[str]:
    message = moment.message
    if message is None or message.values[0] == moment.node:
        return []
    source, sent, name = message.values[:3]
    row = number
    while row > 0 and told[row - 1].time >= sent and number - row < 3:
        row -= 1
    begin = TOP + row * ROW if row < number else y - ROW // 2
    middle = (places[source] + places[moment.node]) // 2
    return [
        f'<line class="arrow" x1="{places[source]}" y1="{begin}" x2="{places[moment.node]}" y2="{y}"/>',
        f'<text class="label" x="{middle}" y="{(begin + y) // 2 - 4}">{escape(str(name))}</text>',
    ]


def _strips(strips: Sequence[Strip], top: int) -> list[str]:
    drawn: list[str] = []
    for number, strip in enumerate(strips):
        y = top + number * STRIP
        told = f"{strip.node} {strip.partition}" + (" (leader)" if strip.leads else "" if strip.running else " (down)")
        drawn.append(f'<text x="20" y="{y + 16}">{escape(told)}</text>')
        drawn.extend(_cells(strip, 230, y))
    return drawn


def _cells(strip: Strip, left: int, y: int) -> list[str]:
    drawn: list[str] = []
    total = sum(piece.end - piece.start for piece in strip.pieces)
    x = left
    marked = strip.high_watermark == 0
    if marked:
        drawn.append(_mark(x, y, 0))
    for piece in strip.pieces:
        one_by_one = total <= MOST_CELLS
        texts = piece.values if one_by_one else (f"{piece.start}–{piece.end - 1}",)
        color = COLORS[piece.epoch % len(COLORS)]
        for place, text in enumerate(texts):
            drawn.append(f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="24" fill="{color}"/>')
            drawn.append(f'<text class="cell" x="{x + CELL // 2 - 1}" y="{y + 16}">{escape(text[:9])}</text>')
            x += CELL
            offset = piece.start + place + 1 if one_by_one else piece.end
            if not marked and offset >= strip.high_watermark:
                marked = True
                drawn.append(_mark(x, y, strip.high_watermark))
    return drawn


def _mark(x: int, y: int, high_watermark: int) -> str:
    return (
        f'<line class="hw" x1="{x - 1}" y1="{y - 3}" x2="{x - 1}" y2="{y + 27}"><title>high watermark '
        f"{high_watermark}</title></line>"
    )
