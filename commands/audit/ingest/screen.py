"""audit ingest on the screen: what was added, the clusters, and what was left out."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from commands.shared.printing.screen import print_lines, print_rows, print_verdict, utc
from commands.shared.values import size_words
from kreplica.errors import ExitCode
from kreplica.history.backfill import THIS_PROCESS
from kreplica.history.ingest import IngestedCluster
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.history.ingest import Ingested


def show(found: Ingested, history: str, console: Console) -> None:
    """Prints what came of the snapshots."""
    whole = found.exit_code is ExitCode.OK
    added = counted(found.total("added"), "snapshot")
    logs = found.total("log_months")
    parts = [
        f"{added} of {counted(len(found.rows), 'cluster')} added to {history}",
        *([f"{counted(logs, 'month')} of metadata logs"] if logs else []),
        *_more(found.total("known"), "there already"),
        *_more(found.total("refused"), "older than what is kept"),
        *_more(found.total("damaged"), "damaged"),
        *_more(found.total("left_out"), "left out"),
        *_more(found.nameless, "without a cluster id"),
        *([f"{counted(found.unread, 'file')} not read"] if found.unread else []),
    ]
    if found.faults:
        parts.append(f"{counted(found.faults, 'month')} of the history damaged")
    if found.dropped:
        parts.append(f"{counted(found.dropped, 'month')} dropped")
    print_verdict(console, "OK" if whole else "INCOMPLETE", "green" if whole else "yellow", ", ".join(parts))
    if found.by != THIS_PROCESS:
        print_lines(console, "by", [found.by])
    times = {name: lambda text: utc(datetime.fromisoformat(text)) for name in ("first_taken_at", "last_taken_at")}
    print_rows(console, IngestedCluster, found.rows, cells={**times, "bytes": size_words})


def _more(number: int, words: str) -> list[str]:
    return [f"{number} {words}"] if number else []
