"""decode transactions on the screen: the ids and their states, then the transactions that hold consumers back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commands.decode.damage_lines import count_places
from commands.decode.transactions.answer import is_partial
from commands.shared.printing.screen import print_lines, print_table, print_verdict
from commands.shared.values import spell_duration, spell_moment
from kreplica.model.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer, Row

_STATE = ("transactional_id", "producer_id", "epoch", "state", "timeout", "age", "last_update", "partitions")
_INCOMPLETE = ("INCOMPLETE", "yellow")


def show(answer: Answer, console: Console) -> None:
    """Prints the table, the verdict, and the partitions that open transactions hold back."""
    if answer.rows:
        cells = [state_cells(row) for row in answer.rows]
        print_table([name.upper() for name in _STATE], cells, color=console.is_terminal and not console.no_color)
    scope = _scope(answer.summary, "transactional id")
    print_verdict(console, *(damaged(answer.summary, scope) or _verdict(answer.summary, scope)))
    print_lines(console, "holds", held_lines(answer))


def print_events_verdict(console: Console, summary: Mapping[str, Any]) -> None:
    """Prints the verdict below the table of all records."""
    scope = _scope(summary, "record")
    print_verdict(console, *(damaged(summary, scope) or (*_whole(summary), scope)))


def _scope(summary: Mapping[str, Any], what: str) -> str:
    found, total = summary["partitions_found"], summary["partitions"]
    known = f"{found or 'one'} of {total} partitions"
    where = f"{counted(found, 'partition') if summary['partitions_doubt'] else known} of __transaction_state"
    return f"{counted(summary['transactions'], what)} in {where}"


def _whole(summary: Mapping[str, Any]) -> tuple[str, str]:
    return _INCOMPLETE if is_partial(summary) else ("OK", "green")


def damaged(summary: Mapping[str, Any], scope: str) -> tuple[str, str, str] | None:
    """The verdict where files are damaged, None where none is."""
    places = summary["damaged_places"]
    return ("DAMAGED", "red", f"{count_places(places)} in these files; {scope}") if places else None


def _verdict(summary: Mapping[str, Any], scope: str) -> tuple[str, str, str]:
    if summary["overdue"]:
        said = f"{summary['overdue']} of {counted(summary['open'], 'open transaction')} older than the timeout"
        return "OVERDUE", "red", f"{said}; {scope}"
    if summary["open"]:
        word = "INCOMPLETE" if is_partial(summary) else "OPEN"
        return word, "yellow", f"{counted(summary['open'], 'open transaction')}, none older than its timeout; {scope}"
    return (*_whole(summary), f"no open transaction; {scope}")


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
        place_names(row["partitions"]),
    ]


def place_names(places: Any) -> list[str]:
    """The partitions of a row by their names."""
    return [f"{place['topic']}-{place['partition']}" for place in places]


def _time(timestamp: object) -> str | None:
    return spell_moment(timestamp) if isinstance(timestamp, int) else None
