"""decode transactions on the screen: the ids and their states, then the transactions that hold consumers back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commands.decode.damage_lines import count_places
from commands.decode.transactions.answer import is_partial
from commands.shared.printing.screen import print_lines, print_rows, print_verdict
from commands.shared.values import spell_duration, spell_moment
from kreplica.formats.transactions.reading import TransactionRow
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer

_STATE = (
    *("transactional_id", "producer_id", "producer_epoch", "state"),
    *("timeout_ms", "age_ms", "last_update_timestamp", "partitions"),
)
_INCOMPLETE = ("INCOMPLETE", "yellow")


def show(answer: Answer[TransactionRow], console: Console) -> None:
    """Prints the table, the verdict, and the partitions that open transactions hold back."""
    print_states(console, answer.rows)
    scope = _scope(answer.summary, "transactional id")
    print_verdict(console, *(damaged(answer.summary, scope) or _verdict(answer.summary, scope)))
    print_lines(console, "holds", held_lines(answer.rows))


def print_events_verdict(console: Console, summary: Mapping[str, Any]) -> None:
    """Prints the verdict below the table of all records."""
    scope = _scope(summary, "record")
    print_verdict(console, *(damaged(summary, scope) or (*_whole(summary), scope)))


def _scope(summary: Mapping[str, Any], what: str) -> str:
    found, total = summary["partitions_found"], summary["partitions"]
    known = f"{found or 'one'} of {counted(total, 'partition')}"
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


def held_lines(rows: Sequence[TransactionRow]) -> list[str]:
    """A line for each partition of an open transaction."""
    lines = []
    for row in rows:
        if row.age_ms is None:
            continue
        for place in row.partitions:
            first = place["first_offset"]
            where = (
                f"from offset {first}" if first is not None else "(its log was not among the files, or has none of it)"
            )
            by = row.transactional_id or f"producer {row.producer_id}"
            lines.append(f"{place['topic']}-{place['partition']} {where}, by {by}")
    return [f"{line}: read_committed consumers wait there" for line in lines]


def print_states(console: Console, rows: Sequence[TransactionRow]) -> None:
    """Prints the table of transactions."""
    cells: dict[str, Callable[[Any], object]] = {"timeout_ms": _length, "age_ms": _length, "partitions": place_names}
    print_rows(console, TransactionRow, rows, shown=_STATE, cells={**cells, "last_update_timestamp": spell_moment})


def _length(milliseconds: int) -> str:
    return spell_duration(milliseconds / 1000)


def place_names(places: Any) -> list[str]:
    """The partitions of a row by their names."""
    return [f"{place['topic']}-{place['partition']}" for place in places]
