"""The records of a log, segment after segment, while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kreplica.formats.batch_windows import read_windows
from kreplica.formats.file_bytes import FoundBytes
from kreplica.formats.records import decode_records

if TYPE_CHECKING:
    from kreplica.formats.damage_tally import DamageTally
    from kreplica.formats.record_columns import RecordColumns
    from kreplica.formats.until import Until


def log_records(segments: Iterable[Path], until: Until, damage: DamageTally) -> Iterator[tuple[Path, RecordColumns]]:
    """The records that count, some at a time, with the segment that they stand in.

    Args:
        segments: Of one log, in order.
        until: Which records count.
        damage: Takes what cannot be read, whole segments too, while the records are asked for.
    """
    for path in segments:
        with FoundBytes.open(path) as source:
            for window in read_windows(source):
                damage.add(window.damage)
                for records in decode_records(window):
                    damage.add(records.damage)
                    yield path, until.counted(records)
