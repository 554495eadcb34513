"""audit resilience on the screen: the worst loss, a table of those that would have hurt, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commands.audit.shared.known_time import columns_by_cluster, known_line, names_of_clusters
from commands.shared.printing.screen import print_lines, print_rows, print_verdict, utc
from commands.shared.printing.verdicts import COLORS
from kreplica.errors import ExitCode
from kreplica.fleet.availability.losses import LostKind
from kreplica.fleet.availability.resilience import Exposure
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.fleet.availability.resilience import Resilience

MOST_ROWS = 20
"""Rows of the table at most; the other forms give all."""


def show(found: Resilience, history: str, console: Console) -> None:
    """Prints what losses would have done for a person."""
    rows = found.rows
    harmful = [row for row in rows if row.harms]
    words = {ExitCode.FINDINGS: "HARM", ExitCode.INCOMPLETE: "INCOMPLETE"}
    code, names = found.exit_code, names_of_clusters(found.clusters)
    print_verdict(console, words.get(code, "NO HARM"), COLORS[code], _sentence(rows, harmful, names))
    print_lines(console, "known", [known_line(found.clusters, found.chosen.left_out)])
    cells = {**_CELLS, "cluster": names.__getitem__}
    print_rows(console, Exposure, harmful[:MOST_ROWS], shown=columns_by_cluster(Exposure), cells=cells)
    if len(harmful) > MOST_ROWS:
        console.print(f"the worst {MOST_ROWS} of {counted(len(harmful), 'loss', 'losses')}: -o csv gives all")
    print_lines(console, "next", _next(harmful, shlex.quote(history)), whole=True)


def _sentence(rows: Sequence[Exposure], harmful: Sequence[Exposure], names: Mapping[str, str]) -> str:
    every = counted(len(rows), "broker or rack", "brokers and racks")
    if not harmful:
        return f"the loss of any one of {every} would have lost no record and stopped nothing"
    worst = harmful[0]
    done, share, most = next(some for some in _measures(worst) if some[2])
    since = f"; since {_moment(worst.since)}" if worst.since else "; not now"
    lost = f"{worst.kind} {worst.lost} of {names[worst.cluster]}"
    lead = f"for {share:.3g} % of the time the loss of {lost} would have {done}"
    return f"{lead} {counted(most, 'partition')}{since}; {len(harmful)} of {every} hurt at some time"


def _measures(row: Exposure) -> Iterator[tuple[str, float, int]]:
    """Words, share of the time and most partitions of each harm, the worst first."""
    yield "lost records of", row.loses_percent, row.loses_most
    yield "stopped reads and writes of", row.reads_percent, row.reads_most
    yield "stopped acks=all writes to", row.writes_percent, row.writes_most


def _next(harmful: Sequence[Exposure], history: str) -> Iterator[str]:
    if not harmful:
        return
    worst = harmful[0]
    option = "--broker" if worst.kind is LostKind.BROKER else "--rack"
    place = f"{history}/{shlex.quote(f'cluster={worst.cluster}@{worst.worst_at}')}"
    yield f"kreplica whatif fail --dump {place} {option} {shlex.quote(worst.lost)}"
    yield f"kreplica audit resilience {history} --cluster {shlex.quote(worst.cluster)} -o csv"


def _moment(text: str | None) -> str:
    return "-" if text is None else utc(datetime.fromisoformat(text))


def _percent(share: float) -> str:
    return f"{share:.3g}"


_CELLS: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(("loses_percent", "reads_percent", "writes_percent"), _percent),
    **dict.fromkeys(("worst_at", "since"), _moment),
}
