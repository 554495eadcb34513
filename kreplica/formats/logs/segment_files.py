"""Segments read window by window, with numbers over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.damage import DamageTally
from kreplica.formats.file_bytes import FoundBytes, not_listed
from kreplica.formats.logs.partition_logs import find_logs
from kreplica.formats.segments.batches import BatchColumns
from kreplica.formats.segments.columns import RecordColumns
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.rows import BatchRows
from kreplica.formats.segments.windows import BatchWindow, read_windows


@dataclass(slots=True)
class SegmentsRead:
    """Numbers over all windows read so far, and damage."""

    names: Sequence[str]
    batches: int = 0
    records: int = 0
    read_bytes: int = 0
    zero_bytes: int = 0
    damage: DamageTally = field(default_factory=DamageTally)

    def windows(self) -> Iterator[tuple[str, BatchWindow]]:
        """Yields the windows of each segment; counts everything but the records in them."""
        for name in self.names:
            with FoundBytes.open(Path(name)) as source:
                self.read_bytes += source.size
                for window in read_windows(source):
                    self.damage.add(window.damage)
                    self.batches += len(window.batches)
                    self.zero_bytes += window.zero_bytes
                    yield name, window

    def records_of(self, window: BatchWindow) -> Iterator[RecordColumns]:
        """The records of a window, counted."""
        for records in decode_records(window):
            self.damage.add(records.damage)
            self.records += len(records)
            yield records

    def batch_rows(self) -> BatchRows:
        """A row for each batch, after its records are counted and checked for damage."""
        return BatchRows([(name, self._count_window(window)) for name, window in self.windows()])

    def _count_window(self, window: BatchWindow) -> BatchColumns:
        for _ in self.records_of(window):
            pass
        return window.batches

    @property
    def exit_code(self) -> ExitCode:
        """1 for damage."""
        return ExitCode.FINDINGS if self.damage.places else ExitCode.OK


def decode_segment(paths: Sequence[str]) -> SegmentsRead:
    """Finds segments; batches and records are read as they are asked for.

    Args:
        paths: Segments, partitions' directories, or log directories.

    Raises:
        UsageError: There are none.
    """
    refused: list[InputError] = []
    files = [path for log in find_logs(paths, refused=refused) for path in log.segments]
    if not files:
        why = "no file there is named as a segment, 00000000000000000000.log"
        raise UsageError(f"no segments in {', '.join(paths)}", why, "name a partition's directory, or a file itself")
    read = SegmentsRead([str(path) for path in files])
    read.damage.add(not_listed(refused))
    return read
