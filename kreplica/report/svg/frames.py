"""Frames in SVG: the logs of all replicas after each step that matters, two beside each other, in reading order."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import wrap

from kreplica.engine.settings import MICROSECONDS
from kreplica.model.wording.words import are, counted
from kreplica.report.log_frames import Frame, FrameLog
from kreplica.report.svg.strips import color_of
from kreplica.report.svg.text_width import text_width

WIDTH, GAP = 770, 20
"""Pixels: of a frame, between frames."""

NAME, CELL, HEIGHT, LOG, LINE, EDGE = 184, 50, 22, 30, 16, 10
"""Pixels: of a replica's name, of a cell and its height, from log to log, from line to line, from edge to content."""

MOST_CELLS, MOST_LETTERS, MOST_REMOTE = 6, 6, 3
"""Cells of a log, letters of a cell, followers that a leader's label names."""

LETTERS = 98
"""Letters of a line of words."""


def frames_svg(title: str, frames: Sequence[Frame], top: int) -> tuple[list[str], int]:
    """Elements that draw the frames, and how far down they reach.

    Args:
        title: Above them.
        frames: In order; nothing is drawn without any.
        top: Pixels from above.
    """
    if not frames:
        return [], top
    drawn = [f'<text class="section" x="{GAP}" y="{top + 16}">{escape(title)}</text>']
    y = top + 30
    for row in range(0, len(frames), 2):
        pair = list(enumerate(frames[row : row + 2], start=row + 1))
        height = max(_height(number, frame) for number, frame in pair)
        for number, frame in pair:
            drawn += _frame(number, frame, GAP + (number - row - 1) * (WIDTH + GAP), y, height)
        y += height + GAP
    return drawn, y


def _words(number: int, frame: Frame) -> list[str]:
    steps = f"{counted(frame.left_out, 'step')} that {are(frame.left_out)}"
    left_out = f"  (after {steps} left out)" if frame.left_out else ""
    return wrap(f"{number}.  {frame.time / MICROSECONDS:.3f} ms  {frame.words}{left_out}", LETTERS)


def _height(number: int, frame: Frame) -> int:
    lines = len(_words(number, frame)) + len(frame.marks)
    return 2 * EDGE + lines * LINE + len(frame.logs) * LOG


def _frame(number: int, frame: Frame, x: int, y: int, height: int) -> list[str]:
    style = "frame loss" if frame.loss else "frame"
    drawn = [f'<rect class="{style}" x="{x}" y="{y}" width="{WIDTH}" height="{height}" rx="4"/>']
    below = y + EDGE + 12
    for line in _words(number, frame):
        drawn.append(f'<text class="step" x="{x + EDGE}" y="{below}">{escape(line)}</text>')
        below += LINE
    for mark in frame.marks:
        drawn.append(f'<text class="fault" x="{x + EDGE}" y="{below}">✗ {escape(mark)}</text>')
        below += LINE
    for log in frame.logs:
        drawn += _log(log, x + EDGE, below - 6)
        below += LOG
    return drawn


def _log(log: FrameLog, x: int, y: int) -> list[str]:
    role = f" leader, epoch {log.leader_epoch}" if log.leader_epoch >= 0 else "" if log.running else " down"
    style = "" if log.running else ' class="down"'
    drawn = [f'<text{style} x="{x}" y="{y + 16}">{escape(log.node + role)}</text>']
    left = x + NAME
    cells = _cells(log)
    for place, (epoch, text, _) in enumerate(cells):
        drawn += _cell(left + place * CELL, y, epoch, text)
    drawn += _mark(log, cells, left, y)
    right = left + len(cells) * CELL + 8
    room = x - EDGE + WIDTH - right
    return [*drawn, f'<text class="offsets" x="{right}" y="{y + 16}">{escape(_offsets(log, room))}</text>']


def _offsets(log: FrameLog, room: int) -> str:
    """Log end offset and high watermark, and of as many followers as fit what the leader knows."""
    watermark = "-" if log.high_watermark is None else str(log.high_watermark)
    own = f"LEO {log.end_offset}  HW {watermark}"
    for shown in range(min(len(log.remote), MOST_REMOTE), 0, -1):
        known = " ".join(f"{node}:{end}" for node, end in log.remote[:shown])
        told = f"{own}  remote LEO {known}{'…' if shown < len(log.remote) else ''}"
        if text_width(told) <= room:
            return told
    return own


def _cells(log: FrameLog) -> list[tuple[int, str, int]]:
    """Leader epoch (-1 for a record that is gone), text and next offset of each cell."""
    gone = [(-1, value, 0) for value in log.gone]
    each = [
        (piece.epoch, value, offset)
        for piece in log.pieces
        for offset, value in enumerate(piece.values, start=piece.start + 1)
    ]
    if len(each) + len(gone) > MOST_CELLS:
        last = max(MOST_CELLS - 1 - len(gone[:2]), 1)
        older, each = each[:-last], each[-last:]
        start = log.pieces[0].start
        each = [(older[-1][0], f"{start}–{older[-1][2] - 1}", older[-1][2]), *each] if older else each
    if len(gone) > 2:
        gone = [gone[0], (-1, f"…+{len(gone) - 1}", 0)]
    return [*each, *gone]


def _cell(x: int, y: int, epoch: int, text: str) -> list[str]:
    shown = text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
    look = f'fill="{color_of(epoch)}"' if epoch >= 0 else 'class="gone"'
    style = "cell" if epoch >= 0 else "cell cut"
    drawn = [
        f'<g><title>{escape(text)}</title><rect x="{x}" y="{y}" width="{CELL - 2}" height="{HEIGHT}" {look}/>',
        f'<text class="{style}" x="{x + CELL // 2 - 1}" y="{y + 15}">{escape(shown)}</text></g>',
    ]
    if epoch < 0:
        drawn.append(f'<line class="cross" x1="{x}" y1="{y + HEIGHT}" x2="{x + CELL - 2}" y2="{y}"/>')
    return drawn


def _mark(log: FrameLog, cells: Sequence[tuple[int, str, int]], left: int, y: int) -> list[str]:
    if log.high_watermark is None:
        return []
    before = sum(epoch >= 0 and behind <= log.high_watermark for epoch, _, behind in cells)
    x = left + before * CELL - 1
    return [
        f'<line class="hw" x1="{x}" y1="{y - 3}" x2="{x}" y2="{y + HEIGHT + 3}"><title>high watermark</title></line>'
    ]
