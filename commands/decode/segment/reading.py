"""Segments read window by window, with numbers over all of them, for kreplica decode segment.

With --records, the records of segments are printed while they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commands.decode.damage_lines import count_places, damage_objects, damage_warnings
from commands.shared.printing.output import OutputFormat, Row
from commands.shared.printing.screen import counted, print_lines, print_verdict
from commands.shared.printing.streams import Ending, LongAnswer, emit_long
from kreplica.errors import ExitCode
from kreplica.formats.damage import DamageTally
from kreplica.formats.file_bytes import FoundBytes
from kreplica.formats.segments.columns import RecordColumns
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.rows import RECORD_JSON, RECORDS, record_table
from kreplica.formats.segments.windows import BatchWindow, read_windows

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.model.table import Table


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
        """Prints the verdict below the table."""
        word, color = ("DAMAGED", "red") if self.damage.places else ("OK", "green")
        files = counted(len(self.names), "segment")
        told = f"{counted(self.batches, 'batch', 'batches')}, {counted(self.records, 'record')} in {files}"
        if self.damage.places:
            left_out = f"{counted(self.damage.skipped, 'byte')} left out"
            told = f"{count_places(self.damage.places)}, {left_out}; {told}"
        print_verdict(console, word, color, told)
        if self.zero_bytes:
            print_lines(console, "means", [f"{counted(self.zero_bytes, 'byte')} preallocated and not written yet"])


_SHOWN = ("offset", "timestamp", "key", "value", "headers")


def print_records(read: SegmentsRead, output: OutputFormat | None) -> ExitCode:
    """Prints the records of segments; memory does not grow with their number.

    Args:
        read: The segments.
        output: The form; table if None.
    """
    shown = (*(["file"] if len(read.names) > 1 else []), *_SHOWN)
    answer = LongAnswer(
        command="decode-segment",
        rows_name="records",
        tables=_tables(read),
        schema=RECORDS,
        json_columns=RECORD_JSON,
        shown={name: name.upper() for name in shown},
        cells={"headers": _headers},
        ending=lambda _: _ending(read),
    )
    emit_long(answer, output)
    return read.exit_code()


def _tables(read: SegmentsRead) -> Iterator[Table]:
    for name, window in read.windows():
        for records in read.records_of(window):
            yield record_table(name, records)


def _headers(entries: Any) -> str | None:
    return ",".join(f"{entry['key']}:{entry['value']}" for entry in entries) or None


def _ending(read: SegmentsRead) -> Ending:
    return Ending(read.summary(), damage_warnings(read.damage.kept, read.damage.places), read.print_verdict)
