"""decode transactions on the screen: the ids and their states, then what holds consumers back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commands.decode_damage import count_places
from commands.durations import spell_duration
from commands.moments import spell_moment
from commands.screen import counted, print_lines, print_verdict
from commands.tables import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from commands.output import Answer, Row

_STATE = ("transactional_id", "producer_id", "epoch", "state", "timeout", "age", "last_update", "partitions")
_INCOMPLETE = ("INCOMPLETE", "yellow")
_EVENT = ("partition", "offset", "time", "transactional_id", "producer_id", "epoch", "state", "partitions")


def show(answer: Answer, console: Console, *, events: bool) -> None:
    """Prints the table, the verdict, and what open transactions hold back."""
    if answer.rows:
        cells = [_event_cells(row) if events else state_cells(row) for row in answer.rows]
        header = _EVENT if events else _STATE
        print_table([name.upper() for name in header], cells, color=console.is_terminal and not console.no_color)
    word, color, sentence = _verdict(answer.summary, events)
    print_verdict(console, word, color, sentence)
    if not events:
        print_lines(console, "holds", held_lines(answer))


def _verdict(summary: Mapping[str, Any], events: bool) -> tuple[str, str, str]:
    found, total = summary["partitions_found"], summary["partitions"]
    scope = counted(summary["transactions"], "record" if events else "transactional id")
    known = f"{found or 'one'} of {total} partitions"
    scope += f" in {counted(found, 'partition') if summary['partitions_doubt'] else known} of __transaction_state"
    whole = ("OK", "green") if not (summary["partitions_missing"] or summary["partitions_doubt"]) else _INCOMPLETE
    if summary["damage"]:
        return "DAMAGED", "red", f"{count_places(len(summary['damage']))} in these files; {scope}"
    if events:
        return (*whole, scope)
    if summary["overdue"]:
        said = f"{summary['overdue']} of {counted(summary['open'], 'open transaction')} older than the timeout"
        return "OVERDUE", "red", f"{said}; {scope}"
    if summary["open"]:
        return "OPEN", "yellow", f"{counted(summary['open'], 'open transaction')}, none older than its timeout; {scope}"
    return (*whole, f"no open transaction; {scope}")


def held_lines(answer: Answer) -> list[str]:
    """A line for each partition of an open transaction."""
    lines = []
    for row in answer.rows:
        partitions = row["partitions"]
        assert isinstance(partitions, list)
        if row["age_ms"] is None:
            continue
        for place in partitions:
            first = place["first_offset"]
            where = (
                f"from offset {first}" if first is not None else "(its log was not among the files, or has none of it)"
            )
            by = row["transactional_id"] or f"producer {row['producer_id']}"
            lines.append(f"{place['topic']}-{place['partition']} {where}, by {by}")
    return [f"{line}: read_committed consumers wait there" for line in lines]


def state_header() -> Sequence[str]:
    """Titles of ``state_cells``."""
    return _STATE


def state_cells(row: Row) -> list[object]:
    """A row of the table of transactions."""
    age, timeout, update = row["age_ms"], row["timeout_ms"], row["last_update_timestamp"]
    return [
        row["transactional_id"],
        row["producer_id"],
        row["producer_epoch"],
        row["state"],
        spell_duration(timeout / 1000) if isinstance(timeout, int) else None,
        spell_duration(age / 1000) if isinstance(age, int) else None,
        _time(update),
        _places(row),
    ]


def _event_cells(row: Row) -> list[object]:
    return [
        row["coordinator_partition"],
        row["record_offset"],
        _time(row["record_timestamp"]),
        row["transactional_id"],
        row["producer_id"],
        row["producer_epoch"],
        row["state"],
        _places(row),
    ]


def _places(row: Row) -> list[str]:
    partitions = row["partitions"]
    assert isinstance(partitions, list)
    return [f"{place['topic']}-{place['partition']}" for place in partitions]


def _time(timestamp: object) -> str | None:
    return spell_moment(timestamp) if isinstance(timestamp, int) else None
