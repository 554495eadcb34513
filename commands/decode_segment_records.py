"""kreplica decode segment --records: the records of segments, printed while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from commands.decode_damage import damage_warnings
from commands.decode_segment_reading import SegmentsRead
from commands.output import OutputFormat
from commands.streams import Ending, LongAnswer, emit_long
from kreplica.errors import ExitCode
from kreplica.formats.segment_rows import RECORD_JSON, RECORDS, record_table

if TYPE_CHECKING:
    from kreplica.model.table import Table

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
