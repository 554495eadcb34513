"""Logs as coloured strips in SVG: a cell a record, a colour a leader epoch, a mark at the high watermark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from kreplica.model.wording.words import counted
from kreplica.report.log_strips import Piece, Strip
from kreplica.report.svg.text_width import text_width

COLORS = ("#4c78a8", "#c4660a", "#3d8b3d", "#9a5b94", "#c83e42", "#3b8a86", "#8a6450", "#8f7a00")
"""Leader epochs in turn; white letters can be read on each."""

CELL, HEIGHT, STRIP, GAP = 64, 24, 34, 16
"""Pixels: width of a cell, its height, from strip to strip, between name and cells."""

MOST_CELLS = 16
"""A strip with more records than these shows runs of an epoch instead of records."""

MOST_STRIPS = 12
"""Strips of one picture: of more logs it says how many there are."""

MOST_EPOCHS = 6
"""Most leader epochs whose colours are explained."""

MOST_LETTERS = 9
"""Letters that a cell holds; of a longer value the whole is the cell's title."""


def strips_width(strips: Sequence[Strip]) -> int:
    """Pixels that the strips need."""
    cells = max((len(_cells(strip)) for strip in strips), default=0)
    return _left(strips) + (cells + 1) * CELL


def strips_svg(strips: Sequence[Strip], left: int, top: int) -> list[str]:
    """Elements that draw the strips below each other, with what colours and mark mean above them.

    Args:
        strips: The logs; nothing is drawn without any.
        left: Pixels from the left, where names begin.
        top: Pixels from above.
    """
    if not strips:
        return []
    drawn = _legend(strips, left, top)
    for number, strip in enumerate(strips[:MOST_STRIPS], start=1):
        y = top + number * STRIP
        drawn.append(f'<text x="{left}" y="{y + 16}">{escape(_name(strip))}</text>')
        drawn.extend(_strip(strip, left + _left(strips), y))
    if len(strips) > MOST_STRIPS:
        y = top + (MOST_STRIPS + 1) * STRIP
        told = f"… {counted(len(strips) - MOST_STRIPS, 'more log')}: -o json has every one"
        drawn.append(f'<text x="{left}" y="{y + 16}">{told}</text>')
    return drawn


def strips_height(strips: Sequence[Strip]) -> int:
    """Pixels that the strips need, with what colours mean above them."""
    return (min(len(strips), MOST_STRIPS + 1) + 2) * STRIP if strips else 0


def _left(strips: Sequence[Strip]) -> int:
    return max((text_width(_name(strip)) for strip in strips), default=0) + GAP


def _name(strip: Strip) -> str:
    return f"{strip.node} {strip.partition}" + (" (leader)" if strip.leads else "" if strip.running else " (down)")


def _legend(strips: Sequence[Strip], left: int, top: int) -> list[str]:
    epochs = sorted({piece.epoch for strip in strips for piece in strip.pieces})
    x = left + text_width("logs at the end")
    drawn = [f'<text x="{left}" y="{top + 16}">logs at the end</text>']
    for epoch in epochs[-MOST_EPOCHS:]:
        drawn.append(f'<rect x="{x}" y="{top + 6}" width="12" height="12" fill="{color_of(epoch)}"/>')
        drawn.append(f'<text x="{x + 18}" y="{top + 16}">leader epoch {epoch}</text>')
        x += 18 + text_width(f"leader epoch {epoch}") + GAP
    return [*drawn, _mark(x, top, "high watermark"), f'<text x="{x + 10}" y="{top + 16}">high watermark</text>']


def color_of(epoch: int) -> str:
    """The colour of a leader epoch."""
    return COLORS[epoch % len(COLORS)]


def _cells(strip: Strip) -> list[tuple[int, str, int]]:
    """Epoch, text and next offset of each cell."""
    one_by_one = sum(piece.end - piece.start for piece in strip.pieces) <= MOST_CELLS
    cells = [cell for piece in strip.pieces for cell in (_records(piece) if one_by_one else _runs(piece, strip))]
    if len(cells) <= MOST_CELLS:
        return cells
    older = cells[: -MOST_CELLS + 1]
    return [(older[-1][0], f"{strip.pieces[0].start}–{older[-1][2] - 1}", older[-1][2]), *cells[-MOST_CELLS + 1 :]]


def _records(piece: Piece) -> Iterator[tuple[int, str, int]]:
    return ((piece.epoch, value, offset) for offset, value in enumerate(piece.values, start=piece.start + 1))


def _runs(piece: Piece, strip: Strip) -> Iterator[tuple[int, str, int]]:
    """The records of an epoch as one run, as two where the high watermark stands among them."""
    among = strip.high_watermark is not None and piece.start < strip.high_watermark < piece.end
    marks = (piece.start, *((strip.high_watermark,) if among else ()), piece.end)
    for start, end in pairwise(marks):
        yield piece.epoch, f"{start}–{end - 1}", end


def _strip(strip: Strip, left: int, y: int) -> list[str]:
    drawn: list[str] = []
    for number, (epoch, text, _) in enumerate(_cells(strip)):
        drawn.append(_cell(left + number * CELL, y, color_of(epoch), text))
    if strip.high_watermark is not None:
        before = sum(behind <= strip.high_watermark for _, _, behind in _cells(strip))
        drawn.append(_mark(left + before * CELL, y, f"high watermark {strip.high_watermark}"))
    return drawn


def _cell(x: int, y: int, color: str, text: str) -> str:
    shown = text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
    return (
        f'<g><title>{escape(text)}</title><rect x="{x}" y="{y}" width="{CELL - 2}" height="{HEIGHT}" fill="{color}"/>'
        f'<text class="cell" x="{x + CELL // 2 - 1}" y="{y + 16}">{escape(shown)}</text></g>'
    )


def _mark(x: int, y: int, title: str) -> str:
    return (
        f'<line class="hw" x1="{x - 1}" y1="{y - 3}" x2="{x - 1}" y2="{y + HEIGHT + 3}">'
        f"<title>{escape(title)}</title></line>"
    )
