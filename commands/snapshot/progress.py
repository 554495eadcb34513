"""Progress of kreplica snapshot on a terminal: how many clusters are done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commands.shared.printing.terminal import one_line, stderr_console

if TYPE_CHECKING:
    from kreplica.monitoring.snapshots.taking import Seen, TakenSnapshot


@contextmanager
def progress(total: int, done: list[TakenSnapshot]) -> Iterator[Seen]:
    """Shows on stderr how many clusters are done, on a terminal only.

    Args:
        total: Number of clusters.
        done: Each result is added to it.

    Yields:
        A function to call with each outcome.
    """
    if not sys.stderr.isatty():
        yield done.append
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    name = TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
    )
    columns = (SpinnerColumn(), MofNCompleteColumn(), BarColumn(20), TimeElapsedColumn(), name)
    with Progress(*columns, console=stderr_console(), transient=True, expand=True) as bar:
        task = bar.add_task("reading clusters", total=total)

        def seen(one: TakenSnapshot) -> None:
            done.append(one)
            bar.update(task, advance=1, description=one_line(f"{one.status} {one.handle.name}"))

        yield seen
