"""The newest snapshot of a whole history: the moment that a fleet is judged at, whichever clusters are looked at."""

from __future__ import annotations

from datetime import datetime

from kreplica.history.months.layout import is_cluster_folder
from kreplica.history.selection import HistoryMonth, moment_of, month_name, months_of, open_month
from kreplica.store.selection import Wanted
from kreplica.system.guard import attempt
from kreplica.system.stores.storage import Storage


def newest_ms_in(storage: Storage, until: datetime | None = None) -> int | None:
    """Time of the newest snapshot, milliseconds since the epoch; None if none is there. Damaged months are passed by.

    Args:
        storage: Place of the history.
        until: Later ones do not count.
    """
    newest: int | None = None
    for cluster in filter(is_cluster_folder, storage.names("")):
        found = _newest_ms_of(storage, cluster, until, "" if newest is None else month_name(moment_of(newest)))
        newest = max((one for one in (newest, found) if one is not None), default=None)
    return newest


def _newest_ms_of(storage: Storage, cluster: str, until: datetime | None, since_month: str) -> int | None:
    for month in reversed(months_of(storage, cluster)):
        if month < since_month:
            return None
        if until is not None and month > month_name(until):
            continue
        folder = f"{cluster}/month={month}"
        opened = attempt(lambda folder=folder: open_month(storage, folder, Wanted(until=until), ()))  # type: ignore[misc]
        if isinstance(opened, HistoryMonth):
            return opened.seen[opened.inside[-1]].taken_ms
    return None
