"""Segments read window by window, with numbers over all of them, for kreplica decode segment.

With --records, the records of segments are printed while they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commands.decode.damage_lines import count_places, damage_objects, damage_warnings
from commands.shared.printing.output import OutputFormat, Row
from commands.shared.printing.screen import print_lines, print_verdict
from commands.shared.printing.streams import Ending, LongAnswer, emit_long
from kreplica.errors import ExitCode
from kreplica.formats.logs.segment_files import SegmentsRead
from kreplica.formats.segments.rows import RECORD_JSON, RECORDS, record_table
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.model.tables.table import Table


@dataclass(frozen=True, slots=True)
class SegmentsAnswer:
    """The summary, warnings and verdict of every form of the command."""

    read: SegmentsRead

    def summary(self) -> Row:
        """The summary of the answer."""
        return {
            "files": len(self.read.names),
            "batches": self.read.batches,
            "records": self.read.records,
            "bytes": self.read.read_bytes,
            "preallocated_bytes": self.read.zero_bytes,
            "damaged_places": self.read.damage.places,
            "skipped_bytes": self.read.damage.skipped,
            "damage": damage_objects(self.read.damage.kept),
        }

    def print_verdict(self, console: Console) -> None:
        """Prints the verdict below the table."""
        word, color = ("DAMAGED", "red") if self.read.damage.places else ("OK", "green")
        files = counted(len(self.read.names), "segment")
        told = f"{counted(self.read.batches, 'batch', 'batches')}, {counted(self.read.records, 'record')} in {files}"
        if self.read.damage.places:
            left_out = f"{counted(self.read.damage.skipped, 'byte')} left out"
            told = f"{count_places(self.read.damage.places)}, {left_out}; {told}"
        print_verdict(console, word, color, told)
        if self.read.zero_bytes:
            print_lines(console, "means", [f"{counted(self.read.zero_bytes, 'byte')} preallocated and not written yet"])


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
    return read.exit_code


def _tables(read: SegmentsRead) -> Iterator[Table]:
    for name, window in read.windows():
        for records in read.records_of(window):
            yield record_table(name, records)


def _headers(entries: Any) -> str | None:
    return ",".join(f"{entry['key']}:{entry['value']}" for entry in entries) or None


def _ending(read: SegmentsRead) -> Ending:
    answer = SegmentsAnswer(read)
    return Ending(answer.summary(), damage_warnings(read.damage.kept, read.damage.places), answer.print_verdict)
