"""The end of a segment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The end of a log: the leader epoch of its last batch, -1 if it has none, and the offset after it."""

    leader_epoch: int
    end_offset: int


def segment_end(path: Path) -> LogEnd | None:
    """The end of a segment, by its last valid batch; None if it holds none, or cannot be read."""
    from kreplica.formats.file_bytes import FoundBytes
    from kreplica.formats.segments.windows import read_windows

    end = None
    with FoundBytes.open(path) as source:
        for window in read_windows(source):
            sound = window.batches.take(window.batches.valid)
            if len(sound):
                end = LogEnd(int(sound.leader_epoch[-1]), int(sound.last_offset[-1]) + 1)
    return end
