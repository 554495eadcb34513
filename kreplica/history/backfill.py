"""Months of a history added to, each by one call of ``MonthTask.add``: in this process, in several, or elsewhere.

A month depends on its own snapshots alone, so whoever does it makes the same files. Each is added to in one step: what
is killed in the midst leaves whole months, and the rest for the next ingest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kreplica.errors import InputError, UsageError
from kreplica.history.months.month import Added, Incoming, Month
from kreplica.model.wording.words import counted
from kreplica.system.processes import in_new_processes, processors
from kreplica.system.stores.storage import Storage

MANY = 200
"""From so many snapshots on several processes take less time, with their start."""
THIS_PROCESS = "this process"


@dataclass(frozen=True, slots=True)
class MonthTask:
    """Snapshots of one cluster and month that are to be added.

    Args:
        storage: Place of the history.
        cluster: The cluster's label.
        month: 2026-11.
        incoming: The snapshots.
        compact: Joins the month's pieces afterwards.
    """

    storage: Storage
    cluster: str
    month: str
    incoming: Sequence[Incoming]
    compact: bool = False

    def add(self) -> Added:
        """Adds to the month; where the history is damaged, none of them could be added."""
        place = Month(self.storage, self.cluster, self.month)
        try:
            added = place.add(self.incoming)
        except InputError as error:
            return Added(0, 0, left_out=tuple(self.incoming), fault=error)
        try:
            return replace(added, bytes=place.compact()) if self.compact else added
        except InputError as error:
            return replace(added, fault=error)

    @property
    def is_held(self) -> bool:
        """True if a snapshot of it is in this process's memory alone."""
        return any(one.held for one in self.incoming)


def snapshots_of(tasks: Iterable[MonthTask]) -> int:
    """Number of their snapshots."""
    return sum(len(task.incoming) for task in tasks)


class Workers(Protocol):
    """Those who add to months.

    Attributes:
        elsewhere: Whether they may stand in other folders, or on other machines.
        by: Who did it, in words.
        notes: One line for each thing that the user should know of it.
    """

    elsewhere: bool
    by: str
    notes: Sequence[str]

    def add(self, tasks: Sequence[MonthTask]) -> Iterator[Added]:
        """Adds to all of these months; the results in order, as soon as they are known."""
        ...


class ClientWorkers:
    """This process, or for many snapshots as many processes as there are processors.

    Args:
        processes: How many; as many as this process may use if None.
    """

    elsewhere = False

    def __init__(self, processes: int | None = None) -> None:
        self._processes = processes or processors()
        self.by = THIS_PROCESS
        self.notes: Sequence[str] = ()

    def add(self, tasks: Sequence[MonthTask]) -> Iterator[Added]:
        """As Workers.add.

        Raises:
            UsageError: A process was ended from outside.
        """
        far = [task for task in tasks if not task.is_held]
        count = min(self._processes, len(far))
        if count < 2 or snapshots_of(far) < MANY:
            self.by = THIS_PROCESS
            yield from map(MonthTask.add, tasks)
            return
        from concurrent.futures.process import BrokenProcessPool

        self.by = counted(count, "process", "processes")
        results = in_new_processes(MonthTask.add, far, count, apart=True)
        try:
            for task in tasks:
                yield task.add() if task.is_held else next(results)
        except BrokenProcessPool:
            reason = "the system does that where memory is short"
            fix = "months that were added to before are whole; ingest the rest again"
            raise UsageError("a process that adds to the history was ended from outside", reason, fix) from None
