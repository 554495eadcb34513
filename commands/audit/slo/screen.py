"""audit slo on the screen: whether the objective was met, the worst downtimes, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commands.audit.shared.known_time import columns_by_cluster, known_line, names_of_clusters
from commands.shared.printing.screen import print_lines, print_rows, print_verdict, utc
from commands.shared.printing.verdicts import COLORS
from kreplica.errors import ExitCode
from kreplica.fleet.availability.outage_causes import NOT_KNOWN
from kreplica.fleet.availability.slo import Downtime, Standing
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.fleet.availability.slo import Service

MOST_ROWS = 20
"""Rows of the table at most; the other forms give all."""


def show(found: Service, history: str, console: Console) -> None:
    """Prints downtimes for a person."""
    rows, code, names = found.rows, found.exit_code, names_of_clusters(found.clusters)
    words = {ExitCode.FINDINGS: "MISSED", ExitCode.INCOMPLETE: "INCOMPLETE"}
    print_verdict(console, words.get(code, "MET"), COLORS[code], _sentence(found, rows, names))
    print_lines(console, "known", [known_line(found.clusters, found.chosen.left_out)])
    cells = {**_CELLS, "cluster": names.__getitem__}
    print_rows(console, Downtime, rows[:MOST_ROWS], cells=cells, shown=_shown(rows))
    if len(rows) > MOST_ROWS:
        console.print(f"the worst {MOST_ROWS} of {len(rows)}: -o csv gives all")
    print_lines(console, "next", _next(rows, shlex.quote(history)), whole=True)


def _sentence(found: Service, rows: Sequence[Downtime], names: Mapping[str, str]) -> str:
    if not rows:
        return f"no outage of {counted(len(found.clusters), 'cluster')} in the time known"
    worst = rows[0]
    name = names[worst.cluster]
    of = name if worst.topic is None else f"{worst.topic} of {name}"
    least, most = worst.writes_least_minutes, worst.writes_most_minutes
    between = f"{_number(least)} min" if least == most else f"{_number(least)} to {_number(most)} min"
    by = f" ({', '.join(map(_cause, worst.causes[:2]))})" if worst.causes else ""
    said = f"{of} had {between} without writes{by}; {found.objective:g} % allow {_number(worst.budget_minutes)} min"
    missed, unsure = (sum(row.standing is standing for row in rows) for standing in (Standing.MISSED, Standing.UNSURE))
    return f"{said}; {missed} of {len(rows)} missed, {unsure} unsure"


def _shown(rows: Sequence[Downtime]) -> list[str]:
    names = columns_by_cluster(Downtime)
    return names if any(row.topic is not None for row in rows) else [name for name in names if name != "topic"]


def _cause(cause: str) -> str:
    return "cause not known" if cause == NOT_KNOWN else cause


def _next(rows: Sequence[Downtime], history: str) -> Iterator[str]:
    if not rows:
        return
    worst = rows[0]
    cluster = shlex.quote(worst.cluster)
    if worst.topic is not None:
        yield f"kreplica history {shlex.quote(worst.topic)} --in {history} --cluster {cluster}"
        yield f"kreplica audit slo {history} --cluster {cluster} --by cause"
    yield f"kreplica describe --dump {history} --cluster {cluster} --as-of {worst.first_at} --group-by cause"


def _number(minutes: float) -> str:
    return f"{minutes:.3g}" if abs(minutes) < 1000 else f"{minutes:.0f}"


_MINUTES = tuple(
    f"{name}_minutes" for name in ("writes_least", "writes_most", "reads_least", "reads_most", "left_least")
)
_CELLS: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(_MINUTES, _number),
    **dict.fromkeys(("first_at", "last_at"), lambda text: utc(datetime.fromisoformat(text))),
    "causes": ", ".join,
}
