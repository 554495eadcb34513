"""Cost of choosing a few snapshots among many, by the names of their files: a dump directory and a history.

    python benchmarks/fleet/choose_snapshots.py [--clusters 1000] [--hours 24] [--months 24] [--runs 5]

Prints processor time beyond the start of Python and its imports, the least of some runs. Most manifests are empty
files: what is not wanted is not opened, and would be counted as damaged if it were.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kreplica.history.ingest import ingest, stored_snapshots
from kreplica.history.selection import choose
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.store.layout import SnapshotName, path_segment
from kreplica.store.selection import Wanted, select_snapshots
from kreplica.store.writing import write_snapshot
from kreplica.system.stores.storage import LocalStorage

START = datetime(2026, 11, 1, tzinfo=UTC)
WANTED = "cluster-0007"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24, help="snapshots of each cluster")
    parser.add_argument("--months", type=int, default=24, help="months of each cluster in the history")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dumps, history = Path(folder, "dumps"), Path(folder, "history")
        write_dumps(dumps, options.clusters, options.hours)
        write_history(dumps, history, options.clusters, options.months)
        total = options.clusters * options.hours
        last = START + timedelta(hours=options.hours - 2)
        for what, wanted in (("id", Wanted((WANTED,), last)), ("name", Wanted(("prod-7",), last))):
            seconds, number = least(
                options.runs, lambda wanted=wanted: len(select_snapshots([dumps], wanted).snapshots)
            )
            print(f"{number} of {total} snapshots by {what} and time: {seconds:.3f} CPU s")
        seconds, number = least(
            options.runs, lambda: len(choose(LocalStorage(history), Wanted((WANTED,), START)).months)
        )
        print(f"{number} of {options.clusters * options.months} months by id and time: {seconds:.3f} CPU s")


def least(runs: int, work: Callable[[], int]) -> tuple[float, int]:
    """Least processor time of some runs after one that imports what is needed, and what the last one gave."""
    found, seconds = work(), []
    for _ in range(runs):
        begun = time.process_time()
        found = work()
        seconds.append(time.process_time() - begun)
    return min(seconds), found


def write_dumps(folder: Path, clusters: int, hours: int) -> None:
    (folder / "manifests").mkdir(parents=True)
    for cluster in range(clusters):
        label = f"cluster-{cluster:04}"
        for hour in range(hours):
            at = START + timedelta(hours=hour)
            if label == WANTED or hour == hours - 1:  # the newest one of each cluster tells its name
                rows = [{"topic": "t", "partition": 0, "internal": False, "replicas": [1], "isr": [1]}]
                tables = {"partitions": Table.from_rows(PARTITIONS, rows), "brokers": Table.from_rows(BROKERS, [])}
                write_snapshot(ClusterSnapshot(label, f"prod-{cluster}", at, "kafka", **tables), folder)
            else:
                (folder / SnapshotName(at, path_segment(label), f"{hour:012x}").manifest).touch()


def write_history(dumps: Path, folder: Path, clusters: int, months: int) -> None:
    own = sorted((dumps / "manifests").glob(f"*-{WANTED}-*"))
    ingest(stored_snapshots(own)[0], LocalStorage(folder))
    for cluster in range(clusters):
        for month in range(months):
            name = f"month={2024 + month // 12}-{month % 12 + 1:02}"
            (folder / f"cluster=cluster-{cluster:04}" / name).mkdir(parents=True, exist_ok=True)


if __name__ == "__main__":
    main()
