"""kreplica decode offsets --events: every record of the logs instead of the state they lead to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commands.decode_damage import damage_objects, damage_warnings
from commands.output import Answer, OutputFormat, Row, drop_stdout, emit
from commands.tables import print_table
from kreplica.errors import ExitCode
from kreplica.formats.batch_windows import read_windows
from kreplica.formats.damage import Damage
from kreplica.formats.damage_tally import DamageTally
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.group_records import GroupRecord, decode_group_record
from kreplica.formats.message_schema import SchemaError
from kreplica.formats.records import decode_records
from kreplica.model.schema import Kind

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.formats.offset_replay import Until
    from kreplica.formats.partition_logs import PartitionLog
    from kreplica.formats.record_columns import RecordColumns

COLUMNS = (
    "log_partition",
    "record_offset",
    "record_timestamp",
    "type",
    "group",
    "topic",
    "partition",
    "version",
    "tombstone",
    "transactional",
    "producer_id",
    "key",
    "value",
)
_SHOWN = ("log_partition", "record_offset", "type", "group", "topic", "partition", "tombstone", "value")
_WORDS = {"type", "group", "topic", "key", "value"}
_TRUTHS = {"tombstone", "transactional"}
LINES_AT_ONCE = 1000


class Events:
    """The records of logs, decoded while they are asked for; damage is known when all have been."""

    def __init__(
        self,
        logs: Sequence[PartitionLog],
        groups: Sequence[re.Pattern[str]],
        topic: re.Pattern[str] | None,
        until: Until | None,
    ) -> None:
        self.damage = DamageTally()
        self._logs, self._groups, self._topic, self._until = logs, groups, topic, until

    def __iter__(self) -> Iterator[Row]:
        for log in self._logs:
            for path in log.segments:
                with FileBytes.open(path) as source:
                    for window in read_windows(source):
                        self.damage.add(window.damage)
                        for records in decode_records(window):
                            self.damage.add(records.damage)
                            yield from self._rows(log, str(path), records)

    def _rows(self, log: PartitionLog, file: str, records: RecordColumns) -> Iterator[Row]:
        included = None if self._until is None else self._until.includes(records)
        some = records if included is None else records.take(included)
        batches = some.batches
        for index in range(len(some)):
            batch = int(some.batch[index])
            if batches.control[batch]:
                continue
            try:
                found = decode_group_record(some.key(index) or b"", some.value(index))
            except SchemaError as error:
                self._tell(file, some, index, error)
                continue
            if self._wanted(found):
                transactional = bool(batches.transactional[batch])
                producer = int(batches.producer_id[batch]) if transactional else None
                place = {"record_offset": int(some.offset[index]), "record_timestamp": int(some.timestamp[index])}
                yield {"log_partition": log.partition, **place, **_fields(found, transactional, producer)}

    def _tell(self, file: str, records: RecordColumns, index: int, error: SchemaError) -> None:
        position = int(records.batches.position[records.batch[index]])
        size = max(0, int(records.key_length[index])) + max(0, int(records.value_length[index]))
        reason = f"record at offset {records.offset[index]} is not of its type: {error.reason}"
        self.damage.add([Damage(file, position, reason, size)])

    def _wanted(self, record: GroupRecord) -> bool:
        key = record.key or {}
        if self._topic is not None and not self._topic.fullmatch(str(key.get("topic", ""))):
            return False
        return not self._groups or any(pattern.fullmatch(_group(record)) for pattern in self._groups)


def _group(record: GroupRecord) -> str:
    key = record.key or {}
    return str(key.get("group", key.get("groupId", "")))


def _fields(record: GroupRecord, transactional: bool, producer: int | None) -> Row:
    key = record.key or {}
    return {
        "type": record.type,
        "group": _group(record) or None,
        "topic": key.get("topic"),
        "partition": key.get("partition"),
        "version": record.version,
        "tombstone": record.tombstone,
        "transactional": transactional,
        "producer_id": producer,
        "key": record.key,
        "value": record.value,
    }


def show_events(events: Events, output: OutputFormat | None, warnings: Sequence[str]) -> ExitCode:
    """Prints the events; lines of JSON while they are read, other forms when all are known."""
    if output is OutputFormat.jsonl:
        _stream(events)
        told = [*damage_warnings(events.damage.kept, events.damage.places), *warnings]
        for warning in told:
            print(f"warning: {warning}", file=sys.stderr)
    else:
        answer = _answer(events, warnings)
        emit(answer, output, lambda console: _show(answer, console))
    if events.damage.places:
        return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if warnings else ExitCode.OK


def _stream(events: Events) -> None:
    import msgspec

    lines: list[bytes] = []
    try:
        for row in events:
            lines.append(msgspec.json.encode(row))
            if len(lines) == LINES_AT_ONCE:
                sys.stdout.buffer.write(b"\n".join([*lines, b""]))
                lines.clear()
        sys.stdout.buffer.write(b"\n".join([*lines, b""]))
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()


def _answer(events: Events, warnings: Sequence[str]) -> Answer:
    rows = list(events)
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
        kinds={
            name: Kind.STRING if name in _WORDS else Kind.BOOL if name in _TRUTHS else Kind.INT64 for name in COLUMNS
        },
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
