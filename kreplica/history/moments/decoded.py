"""Runs of months that are decoded once for several moments of one cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from kreplica.history.coding import Coder
from kreplica.history.folding import Exceptions, Runs
from kreplica.history.months.manifest import HistoryManifest
from kreplica.history.selection import HistoryMonth
from kreplica.history.tables import HistoryTable

MOST_MONTHS = 2
"""Moments asked for in their order need no more: a month, and the one before where snapshots are partial."""


@dataclass(slots=True, eq=False)
class _Kept:
    manifest: HistoryManifest
    told: dict[str, tuple[Runs, Exceptions]] = field(default_factory=dict)
    logged: dict[str, Runs] = field(default_factory=dict)


class DecodedMonths:
    """Runs of the months of one cluster that were asked for last."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._coders: dict[tuple[str, bool], Coder] = {}

    def coder(self, table: HistoryTable, *, logged: bool = False) -> Coder:
        """The coder of all runs of a table.

        Args:
            table: The table.
            logged: Whether metadata logs tell it.
        """
        return self._coders.setdefault((table.name, logged), Coder(table))

    def told(self, month: HistoryMonth, table: HistoryTable) -> tuple[Runs, Exceptions]:
        """Runs of a table by snapshots, and what these did not know.

        Raises:
            InputError: A file is damaged, or not there.
        """
        kept, coder = self._of(month), self.coder(table)
        if table.name not in kept.told:
            kept.told[table.name] = month.runs(coder), month.exceptions(coder)
        return kept.told[table.name]

    def logged(self, month: HistoryMonth, table: HistoryTable) -> Runs:
        """Runs of a table by metadata logs.

        Raises:
            InputError: A file is damaged, or not there.
        """
        kept = self._of(month)
        if table.name not in kept.logged:
            kept.logged[table.name] = month.exact_runs(self.coder(table, logged=True))
        return kept.logged[table.name]

    def _of(self, month: HistoryMonth) -> _Kept:
        folder = month.month.folder
        kept = self._kept.pop(folder, None)
        if kept is None or kept.manifest != month.manifest:  # an ingest came between two moments
            kept = _Kept(month.manifest)
        self._kept[folder] = kept
        while len(self._kept) > MOST_MONTHS:
            del self._kept[next(iter(self._kept))]
        return kept
