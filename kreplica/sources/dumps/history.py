"""A cluster in a history as a dump: ``HISTORY``, ``HISTORY/cluster=NAME``, at a moment where ``@TIME`` follows."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from kreplica.errors import UsageError
from kreplica.history.moments.as_of import cluster_as_of
from kreplica.history.selection import is_history_at
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.system.stores.locations import place_of, storage_at
from kreplica.system.stores.storage import unreadable

_DUMP = re.compile(
    r"(?P<home>.+?)(?P<cluster>/cluster=[^/@]+)?/?(?P<moment>@[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T:.+-]*Z?)?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class HistoryDump:
    """A cluster in a history.

    Args:
        home: The history, a path or ``s3://BUCKET/PREFIX``.
        cluster: Id, name or pattern of the cluster; None where the history is of one.
        moment: The moment; None for the newest snapshot.
    """

    home: str
    cluster: str | None = None
    moment: datetime | None = None

    @property
    def path(self) -> str:
        """The path that names it as a dump."""
        cluster = "" if self.cluster is None else f"/cluster={quote(self.cluster, safe='*?[]')}"
        moment = "" if self.moment is None else f"@{self.moment.isoformat()}"
        return f"{self.home.rstrip('/') or '/'}{cluster}{moment}"

    def read(self) -> ClusterSnapshot:
        """The cluster as it was.

        Raises:
            UsageError: The history has no such cluster, or no snapshot of it that old.
            InputError: What the answer needs is damaged.
        """
        return cluster_as_of(storage_at(place_of(self.home)), self.cluster, self.moment)


def history_dump(path: str) -> HistoryDump | None:
    """The cluster in a history that a dump's path names; None if it names none.

    Raises:
        UsageError: It names a cluster or a moment of what is no history.
    """
    found = _DUMP.fullmatch(path)
    if found is None or path == "-":
        return None
    if _is_history(path):
        return HistoryDump(path)
    home, cluster, moment = found["home"], found["cluster"], found["moment"]
    if cluster is None and moment is None:
        return None
    if not _is_history(home):
        if os.path.lexists(path):
            return None
        fix = "kreplica audit ingest DUMP --into DIR makes a history"
        raise UsageError(f"{home} is no history", "a cluster and a moment (--cluster, --as-of) are of a history", fix)
    name = None if cluster is None else unquote(cluster.removeprefix("/cluster="))
    return HistoryDump(home, name, None if moment is None else _moment(moment.removeprefix("@")))


def _is_history(home: str) -> bool:
    try:
        return is_history_at(place_of(home))
    except PermissionError as error:
        raise unreadable(home, error) from None
    except (OSError, ValueError):  # a name that is none: reported when it is read
        return False


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text} is no moment", fix="@2026-03-01T12:00") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
