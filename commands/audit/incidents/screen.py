"""audit incidents on the screen: a verdict, one line a cause, what no cause explains, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from commands.audit.incidents.fitting import (
    CLUSTER_COLUMNS,
    LEAST_ROWS,
    Room,
    cells_of,
    cluster_rows,
    more_clusters,
    more_incidents,
    room_for,
)
from commands.audit.shared.applied_mutes import print_mutes
from commands.audit.shared.moments import MOMENTS, columns_of
from commands.shared.printing.screen import print_columns, print_lines, print_rows, print_verdict
from kreplica.errors import ExitCode
from kreplica.fleet.incidents.rows import IncidentRow, row_of
from kreplica.health.rules import Severity
from kreplica.model.cluster_names import told_names
from kreplica.model.wording.words import counted, listed

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.fleet.incidents.fleet import FoundIncidents

MOST_MUTES = 2
"""Mutes that a terminal shows, each in one cluster."""


def show(found: FoundIncidents, history: str, code: ExitCode, console: Console) -> None:
    """Prints the incidents for a person; the verdict says what the exit code says."""
    sentence, left, following = _sentence(found), _left(found), list(_next(found, history))
    print_verdict(console, *_word(found, code), sentence)
    names = told_names(found.names)
    muted = _print_mutes(found, names, console)
    if found.incidents:
        clusters = len({one.cluster for one in found.incidents})
        more = more_incidents(found.incidents, LEAST_ROWS), more_clusters(found.incidents, LEAST_ROWS, len(found.names))
        room = room_for(
            console, len(found.incidents), clusters, [sentence, *muted, *left, *following, *filter(None, more)]
        )
        _print_incidents(found, names, room, console)
        _print_clusters(found, names, room, console)
    print_lines(console, "left", left)
    print_lines(console, "next", following, whole=True)


def _print_mutes(found: FoundIncidents, names: Mapping[str, str], console: Console) -> list[str]:
    """Prints mutes, on a terminal a few, broken ones first; returns as many texts as lines that they may take."""
    some = sorted(found.mutes, key=lambda one: not one.is_broken)
    shown = some[:MOST_MUTES] if console.is_terminal else some
    print_mutes(shown, names, console)
    rest = len(some) - len(shown)
    if rest:
        print_lines(console, "", [f"and {rest} more by mute and cluster; -o json tells them"])
    return [""] * (2 * len(shown) + bool(rest))


def _print_incidents(found: FoundIncidents, names: Mapping[str, str], room: Room, console: Console) -> None:
    console.print()
    rows = [row_of(one) for one in found.incidents[: room.incidents]]
    cells = cells_of(console, rows, names, MOMENTS)
    print_rows(console, IncidentRow, rows, shown=columns_of(IncidentRow, rows), cells=cells)
    if more := more_incidents(found.incidents, room.incidents):
        print_lines(console, "", [more])


def _print_clusters(found: FoundIncidents, names: Mapping[str, str], room: Room, console: Console) -> None:
    if not room.clusters:
        return
    console.print()
    print_columns(console, CLUSTER_COLUMNS, cluster_rows(found.incidents, names, console)[: room.clusters])
    if more := more_clusters(found.incidents, room.clusters, len(found.names)):
        print_lines(console, "", [more])


def _left(found: FoundIncidents) -> list[str]:
    rules = found.left_over.by_rule
    if not rules:
        return []
    told = listed([f"{count} {rule}" for rule, count in rules.items()])
    return [f"no cause is known of {counted(len(found.left_over), 'finding')}: {told}"]


def _word(found: FoundIncidents, code: ExitCode) -> tuple[str, str]:
    if code is ExitCode.INCOMPLETE:
        return "INCOMPLETE", "yellow"
    real = [one.severity for one in found.incidents if not one.is_planned]
    if not real:
        return "OK", "green"
    return max(real, default=Severity.INFO).word.upper(), "red" if code is ExitCode.FINDINGS else "yellow"


def _sentence(found: FoundIncidents) -> str:
    real = [one for one in found.incidents if not one.is_planned]
    planned = len(found.incidents) - len(real)
    going = sum(one.valid_to_ms is None for one in real)
    new = "" if found.earlier is None else "new "
    number = counted(len(real), f"{new}incident") if real else f"no {new}incident"
    parts = [
        f"{number} in {counted(len(found.names), 'cluster')} and {counted(found.snapshots, 'snapshot')}",
        *([f"{counted(sum(len(one.findings) for one in real), 'finding')} explained"] if real else []),
        *([f"{going} still there"] if going else []),
        *([f"{planned} planned"] if planned else []),
        *([f"{len(found.muted)} muted"] if found.muted else []),
        *([f"{found.earlier} in the baseline"] if found.earlier else []),
        *([f"{counted(found.chosen.left_out, 'month')} left out"] if found.chosen.left_out else []),
    ]
    return ", ".join(parts)


def _next(found: FoundIncidents, history: str) -> Iterator[str]:
    for one in found.incidents[:1]:
        only = f" --cluster {shlex.quote(one.cluster)}" if len(found.names) > 1 else ""
        yield f"kreplica audit incident {one.id} {shlex.quote(history)}{only}"
