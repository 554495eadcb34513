"""Loads before and after a change as bars: a row for each group and each of its members, a column for each measure.

rack r1     replicas  ▭▭▭▭▭▭▭▭ 20     bytes  ▭▭▭ 3 GiB
                      ▬▬▬▬▬ 12               ▬▬▬▬▬ 5 GiB
  broker 1  replicas  ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from kreplica.report.svg.text_width import text_width

EDGE, ROW, BAR, SPAN, SPACE = 20, 30, 10, 180, 24
"""Pixels: around everything, of a row, of a bar's height, of the longest bar, between columns."""

_STYLE = (
    "text{font:12px sans-serif;fill:#222}.page{fill:#fff}.title{font-weight:bold;font-size:15px}"
    ".head,.group{font-weight:bold}.before{fill:#b9bec6}.after{fill:#3572b0}.line{stroke:#ddd}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#1b1b1b}.before{fill:#666}.after{fill:#6aa9e9}"
    ".line{stroke:#444}}"
)


@dataclass(frozen=True, slots=True)
class Bars:
    """One load before and after.

    Args:
        before, after: The load, at least 0.
        words: Both as they are written beside the bars.
    """

    before: int
    after: int
    words: tuple[str, str]


@dataclass(frozen=True, slots=True)
class BarRow:
    """One row.

    Args:
        name: Its name.
        group: Whether it stands for a group, whose members follow; bars of groups have a scale of their own.
        bars: One for each measure.
    """

    name: str
    group: bool
    bars: tuple[Bars, ...]


def before_after_svg(title: str, measures: Sequence[str], rows: Sequence[BarRow]) -> str:
    """An SVG document.

    Args:
        title: Above it.
        measures: Name of each column.
        rows: In order, from above.
    """
    names = max([text_width(row.name) for row in rows], default=0) + SPACE
    words = [_words_width(rows, place) for place in range(len(measures))]
    lefts = [EDGE + names + sum(SPAN + each + SPACE for each in words[:place]) for place in range(len(measures))]
    width = max([lefts[-1] + SPAN + words[-1] + EDGE] if lefts else [0], default=0)
    width = max(width, text_width(title, 15) + 2 * EDGE)
    top = EDGE + 70
    height = top + len(rows) * ROW + EDGE
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
        f'<text class="title" x="{EDGE}" y="{EDGE + 14}">{escape(title)}</text>',
        *_legend(EDGE + 28),
        *(
            f'<text class="head" x="{left}" y="{top - 8}">{escape(name)}</text>'
            for left, name in zip(lefts, measures, strict=True)
        ),
    ]
    for number, row in enumerate(rows):
        drawn += _row(
            row, top + number * ROW, width, lefts, [_most(rows, place, row.group) for place in range(len(lefts))]
        )
    return "\n".join([*drawn, "</svg>\n"])


def _legend(y: int) -> list[str]:
    found, x = [], EDGE
    for word in ("before", "after"):
        found.append(f'<rect class="{word}" x="{x}" y="{y}" width="{BAR}" height="{BAR}"/>')
        found.append(f'<text x="{x + BAR + 6}" y="{y + BAR}">{word}</text>')
        x += BAR + 6 + text_width(word) + SPACE
    return found


def _words_width(rows: Sequence[BarRow], place: int) -> int:
    return max((text_width(word, 10) for row in rows for word in row.bars[place].words), default=0) + 6


def _most(rows: Sequence[BarRow], place: int, group: bool) -> int:
    """The longest bar of the rows of one sort."""
    values = [max(row.bars[place].before, row.bars[place].after) for row in rows if row.group is group]
    return max(values, default=0) or 1


def _row(row: BarRow, y: int, width: int, lefts: Sequence[int], most: Sequence[int]) -> list[str]:
    style = ' class="group"' if row.group else ""
    indent = 0 if row.group else 10
    found = [f'<line class="line" x1="{EDGE}" x2="{width - EDGE}" y1="{y}" y2="{y}"/>'] if row.group else []
    found.append(f'<text{style} x="{EDGE + indent}" y="{y + ROW // 2 + 4}">{escape(row.name)}</text>')
    for left, bars, longest in zip(lefts, row.bars, most, strict=True):
        values = ((bars.before, "before", y + 4), (bars.after, "after", y + 5 + BAR))
        for (value, name, above), word in zip(values, bars.words, strict=True):
            long = round(SPAN * value / longest, 1)
            found.append(f'<rect class="{name}" x="{left}" y="{above}" width="{long:g}" height="{BAR}"/>')
            found.append(
                f'<text style="font-size:10px" x="{left + long + 4:g}" y="{above + BAR - 1}">{escape(word)}</text>'
            )
    return found
