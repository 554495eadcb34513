"""audit incident on the screen: its story in a few lines, then the findings behind it, gathered where they are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from commands.audit.shared.moments import MOMENTS, columns_of
from commands.shared.printing.screen import (
    MOST_LISTED,
    TableColumn,
    places,
    print_columns,
    print_lines,
    print_rows,
    print_verdict,
    utc,
)
from kreplica.fleet.incidents.rows import BehindRow
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted, ids, listed

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.fleet.incidents.fleet import FoundIncident
    from kreplica.fleet.incidents.incident import Incident

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def show(found: FoundIncident, console: Console) -> None:
    """Prints one incident for a person."""
    one = found.incident
    print_verdict(console, *_word(found), _said(one))
    name = found.name if found.name == one.cluster else f"{found.name} ({one.cluster})"
    print_lines(console, "cluster", [name])
    print_lines(console, "began", [_began(one)])
    print_lines(console, "ended", [_ended(one)])
    print_lines(console, "explains", [_explains(one)])
    print_lines(console, "before", [f"{_moment(change.at_ms)}  {change.text}" for change in one.before])
    print_lines(console, "after", _after(one))
    if found.rows:
        console.print()
        _print_findings(found.rows, console)


def _word(found: FoundIncident) -> tuple[str, str]:
    one = found.incident
    if found.chosen.left_out:
        return "INCOMPLETE", "yellow"
    if one.is_planned:
        return "PLANNED", "green"
    return ("MUTED", "yellow") if one.is_muted else (one.severity.word.upper(), "red")


def _print_findings(rows: Sequence[BehindRow], console: Console) -> None:
    """Each finding, or, of many on a terminal, a line for those of one rule at the same time."""
    if not console.is_terminal or len(rows) <= MOST_LISTED:
        print_rows(console, BehindRow, rows, shown=columns_of(BehindRow, rows), cells=MOMENTS)
        return
    groups: dict[tuple[object, ...], list[BehindRow]] = {}
    for row in rows:
        groups.setdefault((row.rule, row.severity.word, row.valid_from, row.last_seen, row.valid_to), []).append(row)
    moments = [MOMENTS["valid_from"]] * 3
    lines = [
        [rule, severity, len(some), *(show(at) for show, at in zip(moments, times, strict=True)), _about(some)]
        for (rule, severity, *times), some in groups.items()
    ]
    print_columns(console, _COLUMNS, lines[:MOST_LISTED])
    more = f"the worst {MOST_LISTED} of {len(lines)} groups; " if len(lines) > MOST_LISTED else ""
    console.print(f"{more}-o csv gives each of {len(rows)} findings with its message")


_COLUMNS = (
    *map(TableColumn, ("RULE", "SEVERITY", "FINDINGS")),
    TableColumn("FROM", drop=3),
    TableColumn("LAST_SEEN", drop=1),
    TableColumn("TO", drop=2),
    TableColumn("CONCERNS", fold=True),
)


def _about(rows: Sequence[BehindRow]) -> str:
    """Partitions, topics, brokers and consumer groups that findings concern."""
    keys = sorted((row.topic, row.partition) for row in rows if row.topic is not None and row.partition is not None)
    topics = sorted({row.topic for row in rows if row.topic is not None and row.partition is None})
    brokers = sorted({row.broker for row in rows if row.topic is None and row.broker is not None})
    groups = sorted({row.group for row in rows if row.group is not None})
    named = f"{'brokers' if brokers[1:] else 'broker'} {ids(brokers)}" if brokers else ""
    parts = [places(keys), ", ".join(topics), named, ", ".join(groups)]
    return "; ".join(part for part in parts if part) or "the cluster"


def _said(one: Incident) -> str:
    return f"{one.kind} of {one.key}, {one.certainty.value}" + (": planned, no incident" if one.is_planned else "")


def _began(one: Incident) -> str:
    if one.begun_after_ms is None:
        return f"not after {_moment(one.valid_from_ms)}, where the history begins"
    if one.begun_after_ms == one.valid_from_ms:
        return f"at {_moment(one.valid_from_ms)}"
    return f"after {_moment(one.begun_after_ms)}, not after {_moment(one.valid_from_ms)}"


def _ended(one: Incident) -> str:
    if one.valid_to_ms is None:
        return f"it has not: last seen at {_moment(one.last_seen_ms)}"
    if one.valid_to_ms == one.valid_from_ms:
        return "at once: it does not last"
    least, begun = one.last_seen_ms - one.valid_from_ms, one.begun_after_ms
    most = None if begun is None else one.valid_to_ms - begun
    span = spell_duration(least // 1000) + ("" if most in (None, least) else f" to {spell_duration(most // 1000)}")
    if one.last_seen_ms == one.valid_to_ms:
        return f"at {_moment(one.valid_to_ms)}: it took {span}"
    return f"after {_moment(one.last_seen_ms)}, not after {_moment(one.valid_to_ms)}: it took {span}"


def _explains(one: Incident) -> str:
    rules = listed([f"{count} {rule}" for rule, count in one.by_rule.items()])
    muted = f"{counted(len(one.muted), 'finding')} muted" if one.muted else ""
    if not rules:
        return muted or "no finding"
    told = f"{counted(len(one.findings), 'finding')} in {counted(one.partitions, 'partition')}: {rules}"
    return f"{told}; {muted}" if muted else told


def _after(one: Incident) -> Iterator[str]:
    if one.changed is not None and one.compared_ms is not None:
        moment = _moment(one.compared_ms)
        yield from (f"{text}, at {moment}" for text in one.changed or ["all is as it was"])
    if one.left:
        yield f"{counted(len(one.left), 'finding')} of it still there"


def _moment(milliseconds: int) -> str:
    return utc(_EPOCH + timedelta(milliseconds=milliseconds))
