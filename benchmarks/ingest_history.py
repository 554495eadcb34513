"""Size and cost of a history: hourly snapshots of one cluster, of whose partitions one in a hundred changes each time.

    python benchmarks/ingest_history.py --partitions 20000 --times 50

All snapshots are taken in at once, then one by one, the last of them by the command; both histories have to be equal,
byte for byte, once they are compacted.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median

import numpy as np
from fleet_snapshot import build_snapshot

from kreplica.history.ingest import Candidate, ingest, stored_snapshots
from kreplica.history.storage import LocalStorage
from kreplica.model.columns import IntColumn
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.table import Table
from kreplica.store.writing import write_snapshot

SHARE = 0.01


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        dumps, at_once, one_by_one = (Path(scratch, name) for name in ("dumps", "at once", "one by one"))
        write_snapshots(dumps, options.partitions, options.times)
        candidates, _ = stored_snapshots([dumps])
        batch = cpu_of_ingest(candidates, at_once, compact=True)
        single = [cpu_of_ingest([one], one_by_one) for one in candidates[:-1]]
        command = cpu_of_command(candidates[-1].snapshot.name, one_by_one)
        ingest(candidates[-1:], LocalStorage(one_by_one), compact=True)
        equal = named_files(at_once) == named_files(one_by_one)
        stored, kept = (size_of(folder) for folder in (dumps, at_once))
    print(f"| {options.times} snapshots of {options.partitions} partitions | |")
    print("|---|---|")
    print(f"| snapshots, MB | {stored / 1e6:.1f} |")
    print(f"| history, MB | {kept / 1e6:.2f} |")
    print(f"| times smaller | {stored / kept:.0f} |")
    print(f"| all at once, CPU s a snapshot | {batch / options.times:.3f} |")
    print(f"| one at a time in one process, CPU s, median | {median(single[1:]):.3f} |")
    print(f"| one by the command, its start included, CPU s | {command:.2f} |")
    print(f"| both histories equal once compacted | {'yes' if equal else 'no'} |")
    return 0 if equal else 1


def write_snapshots(folder: Path, partitions: int, times: int) -> None:
    random = np.random.default_rng(20_260_301)
    snapshot = build_snapshot(partitions=partitions)
    for _ in range(times):
        write_snapshot(snapshot, folder)
        snapshot = an_hour_later(snapshot, random)


def an_hour_later(snapshot: ClusterSnapshot, random: np.random.Generator) -> ClusterSnapshot:
    """Leaders of one partition in a hundred change, and all of them are written to."""
    table = snapshot.partitions
    replicas = table.lists("replicas").values.reshape(len(table), -1)
    changed = random.random(len(table)) < SHARE
    drawn = replicas[np.arange(len(table)), random.integers(0, replicas.shape[1], len(table))]
    end = IntColumn(table.integers("end_offset").values + random.integers(0, 10_000, len(table)))
    columns = {
        **table.columns,
        "leader": IntColumn(np.where(changed, drawn, table.integers("leader").values)),
        "leader_epoch": IntColumn(table.integers("leader_epoch").values + changed),
        "high_watermark": end,
        "end_offset": end,
    }
    later = snapshot.taken_at + timedelta(hours=1)
    return replace(snapshot, taken_at=later, partitions=Table(table.schema, columns))


def cpu_of_ingest(candidates: list[Candidate], history: Path, *, compact: bool = False) -> float:
    begin = time.process_time()
    ingest(candidates, LocalStorage(history), compact=compact)
    return time.process_time() - begin


def cpu_of_command(manifest: str, history: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "kreplica", "audit", "ingest", manifest, "--into", str(history)]
    subprocess.run(words, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def named_files(history: Path) -> dict[str, bytes]:
    """The newest manifest of each month, which names its files by their content."""
    newest = {str(path.parent.relative_to(history)): path for path in sorted(history.glob("*/*/manifests/*.json"))}
    return {folder: path.read_bytes() for folder, path in newest.items()}


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


if __name__ == "__main__":
    sys.exit(main())
