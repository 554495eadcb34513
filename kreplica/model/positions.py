"""How far one copy of a partition has come, at one moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogPosition:
    """One copy at one moment.

    Args:
        topic, partition, broker: Which copy.
        end_offset: Its log end offset, as its own broker has it; None if that was not told.
        size: Bytes on disk, without a future copy; None if not told.
        seconds: When, on a clock that only ever goes forward; of use only between positions of one process.
    """

    topic: str
    partition: int
    broker: int
    end_offset: int | None
    size: int | None
    seconds: float
