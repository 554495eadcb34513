"""history on the screen: a verdict, the stretches of each cluster, and how old the newest snapshot is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commands.shared.printing.screen import print_lines, print_rows, print_verdict, utc
from kreplica.errors import ExitCode
from kreplica.history.lives.reading import LivedCluster, Lives
from kreplica.history.lives.rows import ClusterPeriod, CommittedOffset, told_value
from kreplica.history.lives.stretches import StretchKind
from kreplica.model.tables.rows import fields_of
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console


def show(found: Lives, console: Console) -> None:
    """Prints the lives for a person."""
    whole = found.exit_code is ExitCode.OK
    print_verdict(console, "OK" if whole else "INCOMPLETE", "green" if whole else "yellow", _sentence(found))
    if found.row is ClusterPeriod:
        cells = {**_TIMES, "longest_pause_seconds": lambda seconds: "-" if seconds is None else spell_duration(seconds)}
        print_rows(console, found.row, found.rows, cells=cells)
        return
    for cluster in found.clusters:
        name = cluster.name if cluster.name == cluster.cluster else f"{cluster.name} ({cluster.cluster})"
        print_lines(console, "cluster", [f"{name}, {counted(cluster.snapshots, 'snapshot')}"])
        print_rows(console, found.row, cluster.rows, cells=_CELLS, shown=_shown(found))
        print_lines(console, "newest", [_newest(cluster, found)])


def _sentence(found: Lives) -> str:
    snapshots = counted(sum(one.snapshots for one in found.clusters), "snapshot")
    left_out = f"; {counted(found.chosen.left_out, 'month')} left out" if found.chosen.left_out else ""
    if found.row is ClusterPeriod:
        return f"{counted(len(found.rows), 'cluster')}, {snapshots}{left_out}"
    if found.row is CommittedOffset:
        return f"{found.what}: committed offsets of {counted(len(found.rows), 'partition')}{left_out}"
    states = sum(getattr(row, "kind", None) is StretchKind.STATE for row in found.rows)
    logs = " and metadata logs" if _is_logged(found) else ""
    return f"{found.what}: {counted(states, 'state')} in {snapshots}{logs}{left_out}"


def _shown(found: Lives) -> list[str]:
    """Columns of the table: without the one on logs where none tells anything."""
    names = [field.name for field in fields_of(found.row) if field.meaning.screen]
    return names if _is_logged(found) else [name for name in names if name != "exact"]


def _is_logged(found: Lives) -> bool:
    return any(getattr(row, "exact", False) for row in found.rows)


def _newest(cluster: LivedCluster, found: Lives) -> str:
    from datetime import UTC, timedelta

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=cluster.newest_ms)
    age = Lives(found.what, found.row, [cluster]).age_seconds() or 0
    return f"{utc(moment)}, {spell_duration(abs(age))} {'old' if age >= 0 else 'in the future'}"


def _moment(text: str | None) -> str:
    return "-" if text is None else utc(datetime.fromisoformat(text))


_TIMES: Mapping[str, Callable[[Any], str]] = dict.fromkeys(
    ("valid_from", "last_seen", "valid_to", "sampled_at", "later_sampled_at", "seen_at"), _moment
)
_CELLS: Mapping[str, Callable[[Any], str]] = {
    **_TIMES,
    "leader": lambda leader: told_value("leader", leader),
    "isr": lambda isr: told_value("isr", tuple(isr)),
}
