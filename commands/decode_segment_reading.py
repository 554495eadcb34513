"""Segments read window by window, and what there is to say of all of them: kreplica decode segment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from commands.decode_damage import count_places, damage_objects
from commands.output import Row
from commands.screen import counted, print_lines, print_verdict
from kreplica.errors import ExitCode
from kreplica.formats.batch_windows import BatchWindow, read_windows
from kreplica.formats.damage_tally import DamageTally
from kreplica.formats.file_bytes import FoundBytes
from kreplica.formats.record_columns import RecordColumns
from kreplica.formats.records import decode_records

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(slots=True)
class SegmentsRead:
    """Numbers over all that was read so far, and damage."""

    names: Sequence[str]
    batches: int = 0
    records: int = 0
    read_bytes: int = 0
    zero_bytes: int = 0
    damage: DamageTally = field(default_factory=DamageTally)

    def windows(self) -> Iterator[tuple[str, BatchWindow]]:
        """The windows of each segment; everything is counted but the records in them."""
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

    def exit_code(self) -> ExitCode:
        """1 for damage."""
        return ExitCode.FINDINGS if self.damage.places else ExitCode.OK

    def summary(self) -> Row:
        """The summary of the answer."""
        return {
            "files": len(self.names),
            "batches": self.batches,
            "records": self.records,
            "bytes": self.read_bytes,
            "preallocated_bytes": self.zero_bytes,
            "damaged_places": self.damage.places,
            "skipped_bytes": self.damage.skipped,
            "damage": damage_objects(self.damage.kept),
        }

    def print_verdict(self, console: Console) -> None:
        """What stands below the table."""
        word, color = ("DAMAGED", "red") if self.damage.places else ("OK", "green")
        files = counted(len(self.names), "segment")
        told = f"{counted(self.batches, 'batch', 'batches')}, {counted(self.records, 'record')} in {files}"
        if self.damage.places:
            left_out = f"{counted(self.damage.skipped, 'byte')} left out"
            told = f"{count_places(self.damage.places)}, {left_out}; {told}"
        print_verdict(console, word, color, told)
        if self.zero_bytes:
            print_lines(console, "means", [f"{counted(self.zero_bytes, 'byte')} preallocated and not written yet"])
