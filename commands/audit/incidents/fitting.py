"""Incidents and clusters that one screen has room for, and the others gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from commands.shared.printing.screen import GAP, TableColumn, wrapped
from kreplica.health.rules import Severity
from kreplica.model.wording.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rich.console import Console

    from kreplica.fleet.incidents.incident import Incident
    from kreplica.fleet.incidents.rows import IncidentRow

MOST_INCIDENTS, MOST_CLUSTERS = 25, 10
"""Rows of both tables where the output is no terminal."""
LEAST_ROWS = 3
"""Rows of each table on the smallest of terminals."""
NARROW = 120
"""Columns below which times are short and names are cut, so that an incident is one line."""
MOST_KINDS = 4
_BESIDES = 8
"""Lines of a screen for two blanks, two headers, three of columns that are left out, and the prompt."""
CLUSTER_COLUMNS = (
    TableColumn("CLUSTER"),
    TableColumn("WORST"),
    TableColumn("INCIDENTS"),
    TableColumn("STILL THERE"),
    TableColumn("FINDINGS", drop=2),
    TableColumn("CAUSES", drop=1),
)


@dataclass(frozen=True, slots=True)
class Room:
    """Numbers of rows.

    Args:
        incidents: Of the table of incidents.
        clusters: Of the table of clusters; 0 where there is no such table.
    """

    incidents: int
    clusters: int


def room_for(console: Console, incidents: int, clusters: int, others: Sequence[str]) -> Room:
    """Rows that fit on the screen beside other lines.

    Args:
        console: The screen.
        incidents: Number of incidents.
        clusters: Number of clusters with incidents.
        others: Texts that are printed besides.
    """
    tables = clusters if clusters > 1 else 0
    if not console.is_terminal:
        return Room(min(incidents, MOST_INCIDENTS), min(tables, MOST_CLUSTERS))
    free = console.height - _BESIDES - sum(len(wrapped(console, text)) for text in others)
    if not tables:
        return Room(min(incidents, max(free, LEAST_ROWS)), 0)
    of_clusters = min(tables, max(LEAST_ROWS, free * 2 // 5, free - incidents))
    return Room(min(incidents, max(free - of_clusters, LEAST_ROWS)), of_clusters)


def cells_of(
    console: Console, rows: Sequence[IncidentRow], names: Mapping[str, str], moments: Mapping[str, Callable[[Any], str]]
) -> dict[str, Callable[[Any], object]]:
    """Forms of values with which each incident is one line.

    Args:
        console: The screen.
        rows: The incidents.
        names: Names of clusters by label.
        moments: Forms of times where there is room.
    """
    cells: dict[str, Callable[[Any], object]] = {**moments, "cluster": lambda label: names.get(label, label)}
    if not console.is_terminal or console.width >= NARROW or not rows:
        return cells
    years = {row.valid_from[:4] for row in rows} | {row.valid_to[:4] for row in rows if row.valid_to}
    form = "%m-%d %H:%M" if len(years) == 1 else "%Y-%m-%d %H:%M"
    taken = 12 + max(len(row.kind) for row in rows) + len(f"{datetime(2026, 1, 1):{form}}") + 4 * GAP  # noqa: DTZ001
    rest = console.width - taken
    severity = max(len(row.severity.word) for row in rows) + GAP
    if rest - severity >= 2 * LEAST_KEY:  # else the table leaves the severity out
        rest -= severity
    key = max(LEAST_KEY, min(max(len(row.key) for row in rows), rest // 2))
    name = max(LEAST_KEY, rest - key)
    for column in moments:
        cells[column] = lambda text: "-" if text is None else f"{datetime.fromisoformat(text):{form}}"
    cells["key"] = lambda text: cut(text, key)
    cells["cluster"] = lambda label: cut(names.get(label, label), name)
    return cells


LEAST_KEY = 12
"""Characters of a name that are left at least."""


def cut(text: str, length: int) -> str:
    """A text, or the beginning of it where it is too long."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def more_incidents(incidents: Sequence[Incident], shown: int) -> str:
    """A line on the incidents that are not shown; empty where all are."""
    rest = incidents[shown:]
    if not rest:
        return ""
    clusters = len({one.cluster for one in rest})
    kinds = kinds_of(rest)
    others = f"the others, in {counted(clusters, 'cluster')}: {kinds}"
    return f"the worst {shown} of {len(incidents)}; {others}; -o jsonl gives all"


def kinds_of(incidents: Sequence[Incident], most: int = MOST_KINDS) -> str:
    """Numbers of incidents by kind, the most frequent first."""
    kinds = Counter(one.kind for one in incidents).most_common()
    kinds.sort(key=lambda pair: (-pair[1], pair[0]))
    rest = sum(number for _, number in kinds[most:])
    return listed(
        [
            *(f"{number} {kind}" for kind, number in kinds[:most]),
            *([f"{rest} other{'s' if rest > 1 else ''}"] if rest else []),
        ]
    )


def cluster_rows(incidents: Sequence[Incident], names: Mapping[str, str], console: Console) -> list[list[object]]:
    """A row for each cluster with incidents, the worst first.

    Args:
        incidents: The incidents.
        names: Names of clusters by label.
        console: The screen.
    """
    by_cluster: dict[str, list[Incident]] = {}
    for one in incidents:
        by_cluster.setdefault(one.cluster, []).append(one)
    ranked = sorted(by_cluster.items(), key=lambda pair: _rank(*pair))
    narrow = console.is_terminal and console.width < NARROW
    room = max(LEAST_KEY, console.width - 52) if narrow else 60
    found: list[list[object]] = []
    for label, some in ranked:
        name = names.get(label, label)
        worst = max((one.severity for one in some), key=lambda severity: severity.rank)
        going = sum(one.valid_to_ms is None for one in some)
        findings = sum(len(one.findings) for one in some)
        cells: list[object] = [cut(name, 30) if narrow else name, worst.word, len(some), going, findings]
        found.append([*cells, cut(kinds_of(some, 2), room)])
    return found


def _rank(label: str, some: Sequence[Incident]) -> tuple[object, ...]:
    """Sorts clusters with the gravest incidents that go on first, then those with most."""
    severities = [(one.severity.rank, one.valid_to_ms is None) for one in some]
    worst = max(severities)
    return -worst[0], -worst[1], -severities.count(worst), -len(some), label


def more_clusters(incidents: Sequence[Incident], shown: int, every: int) -> str:
    """A line on the clusters that are not shown; empty where all are.

    Args:
        incidents: The incidents.
        shown: Number of clusters that are.
        every: Number of clusters that were looked at.
    """
    worst: dict[str, Severity] = {}
    for one in incidents:
        worst[one.cluster] = max(worst.get(one.cluster, one.severity), one.severity, key=lambda severity: severity.rank)
    if every == shown:
        return ""
    counts = Counter(severity.word for severity in worst.values())
    words = [f"{counts[severity.word]} {severity.word}" for severity in reversed(Severity) if counts[severity.word]]
    calm = every - len(worst)
    told = listed([*words, *([f"{calm} without an incident"] if calm else [])])
    return f"the worst {shown} of {counted(every, 'cluster')}: {told}; --cluster NAME tells one"
