"""kreplica decode offsets --events: every record of the logs instead of the state they lead to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from commands.decode.damage_lines import damage_objects, damage_warnings
from commands.shared.printing.output import OutputFormat
from commands.shared.printing.screen import print_verdict
from commands.shared.printing.streams import Ending, LongAnswer, emit_long
from kreplica.errors import ExitCode
from kreplica.formats.consumer_offsets.events import EVENTS, JSON_COLUMNS, event_table
from kreplica.formats.damage import DamageTally
from kreplica.formats.segments.as_of import Until
from kreplica.formats.segments.rows import log_records
from kreplica.model.columns import StringColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from kreplica.formats.logs.partition_logs import PartitionLog
    from kreplica.formats.segments.columns import RecordColumns
    from kreplica.model.table import Table

COLUMNS = EVENTS.names
_SHOWN = ("log_partition", "record_offset", "type", "group", "topic", "partition", "tombstone", "offset", "value")


class Events:
    """The records of logs as tables, decoded on demand; all damage is known after the last table."""

    def __init__(
        self,
        logs: Sequence[PartitionLog],
        groups: Sequence[re.Pattern[str]],
        topic: re.Pattern[str] | None,
        until: Until | None,
        damage: DamageTally,
    ) -> None:
        self.damage = damage
        self._logs, self._groups, self._topic, self._until = logs, groups, topic, until or Until()

    def __iter__(self) -> Iterator[Table]:
        for log in self._logs:
            for path, records in log_records(log.segments, self._until, self.damage):
                yield self._table(log, str(path), records)

    def _table(self, log: PartitionLog, file: str, records: RecordColumns) -> Table:
        table, damage = event_table(records, file, log.partition)
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
    """Prints the events while they are read."""
    answer = LongAnswer(
        command="decode-offsets-events",
        rows_name="events",
        tables=events,
        schema=EVENTS,
        json_columns=JSON_COLUMNS,
        shown={name: name.upper() for name in _SHOWN},
        cells={"value": lambda value: json.dumps(value, ensure_ascii=False)},
        ending=lambda count: _ending(events, warnings, count),
    )
    emit_long(answer, output)
    if events.damage.places:
        return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if warnings else ExitCode.OK


def _ending(events: Events, warnings: Sequence[str], count: int) -> Ending:
    summary = {
        "events": count,
        "damaged_places": events.damage.places,
        "skipped_bytes": events.damage.skipped,
        "damage": damage_objects(events.damage.kept),
    }
    told = [*damage_warnings(events.damage.kept, events.damage.places), *warnings]
    return Ending(summary, told, lambda console: _verdict(console, events, warnings, count))


def _verdict(console: Console, events: Events, warnings: Sequence[str], count: int) -> None:
    places = events.damage.places
    word, color = ("DAMAGED", "red") if places else ("INCOMPLETE", "yellow") if warnings else ("OK", "green")
    print_verdict(console, word, color, "; ".join([f"{count} events", *(warnings[-1:] if not places else [])]))
