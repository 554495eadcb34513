"""Reads clusters in the background, several at once, and writes each snapshot as soon as it is read."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from commands.shared.printing.terminal import one_line, print_err, stderr_console
from kreplica.errors import KreplicaError
from kreplica.sources import Facet, read_snapshot
from kreplica.system.guard import attempt

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

Seen: TypeAlias = Callable[["Outcome"], None]
Read: TypeAlias = "ClusterSnapshot | KreplicaError"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result for one cluster.

    Args:
        handle: The cluster as it was named.
        snapshot: The snapshot; None if reading failed.
        manifest: Manifest of the written snapshot; None if reading or writing failed.
        bytes: Size of the data files.
        error: Why reading or writing failed.
    """

    handle: ClusterHandle
    snapshot: ClusterSnapshot | None = None
    manifest: Path | None = None
    bytes: int = 0
    error: KreplicaError | None = None

    @property
    def status(self) -> str:
        """``written``, ``partial`` (written, but something could not be read) or ``failed``."""
        if self.manifest is None or self.snapshot is None:
            return "failed"
        return "partial" if self.snapshot.gaps else "written"

    def warnings(self) -> list[str]:
        """Remarks on the settings, gaps, notes of the source, the error."""
        found = list(self.handle.warnings)
        if self.snapshot is not None:
            found += [gap.message for gap in self.snapshot.gaps]
            found += self.snapshot.notes
        return found if self.error is None else [*found, str(self.error)]


def take_snapshots(
    handles: Sequence[ClusterHandle], directory: Path, jobs: int, wanted: Facet, seen: Seen
) -> list[Outcome]:
    """Reads all clusters and writes their snapshots; a failure of one stops no other.

    The caller's thread writes, so that Ctrl-C reaches it and no snapshot is left half written; clusters still being
    read then are abandoned.

    Args:
        handles: The clusters.
        directory: The dump directory.
        jobs: How many clusters are read at once.
        wanted: What to read.
        seen: Called with each outcome as soon as it is known.

    Returns:
        Outcomes in the order of the handles.

    Raises:
        UsageError: The directory cannot be written to; said before any cluster is asked.
        KreplicaError: Only one cluster was named, and it failed.
    """
    from kreplica.store.writing import check_directory

    check_directory(directory)
    outcomes: dict[int, Outcome] = {}
    try:
        for number, read in _read_in_background(handles, wanted, jobs):
            outcomes[number] = _write(handles[number], read, directory)
            seen(outcomes[number])
    except KeyboardInterrupt:
        written = sum(outcome.manifest is not None for outcome in outcomes.values())
        print_err(f"{written} of {len(handles)} snapshots were written to {directory}, each whole")
        raise
    if len(handles) == 1 and outcomes[0].error is not None:
        raise outcomes[0].error
    return [outcomes[number] for number in range(len(handles))]


def _write(handle: ClusterHandle, read: Read, directory: Path) -> Outcome:
    from kreplica.store.manifest import read_manifest
    from kreplica.store.writing import write_snapshot

    if isinstance(read, KreplicaError):
        return Outcome(handle, error=read)
    manifest = attempt(lambda: write_snapshot(read, directory))
    if isinstance(manifest, KreplicaError):
        return Outcome(handle, snapshot=read, error=manifest)
    size = sum(file.bytes for file in read_manifest(manifest).files)
    return Outcome(handle, snapshot=read, manifest=manifest, bytes=size)


def _read_in_background(handles: Sequence[ClusterHandle], wanted: Facet, jobs: int) -> Iterator[tuple[int, Read]]:
    """Yields handle numbers with snapshots or errors, as they come; at most ``jobs`` results wait to be written."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.Queue[tuple[int, Read]] = queue.Queue(maxsize=jobs)
    for number in range(len(handles)):
        waiting.put(number)

    def work() -> None:
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((number, _read(handles[number], wanted)))

    # Daemons, not a pool: on Ctrl-C the program must not wait for a cluster that does not answer.
    for _ in range(min(jobs, len(handles))):
        threading.Thread(target=work, daemon=True).start()
    for _ in handles:
        yield done.get()


def _read(handle: ClusterHandle, wanted: Facet) -> Read:
    return attempt(lambda: read_snapshot(handle, wanted))


@contextmanager
def progress(total: int) -> Iterator[Seen]:
    """Shows on stderr how many clusters are done, on a terminal only.

    Yields:
        A function to call with each outcome.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    name = TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
    )
    columns = (SpinnerColumn(), MofNCompleteColumn(), BarColumn(20), TimeElapsedColumn(), name)
    with Progress(*columns, console=stderr_console(), transient=True, expand=True) as bar:
        task = bar.add_task("reading clusters", total=total)
        yield lambda outcome: bar.update(
            task, advance=1, description=one_line(f"{outcome.status} {outcome.handle.name}")
        )
