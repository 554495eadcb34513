"""A run as one SVG page: verdict, logs at the steps that matter, space-time diagram, logs at the end.

Without scripts and without fonts of its own; it follows the reader's choice of light or dark. Long runs are folded: the
moments that say most are drawn, and a fold says how many were left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import wrap

from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.trace import PLAN, Kind
from kreplica.model.wording.words import are, counted
from kreplica.report.heading import Heading
from kreplica.report.log_frames import Frame
from kreplica.report.log_strips import Strip
from kreplica.report.loss_marks import Mark
from kreplica.report.moments import Moment, brief_moment, down_after, is_quiet, lanes, partitions_in
from kreplica.report.svg.frames import frames_svg
from kreplica.report.svg.strips import STRIP, strips_height, strips_svg, strips_width
from kreplica.report.svg.text_width import text_width

WIDEST = 1600
"""Pixels of the widest page."""

TALLEST = 2600
"""Pixels of the tallest diagram."""

LANE, NARROWEST, ROW, LINE, GAP, HEAD = 150, 34, 26, 15, 20, 16
"""Pixels: between lanes where there is room, at the least, between rows, between lines of a row, between columns, and
between the lines that names of narrow lanes take in turn."""

LETTERS, FEWEST_LETTERS, MOST_LINES = 90, 48, 8
"""Letters at which text on the right is wrapped, the same with narrow lanes, and most lines of one moment."""

CHOSEN = (90, 60, 45, 30, 20, 12)
"""Numbers of moments to draw of a long run: the first that does not make it too tall."""

FILLED = 2
"""A fold leaves out more moments than these."""

STORY = 150
"""Letters of a line of what a scenario is about."""

_STYLE = (
    "text{font:12px sans-serif;fill:#222}.head{font-weight:bold;text-anchor:middle}.time{text-anchor:end;fill:#666}"
    ".title{font-size:16px;font-weight:bold}.section{font-size:14px;font-weight:bold}.page{fill:#fff}.tip{fill:#555}"
    ".bad{font-size:20px;font-weight:bold;fill:#c33}.odd{font-size:20px;font-weight:bold;fill:#a60}"
    ".good{font-size:20px;font-weight:bold;fill:#283}.step{font-weight:bold}.offsets{fill:#444}.down{fill:#888}"
    ".frame{fill:#f7f7f7;stroke:#bbb}.loss{fill:#fdeaea;stroke:#c33;stroke-width:3}"
    ".gone{fill:#fff;stroke:#c33;stroke-dasharray:4 3;stroke-width:2}.cross{stroke:#c33;stroke-width:2}"
    ".lane{stroke:#bbb}.arrow{stroke:#555;marker-end:url(#tip)}.dot{fill:#222}.fault{fill:#c33;font-weight:bold}"
    ".label{text-anchor:middle;fill:#555;font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    ".fold{fill:#666;font-style:italic}.folded{stroke:#999;stroke-dasharray:2 6;stroke-width:2}"
    ".cell{text-anchor:middle;fill:#fff;font-size:11px}.cut{fill:#c33;text-decoration:line-through}"
    ".hw{stroke:#000;stroke-width:3}"
    "@media(prefers-color-scheme:dark){text,.dot{fill:#ddd}.page{fill:#1b1b1b}.time,.label,.fold,.down{fill:#aaa}"
    ".label{stroke:#1b1b1b}.lane{stroke:#555}.arrow{stroke:#aaa}.tip{fill:#aaa}.fault,.bad,.cut{fill:#f77}"
    ".odd{fill:#fb5}.good{fill:#6c7}.offsets{fill:#ccc}.frame{fill:#262626;stroke:#555}"
    ".loss{fill:#3a1f1f;stroke:#f77}.gone{fill:#1b1b1b;stroke:#f77}.hw{stroke:#fff}.cell{fill:#fff}}"
)
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="16" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>'
)

_TELLING: Mapping[str, float] = {
    Kind.TRUNCATED: 4,
    Kind.BECAME_LEADER: 3,
    Kind.CRASHED: 5,
    Kind.STOPPED: 5,
    Kind.DISK_LOST: 5,
    Kind.FAULT: 5,
    Kind.NO_LEADER: 4,
    Kind.SEND_FAILED: 1,
    Kind.CLIENT_FAILED: 4,
    Kind.PARTITION_CHANGED: 2,
    Kind.ZNODE_WRITTEN: 2,
}
"""Weights of kinds that matter however often they occur; others weigh more the rarer they are."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Positions of all parts of the diagram, in pixels.

    Args:
        moments: The moments that are drawn.
        folds: Number left out before each of them, and after the last.
        words: The text of each, wrapped.
        down: The nodes that are down after each.
        marks: By the identity of an event.
        places: From the left, each node's lane.
        lane: From lane to lane.
        rows: From above, each moment, and the end of the lanes after them.
        top: Where the names of the lanes begin.
        left: Where the times end.
        right: Where the words begin.
    """

    moments: Sequence[Moment]
    folds: Sequence[int]
    words: Sequence[Sequence[str]]
    down: Sequence[frozenset[str]]
    marks: Mapping[int, Mark]
    places: Mapping[str, int]
    lane: int
    rows: Sequence[int]
    top: int
    left: int
    right: int


def space_time_svg(
    title: str | Heading,
    moments: Sequence[Moment],
    strips: Sequence[Strip],
    frames: Sequence[Frame] = (),
    marks: Mapping[int, Mark] | None = None,
) -> str:
    """An SVG document.

    Args:
        title: Above the diagram.
        moments: Moments in order, a row each; arrows begin at the row of the moment in which they were sent.
        strips: The logs at the end, below.
        frames: The logs at the steps that matter, above the diagram.
        marks: What events do to records that matter, by the identity of the event.
    """
    heading = title if isinstance(title, Heading) else Heading(title)
    above, top = _heading(heading)
    framed, top = frames_svg(heading.logs, frames, top)
    page = _page(moments, marks or {}, top + 2 * GAP)
    words = max((text_width(line) for lines in page.words for line in lines), default=0)
    needed = max(page.right + words, strips_width(strips), _heading_width(heading)) + 2 * GAP
    width = WIDEST if frames else min(needed, WIDEST)
    height = page.rows[-1] + 2 * STRIP + strips_height(strips)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(heading.verdict or heading.title)}</title><style>{_STYLE}</style>{_TIP}",
            f'<rect class="page" width="{width}" height="{height}"/>',
            *above,
            *framed,
            *_section(page),
            *_lanes(page),
            *_moments(page),
            *strips_svg(strips, GAP, page.rows[-1] + STRIP),
            "</svg>\n",
        )
    )


def _heading(heading: Heading) -> tuple[list[str], int]:
    """The words above everything, and how far down they reach."""
    drawn, y = [], 24
    for line in wrap(heading.verdict, (WIDEST - 2 * GAP) * 10 // 125):
        drawn.append(f'<text class="{heading.look}" x="{GAP}" y="{y + 4}">{escape(line)}</text>')
        y += 28
    drawn.append(f'<text class="title" x="{GAP}" y="{y}">{escape(heading.title)}</text>')
    for line in wrap(" ".join(heading.story.split()), STORY):
        y += LINE + 3
        drawn.append(f'<text x="{GAP}" y="{y}">{escape(line)}</text>')
    return drawn, y + GAP


def _heading_width(heading: Heading) -> int:
    lines = wrap(" ".join(heading.story.split()), STORY)
    return max(text_width(heading.title, 16), *map(text_width, lines or [""]))


def _page(moments: Sequence[Moment], marks: Mapping[int, Mark], top: int) -> _Page:
    """The page with as many moments as are not too tall."""
    several, weights = len(partitions_in(moments)) > 1, _weights(moments, marks)
    down = down_after(moments)
    page = _page_of(range(len(moments)), moments, down, marks, top, several)
    for most in CHOSEN:
        if page.rows[-1] - top <= TALLEST:
            break
        page = _page_of(_chosen(weights, most), moments, down, marks, top, several)
    return page


def _weights(moments: Sequence[Moment], marks: Mapping[int, Mark]) -> list[float]:
    """Weight of each moment: by its effect on records that matter, the kinds of its events, and their rarity."""
    counts = Counter(event.kind for moment in moments for event in moment.events)
    return [
        max(
            (
                (20.0 if id(event) in marks else 0.0) + _TELLING.get(event.kind, 0.0) + 1 / counts[event.kind]
                for event in moment.events
                if not is_quiet(event)
            ),
            default=0.0,
        )
        for moment in moments
    ]


def _chosen(weights: Sequence[float], most: int) -> list[int]:
    """The places of the heaviest moments, with the few between two of them that are not worth a fold."""
    heaviest = sorted(sorted(range(len(weights)), key=lambda place: -weights[place])[:most])
    found: list[int] = []
    for place in (*heaviest, len(weights)):
        behind = found[-1] + 1 if found else 0
        if place - behind <= FILLED:
            found += range(behind, place)
        found += [place] if place < len(weights) else []
    return found


def _page_of(
    places: Sequence[int],
    every: Sequence[Moment],
    down: Sequence[frozenset[str]],
    marks: Mapping[int, Mark],
    top: int,
    several: bool,
) -> _Page:
    moments = [every[place] for place in places]
    edges = [-1, *places, len(every)]
    folds = [behind - before - 1 for before, behind in pairwise(edges)]
    names = lanes(every)
    left = GAP + max((text_width(_time(moment)) for moment in moments), default=0)
    room = WIDEST - 2 * GAP - left - text_width("x" * FEWEST_LETTERS)
    lane = max(NARROWEST, min(LANE, room // max(len(names), 1)))
    right = left + len(names) * lane + GAP
    letters = min(LETTERS, int((WIDEST - GAP - right) / text_width("x" * 100) * 100) - 1)
    words = [_words(moment, several, marks, letters) for moment in moments]
    below = top + HEAD * _head_lines(names, lane) + 24
    return _Page(
        moments=moments,
        folds=folds,
        words=words,
        down=[down[place] for place in places],
        marks=marks,
        places={name: left + number * lane + lane // 2 for number, name in enumerate(names)},
        lane=lane,
        rows=_rows(words, folds, below),
        top=top,
        left=left - GAP // 2,
        right=right,
    )


def _rows(words: Sequence[Sequence[str]], folds: Sequence[int], top: int) -> tuple[int, ...]:
    rows, y = [], top
    for lines, fold in zip(words, folds, strict=False):
        y += ROW if fold else 0
        rows.append(y)
        y += ROW + (len(lines) - 1) * LINE
    return (*rows, y + (ROW if folds and folds[-1] else 0))


def _head_lines(names: Sequence[str], lane: int) -> int:
    """Number of lines over which the names of the lanes are spread in turn, so that they do not overlap."""
    widest = max((text_width(name) for name in names), default=0) + 8
    return max(1, -(-widest // lane))


def _words(moment: Moment, several: bool, marks: Mapping[int, Mark], letters: int) -> list[str]:
    cause = "" if moment.message is None else f" ({moment.message.values[2]})"
    who = "" if moment.node == PLAN else f"{moment.node}{cause}: "
    lines = wrap(who + brief_moment(moment, several), letters) or [""]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"… {len(lines) - MOST_LINES + 1} more lines"]
    return [*lines, *(f"✗ {mark.text}" for mark in _marks(moment, marks))]


def _marks(moment: Moment, marks: Mapping[int, Mark]) -> list[Mark]:
    return [marks[id(event)] for event in moment.events if id(event) in marks]


def _time(moment: Moment) -> str:
    return f"{moment.time / MICROSECONDS:.3f} ms"


def _section(page: _Page) -> list[str]:
    left_out = sum(page.folds)
    moments = f"{counted(left_out, 'moment')} {are(left_out)} left out"
    note = f"; {moments}: --after and --before tell a part of the time" if left_out else ""
    words = f"Messages that did something, time going down{note}"
    return [f'<text class="section" x="{GAP}" y="{page.top - 14}">{words}</text>']


def _lanes(page: _Page) -> list[str]:
    """A line for each node, with gaps while its process is down."""
    drawn = []
    lines = _head_lines(tuple(page.places), page.lane)
    begin_all = page.top + HEAD * lines + 6
    for number, (name, x) in enumerate(page.places.items()):
        y = page.top + HEAD * (number % lines) + 12
        drawn.append(f'<text class="head" x="{x}" y="{y}">{escape(name)}</text>')
        if y + 4 < begin_all:
            drawn.append(f'<line class="folded" x1="{x}" y1="{y + 4}" x2="{x}" y2="{begin_all}"/>')
        begin: int | None = begin_all
        for y, away in zip(page.rows, page.down, strict=False):
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
    taken: list[_Box] = []
    for number, moment in enumerate(page.moments):
        y = page.rows[number]
        drawn += _fold(page, number, y - ROW)
        drawn.append(f'<text class="time" x="{page.left}" y="{y + 4}">{_time(moment)}</text>')
        if moment.node in page.places:
            drawn.extend(_arrow(page, number, taken))
            drawn += _dot(page.places[moment.node], y, bool(_marks(moment, page.marks)))
        for below, line in enumerate(page.words[number]):
            style = ' class="fault"' if moment.node == PLAN or line.startswith("✗") else ""
            drawn.append(f'<text{style} x="{page.right}" y="{y + 4 + below * LINE}">{escape(line)}</text>')
    return drawn + _fold(page, len(page.moments), page.rows[-1] - ROW)


def _dot(x: int, y: int, marked: bool) -> list[str]:
    if not marked:
        return [f'<circle class="dot" cx="{x}" cy="{y}" r="4"/>']
    strokes = ((x - 8, y - 8, x + 8, y + 8), (x - 8, y + 8, x + 8, y - 8))
    return [f'<line class="cross" x1="{a}" y1="{b}" x2="{c}" y2="{d}"/>' for a, b, c, d in strokes]


def _fold(page: _Page, number: int, y: int) -> list[str]:
    left_out = page.folds[number] if number < len(page.folds) else 0
    if not left_out:
        return []
    places = list(page.places.values()) or [page.left]
    note = f"… {counted(left_out, 'moment')} left out"
    return [
        f'<line class="folded" x1="{places[0]}" y1="{y}" x2="{places[-1]}" y2="{y}"/>',
        f'<text class="fold" x="{page.right}" y="{y + 4}">{note}</text>',
    ]


_Box = tuple[float, float, float, float]


def _arrow(page: _Page, number: int, taken: list[_Box]) -> list[str]:
    moment = page.moments[number]
    message = moment.message
    if message is None or message.values[0] == moment.node:
        return []
    source, sent, name = message.values[:3]
    begin, end = _sent_at(page, number, source, sent), page.rows[number]
    left, right = page.places[source], page.places[moment.node]
    drawn = [f'<line class="arrow" x1="{left}" y1="{begin}" x2="{right}" y2="{end}"/>']
    place = _place_of_label(page, (left, begin, right, end), str(name), taken)
    if place is not None:
        drawn.append(f'<text class="label" x="{place[0]}" y="{place[1]}">{escape(str(name))}</text>')
    return drawn


def _place_of_label(
    page: _Page, line: tuple[int, int, int, int], name: str, taken: list[_Box]
) -> tuple[int, int] | None:
    """A free place for an arrow's label; None if there is none, as the text has the name, too."""
    width = text_width(name, 10)
    for part in (0.5, 0.35, 0.65, 0.2, 0.8):
        x = round(line[0] + (line[2] - line[0]) * part)
        y = round(line[1] + (line[3] - line[1]) * part) - 4
        box = (x - width / 2, y - 10, x + width / 2, y + 3)
        inside = box[0] >= page.left + 2 and box[2] <= page.right - 2
        if inside and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            return x, y
    return None


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _sent_at(page: _Page, number: int, source: str, sent: int) -> int:
    """Height at which a message was sent: at the sender's moment of that time, or between the moments around it."""
    first = bisect_left(page.moments, sent, hi=number, key=_when)
    behind = bisect_right(page.moments, sent, hi=number, key=_when)
    for row in range(first, behind):
        if page.moments[row].node == source:
            return page.rows[row]
    return page.rows[behind] - ROW // 2


def _when(moment: Moment) -> int:
    return moment.time
