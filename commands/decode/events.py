"""kreplica decode offsets --events: every record of the logs instead of the state they lead to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commands.decode.damage_lines import damage_objects, damage_warnings
from commands.shared.printing.output import OutputFormat
from commands.shared.printing.screen import print_verdict
from commands.shared.printing.streams import Ending, LongAnswer, emit_long
from kreplica.errors import ExitCode
from kreplica.formats.consumer_offsets.events import EVENTS, JSON_COLUMNS
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.formats.consumer_offsets.events import OffsetEvents

COLUMNS = EVENTS.names
_SHOWN = ("log_partition", "record_offset", "type", "group", "topic", "partition", "tombstone", "offset", "value")


def show_events(events: OffsetEvents, output: OutputFormat | None, warnings: Sequence[str]) -> ExitCode:
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


def _ending(events: OffsetEvents, warnings: Sequence[str], count: int) -> Ending:
    summary = {
        "events": count,
        "damaged_places": events.damage.places,
        "skipped_bytes": events.damage.skipped,
        "damage": damage_objects(events.damage.kept),
    }
    told = [*damage_warnings(events.damage.kept, events.damage.places), *warnings]
    return Ending(summary, told, lambda console: _verdict(console, events, warnings, count))


def _verdict(console: Console, events: OffsetEvents, warnings: Sequence[str], count: int) -> None:
    places = events.damage.places
    word, color = ("DAMAGED", "red") if places else ("INCOMPLETE", "yellow") if warnings else ("OK", "green")
    print_verdict(console, word, color, "; ".join([counted(count, "event"), *(warnings[-1:] if not places else [])]))
