"""Snapshots as a history takes them in, and what its folder holds, read by pyarrow alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from clusters.generated import snapshot_of

from kreplica.history.coding import Coder
from kreplica.history.ingest import Candidate
from kreplica.history.model import Observation, fold
from kreplica.history.months.month import Incoming
from kreplica.history.selection import HistoryMonth, KeyFilter
from kreplica.history.tables import TABLES
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.system.stores.storage import LocalStorage

TYPED = {"leader": (0, 7, -1), "elr": ([], [1], [1, -2]), "topic_id": ("", "a", "ä")}
NAMES = {"leader": "leader", "isr": "elr", "topic_id": "topic_id"}
FIXED: dict[str, Any] = {"internal": False, "replicas": [1], "isr": [1]}
"""Fields of every partition of a snapshot."""


def moment(taken_at: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=taken_at)


def values(known: Any) -> dict[str, Any]:
    """The columns that a drawn row stands for; those that are measured stand for themselves."""
    found = {}
    for name, value in known.items():
        found[NAMES.get(name, name)] = TYPED[NAMES[name]][value] if name in NAMES else value
    return found


def snapshot(one: Observation, **facts: Any) -> ClusterSnapshot:
    rows = [{"topic": key[0], "partition": key[1], **FIXED, **values(row)} for key, row in one.rows.items()]
    gaps = () if one.whole else (Gap("torn-read", "changed meanwhile", 1),)
    return snapshot_of(rows, **{"taken_at": moment(one.taken_at), "source": "kafka", "gaps": gaps, **facts})


def candidate(one: Observation, cluster: str | None = "Zk5", **facts: Any) -> Candidate:
    incoming = Incoming(one.taken_at, one.digest, lambda: snapshot(one, **facts), f"snapshot {one.digest}")
    return Candidate(cluster, "prod", incoming)


def newest_files(root: Path) -> dict[str, list[Path]]:
    """Files that the newest manifests name, by table and part."""
    found: dict[str, list[Path]] = {}
    for folder in sorted(root.glob("cluster=*/month=*/manifests")):
        manifests = sorted(folder.glob("*.json"))
        for file in json.loads(manifests[-1].read_bytes())["files"] if manifests else ():
            found.setdefault(f"{file['table']} {file['part']}", []).append(root / file["path"])
    return found


def contents(root: Path) -> dict[str, bytes]:
    """Every file that counts, and the newest manifests under one name."""
    files = [path for paths in newest_files(root).values() for path in paths]
    found = {str(path.relative_to(root)): path.read_bytes() for path in files}
    for folder in root.glob("cluster=*/month=*/manifests"):
        found[str(folder.relative_to(root))] = max(folder.glob("*.json")).read_bytes()
    return found


def stored_runs(root: Path) -> list[tuple[object, ...]]:
    """The runs of partitions as they stand in Parquet: key, known values, times."""
    files = newest_files(root)
    newest: dict[Path, object] = {}
    for path in files.get("observations whole", []):
        told = [row["taken_at"] for row in pq.ParquetFile(path).read().to_pylist() if row["partitions"] is not None]
        newest[path.parents[1]] = max(told, default=None)
    rows = [
        row | {"last_seen": newest[path.parents[1]] if row["last_observation"] is None else row["last_seen"]}
        for part in ("open", "closed")
        for path in files.get(f"partitions {part}", [])
        for row in pq.ParquetFile(path).read().to_pylist()
    ]
    times = ("valid_from", "last_seen", "valid_to")
    columns = {*TYPED, *FIXED}
    return sorted(
        (
            (row["topic"], row["partition"]),
            repr(sorted((name, row[name]) for name in columns if row[name] is not None)),
            *(str(row[name]) for name in times),
        )
        for row in rows
    )


def defined_runs(some: Sequence[Observation]) -> list[tuple[object, ...]]:
    """The same by the definition."""
    found = []
    for run in fold(some):
        known = repr(sorted({**FIXED, **values(run.values)}.items()))
        times = [str(one and moment(one.taken_at)) for one in (run.first, run.last, run.ended)]
        found.append((run.key, known, *times))
    return sorted(found)


class StoppedError(Exception):
    """Stands for the end of the process."""


class StoppingStorage(LocalStorage):
    """Ends at the change with this number, before it or right after it was made; counts changes."""

    def __init__(self, root: Path, fatal: int = -1, *, after: bool = False) -> None:
        super().__init__(root)
        self.fatal, self.after, self.changes = fatal, after, 0

    def create(self, path: str, content: bytes) -> bool:
        return self._change(lambda: super(StoppingStorage, self).create(path, content))

    def renew(self, path: str) -> bool:
        return self._change(lambda: super(StoppingStorage, self).renew(path))

    def remove(self, path: str) -> None:
        self._change(lambda: super(StoppingStorage, self).remove(path))

    def _change(self, make: Callable[[], Any]) -> Any:
        fatal = self.changes == self.fatal
        self.changes += 1
        if fatal and not self.after:
            raise StoppedError
        result = make()
        if fatal:
            raise StoppedError
        return result


def plain_run_rows(month: HistoryMonth, some: KeyFilter | None = None) -> list[tuple[object, ...]]:
    """The runs of partitions as a month gives them, in the form of ``defined_runs``."""
    coder = Coder(TABLES[0])
    runs = month.runs(coder, some)
    columns = coder.columns(runs.coded)
    names = sorted({*TYPED, *FIXED})
    lists = [columns[name].to_list() for name in names]
    keys = zip(columns["topic"].to_list(), columns["partition"].to_list(), strict=True)
    found = []
    for row, key in enumerate(keys):
        known = [(name, values[row]) for name, values in zip(names, lists, strict=True) if values[row] is not None]
        places = [int(at[row]) for at in (runs.first, runs.last, runs.ended)]
        times = [str(None if place < 0 else moment(int(month.times[place]))) for place in places]
        found.append((key, repr(known), *times))
    return found
