"""The space-time diagram and the log strips below it as one SVG page, without scripts and without fonts of its own.

It follows the reader's choice of light or dark.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from textwrap import wrap

from kreplica.engine.brief import brief_moment, partitions_in
from kreplica.engine.log_strips import Strip
from kreplica.engine.moments import Moment, down_after, lanes
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.trace import PLAN
from kreplica.report.strips_svg import STRIP, strips_svg, strips_width
from kreplica.report.text_width import text_width

LANE, ROW, LINE, TOP, GAP = 150, 26, 15, 70, 20
"""Pixels: between lanes, between rows, between lines of a row, above the first row, between columns."""

LETTERS = 90
"""Words on the right are wrapped at so many."""

_STYLE = (
    "text{font:12px sans-serif;fill:#222}.head{font-weight:bold;text-anchor:middle}.time{text-anchor:end;fill:#666}"
    ".title{font-size:16px;font-weight:bold}.page{fill:#fff}.tip{fill:#555}"
    ".lane{stroke:#bbb}.arrow{stroke:#555;marker-end:url(#tip)}.dot{fill:#222}.fault{fill:#c33;font-weight:bold}"
    ".label{text-anchor:middle;fill:#555;font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    ".cell{text-anchor:middle;fill:#fff;font-size:11px}.hw{stroke:#000;stroke-width:3}"
    "@media(prefers-color-scheme:dark){text,.dot{fill:#ddd}.page{fill:#1b1b1b}.time,.label{fill:#aaa}"
    ".label{stroke:#1b1b1b}.lane{stroke:#555}.arrow{stroke:#aaa}.tip{fill:#aaa}.fault{fill:#f77}.hw{stroke:#fff}"
    ".cell{fill:#fff}}"
)
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="16" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>'
)


@dataclass(frozen=True, slots=True)
class _Page:
    """Where everything stands, in pixels.

    Args:
        told: The moments.
        words: What each says, wrapped.
        places: From the left, each node's lane.
        rows: From above, each moment, and the end of the lanes behind them.
        left: Where the times end.
        right: Where the words begin.
    """

    told: Sequence[Moment]
    words: Sequence[Sequence[str]]
    places: Mapping[str, int]
    rows: Sequence[int]
    left: int
    right: int


def space_time_svg(title: str, told: Sequence[Moment], strips: Sequence[Strip]) -> str:
    """An SVG document.

    Args:
        title: Above the diagram.
        told: Moments in order, a row each; arrows begin at the row of the moment in which they were sent.
        strips: The logs, below.
    """
    page = _page(told)
    words = max((text_width(line) for lines in page.words for line in lines), default=0)
    width = max(page.right + words, strips_width(strips), text_width(title, 16)) + 2 * GAP
    height = page.rows[-1] + (len(strips) + 3) * STRIP
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style>{_TIP}",
            f'<rect class="page" width="{width}" height="{height}"/>',
            f'<text class="title" x="{GAP}" y="24">{escape(title)}</text>',
            *_lanes(page),
            *_moments(page),
            *strips_svg(strips, GAP, page.rows[-1] + STRIP),
            "</svg>\n",
        )
    )


def _page(told: Sequence[Moment]) -> _Page:
    several = len(partitions_in(told)) > 1
    who = ("" if moment.node == PLAN else f"{moment.node}: " for moment in told)
    words = [wrap(name + brief_moment(each, several), LETTERS) or [""] for name, each in zip(who, told, strict=True)]
    names = lanes(told)
    left = GAP + max((text_width(_time(moment)) for moment in told), default=0)
    return _Page(
        told=told,
        words=words,
        places={name: left + number * LANE + LANE // 2 for number, name in enumerate(names)},
        rows=tuple(accumulate((ROW + (len(lines) - 1) * LINE for lines in words), initial=TOP)),
        left=left - GAP // 2,
        right=left + len(names) * LANE,
    )


def _time(moment: Moment) -> str:
    return f"{moment.time / MICROSECONDS:.3f} ms"


def _lanes(page: _Page) -> list[str]:
    """A line for each node, with gaps while its process is down."""
    drawn = []
    down = down_after(page.told)
    for name, x in page.places.items():
        drawn.append(f'<text class="head" x="{x}" y="{TOP - 20}">{escape(name)}</text>')
        begin: int | None = TOP - 12
        for y, away in zip(page.rows, down, strict=False):
            if begin is not None and name in away:
                drawn.append(_lane(x, begin, y))
                begin = None
            elif begin is None and name not in away:
                begin = y
        if begin is not None:
            drawn.append(_lane(x, begin, page.rows[-1]))
    return drawn


def _lane(x: int, begin: int, end: int) -> str:
    return f'<line class="lane" x1="{x}" y1="{begin}" x2="{x}" y2="{end}"/>'


def _moments(page: _Page) -> list[str]:
    drawn: list[str] = []
    for number, moment in enumerate(page.told):
        y = page.rows[number]
        drawn.append(f'<text class="time" x="{page.left}" y="{y + 4}">{_time(moment)}</text>')
        if moment.node in page.places:
            drawn.extend(_arrow(page, number))
            drawn.append(f'<circle class="dot" cx="{page.places[moment.node]}" cy="{y}" r="4"/>')
        style = ' class="fault"' if moment.node == PLAN else ""
        for below, line in enumerate(page.words[number]):
            drawn.append(f'<text{style} x="{page.right}" y="{y + 4 + below * LINE}">{escape(line)}</text>')
    return drawn


def _arrow(page: _Page, number: int) -> list[str]:
    moment = page.told[number]
    message = moment.message
    if message is None or message.values[0] == moment.node:
        return []
    source, sent, name = message.values[:3]
    begin, end = _sent_at(page, number, source, sent), page.rows[number]
    left, right = page.places[source], page.places[moment.node]
    return [
        f'<line class="arrow" x1="{left}" y1="{begin}" x2="{right}" y2="{end}"/>',
        f'<text class="label" x="{(left + right) // 2}" y="{(begin + end) // 2 - 4}">{escape(str(name))}</text>',
    ]


def _sent_at(page: _Page, number: int, source: str, sent: int) -> int:
    """How far down a message was sent: at the sender's moment of that time, or between the moments around it."""
    first = bisect_left(page.told, sent, hi=number, key=_when)
    behind = bisect_right(page.told, sent, hi=number, key=_when)
    for row in range(first, behind):
        if page.told[row].node == source:
            return page.rows[row]
    return page.rows[behind] - ROW // 2


def _when(moment: Moment) -> int:
    return moment.time
