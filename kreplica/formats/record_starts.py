"""Where the records of many batches begin: the i-th record of every batch in one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.record_columns import read_one_signed
from kreplica.formats.varints import read_signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_RECORD = 6
"""The least that the length of a record says: five one-byte fields and a count of headers."""
NARROW = 32
"""With fewer batches left, one record after the other is faster than a step of array operations: measured."""


@dataclass(frozen=True, slots=True)
class RecordStarts:
    """The records of batches.

    Args:
        body: Index of the byte behind each record's length, batch after batch.
        size: Bytes from there on.
        batch: Which batch each is of.
        count: How many records of each batch are there.
        stopped_at: Index behind the last of each batch.
    """

    body: NDArray[np.int64]
    size: NDArray[np.int64]
    batch: NDArray[np.int64]
    count: NDArray[np.int64]
    stopped_at: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Work:
    """What the steps fill: a place for each record that a batch says it has."""

    data: NDArray[np.uint8]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    wanted: NDArray[np.int64]
    body: NDArray[np.int64]
    size: NDArray[np.int64]
    count: NDArray[np.int64]
    stopped_at: NDArray[np.int64]


def record_starts(
    data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64], count: NDArray[np.int64]
) -> RecordStarts:
    """Finds the records.

    Args:
        data: Bytes.
        begin, end: Index of the first byte of each batch's records, and behind the last.
        count: How many records each batch says it has. It may lie: no more are looked for than have room.
    """
    wanted = np.clip(count, 0, (end - begin) // (LEAST_RECORD + 1))
    last = np.cumsum(wanted)
    total = int(last[-1]) if len(last) else 0
    work = _Work(
        data,
        end,
        last - wanted,
        wanted,
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
        wanted.copy(),
        begin.copy(),
    )
    order = np.argsort(-wanted, kind="stable")
    active = order[: int((wanted > 0).sum())]
    at, step = begin[active], 0
    while len(active) > NARROW:
        active, at = _step(work, active, at, step)
        step += 1
        going = int(np.searchsorted(-wanted[active], -step, side="left"))
        active, at = active[:going], at[:going]
    for batch, position in zip(active.tolist(), at.tolist(), strict=True):
        _finish(work, batch, position, step)
    return _gathered(work)


def _step(
    work: _Work, active: NDArray[np.int64], at: NDArray[np.int64], step: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Reads record ``step`` of each active batch; gives those that go on, and where."""
    length, body = read_signed(work.data, at)
    following = body + length
    sound = (length >= LEAST_RECORD) & (following <= work.end[active]) & (body > at)
    if not sound.all():
        broken = active[~sound]
        work.count[broken] = step
        active, body, length, following = active[sound], body[sound], length[sound], following[sound]
    place = work.first[active] + step
    work.body[place] = body
    work.size[place] = length
    work.stopped_at[active] = following
    return active, following


def _finish(work: _Work, batch: int, position: int, step: int) -> None:
    """Reads the records of one batch from ``step`` on, one after the other."""
    begin, end, wanted = position, int(work.end[batch]), int(work.wanted[batch])
    view = work.data.data[begin:end]
    bodies: list[int] = []
    sizes: list[int] = []
    at, room = 0, end - begin
    while step + len(bodies) < wanted:
        try:
            length, body = read_one_signed(view, at)
        except ValueError:
            break
        if length < LEAST_RECORD or body + length > room:
            break
        bodies.append(body)
        sizes.append(length)
        at = body + length
    place = int(work.first[batch]) + step
    work.body[place : place + len(bodies)] = np.array(bodies, np.int64) + begin
    work.size[place : place + len(bodies)] = sizes
    work.count[batch] = step + len(bodies)
    work.stopped_at[batch] = begin + at


def _gathered(work: _Work) -> RecordStarts:
    batch = np.repeat(np.arange(len(work.count)), work.wanted)
    if np.array_equal(work.count, work.wanted):
        return RecordStarts(work.body, work.size, batch, work.count, work.stopped_at)
    number = np.arange(len(batch)) - work.first[batch]
    there = number < work.count[batch]
    return RecordStarts(work.body[there], work.size[there], batch[there], work.count, work.stopped_at)
