"""kreplica decode offsets --events: every record of the logs instead of the state they lead to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from commands.decode_damage import damage_objects, damage_warnings
from commands.output import Answer, OutputFormat, emit, one_line
from commands.streams import STREAMED, rows_of, stream
from commands.tables import print_table
from kreplica.errors import ExitCode
from kreplica.formats.batch_windows import read_windows
from kreplica.formats.damage_tally import DamageTally
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.offset_events import EVENTS, JSON_COLUMNS, event_table
from kreplica.formats.records import decode_records
from kreplica.model.columns import StringColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from kreplica.formats.partition_logs import PartitionLog
    from kreplica.formats.record_columns import RecordColumns
    from kreplica.formats.until import Until
    from kreplica.model.table import Table

COLUMNS = EVENTS.names
_SHOWN = ("log_partition", "record_offset", "type", "group", "topic", "partition", "tombstone", "offset", "value")


class Events:
    """The records of logs as tables, decoded while they are asked for; damage is known when all have been."""

    def __init__(
        self,
        logs: Sequence[PartitionLog],
        groups: Sequence[re.Pattern[str]],
        topic: re.Pattern[str] | None,
        until: Until | None,
    ) -> None:
        self.damage = DamageTally()
        self._logs, self._groups, self._topic, self._until = logs, groups, topic, until

    def __iter__(self) -> Iterator[Table]:
        for log in self._logs:
            for path in log.segments:
                with FileBytes.open(path) as source:
                    for window in read_windows(source):
                        self.damage.add(window.damage)
                        for records in decode_records(window):
                            self.damage.add(records.damage)
                            yield self._table(log, str(path), records)

    def _table(self, log: PartitionLog, file: str, records: RecordColumns) -> Table:
        included = None if self._until is None else self._until.includes(records)
        some = records if included is None else records.take(included)
        table, damage = event_table(some, file, log.partition)
        self.damage.add(damage)
        wanted = _matching(table, "group", self._groups)
        if self._topic is not None:
            wanted &= _matching(table, "topic", [self._topic])
        return table if wanted.all() else table.take(np.flatnonzero(wanted))


def _matching(table: Table, name: str, patterns: Sequence[re.Pattern[str]]) -> NDArray[np.bool_]:
    """Rows whose word matches one of the patterns as a whole; all if there are none."""
    column = table[name]
    assert isinstance(column, StringColumn)
    if not patterns:
        return np.ones(len(column), np.bool_)
    words = [*column.dictionary, ""]  # code -1, no word, is the last
    return np.array([any(pattern.fullmatch(word) for pattern in patterns) for word in words], np.bool_)[column.codes]


def show_events(events: Events, output: OutputFormat | None, warnings: Sequence[str]) -> ExitCode:
    """Prints the events: lines, CSV and Parquet while they are read, other forms when all are known."""
    if output in STREAMED:
        stream(events, EVENTS, output, JSON_COLUMNS)
        for warning in [*damage_warnings(events.damage.kept, events.damage.places), *warnings]:
            print(f"warning: {one_line(warning)}", file=sys.stderr)
    else:
        answer = _answer(events, warnings)
        emit(answer, output, lambda console: _show(answer, console))
    if events.damage.places:
        return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if warnings else ExitCode.OK


def _answer(events: Events, warnings: Sequence[str]) -> Answer:
    rows = [row for table in events for row in rows_of(table, JSON_COLUMNS)]
    return Answer(
        command="decode-offsets-events",
        rows_name="events",
        columns=COLUMNS,
        rows=rows,
        summary={
            "events": len(rows),
            "damaged_places": events.damage.places,
            "skipped_bytes": events.damage.skipped,
            "damage": damage_objects(events.damage.kept),
        },
        warnings=[*damage_warnings(events.damage.kept, events.damage.places), *warnings],
        kinds={field.name: field.kind for field in EVENTS.fields},
    )


def _show(answer: Answer, console: Console) -> None:
    from commands.screen import print_verdict

    cells = [[_cell(row[name]) for name in _SHOWN] for row in answer.rows]
    if cells:
        print_table([name.upper() for name in _SHOWN], cells, color=console.is_terminal and not console.no_color)
    places = answer.summary["damaged_places"]
    word, color = ("DAMAGED", "red") if places else ("INCOMPLETE", "yellow") if answer.warnings else ("OK", "green")
    told = "; ".join([f"{len(answer.rows)} events", *(answer.warnings[-1:] if not places else [])])
    print_verdict(console, word, color, told)


def _cell(value: object) -> object:
    if not isinstance(value, dict):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)
