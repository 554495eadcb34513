"""Where the records of many batches begin: they are followed as they stand (``record_runs``), then all looked at
together, and each batch ends before its first one that cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.record_runs import BYTES, LEAST_RECORD, SHIFT, record_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    runs = record_runs(data, begin, end, wanted)
    start, step = runs.expand()
    following = start + (step >> SHIFT)
    batch, size = np.repeat(np.arange(len(wanted)), wanted), step & BYTES
    body, kept = start + size, wanted
    sound = (size > 0) & (following <= end.take(batch))
    if not sound.all():
        number = np.arange(len(step)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
        broken, kept = np.flatnonzero(~sound)[::-1], wanted.copy()
        kept[batch[broken]] = number[broken]  # the first one, written last, stays
        there = number < kept[batch]
        body, following, batch = body[there], following[there], batch[there]
    return RecordStarts(body, following - body, batch, kept, _behind_last(begin, following, kept))


def _behind_last(begin: NDArray[np.int64], following: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index behind the last record of each batch; where it begins if it has none."""
    stopped_at, some = begin.copy(), np.flatnonzero(count)
    stopped_at[some] = following[np.cumsum(count)[some] - 1]
    return stopped_at
