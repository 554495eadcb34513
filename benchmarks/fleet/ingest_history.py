"""Size and cost of a history: hourly snapshots, of whose partitions one in a hundred changes each time.

    python benchmarks/fleet/ingest_history.py --partitions 20000 --times 50
    python benchmarks/fleet/ingest_history.py --clusters 1000 --snapshots 24 --partitions 200 --keep FOLDER

Of one cluster all snapshots are taken in at once, then one by one, the last of them by the command; both histories have
to be equal, byte for byte, once they are compacted. Of a fleet they are taken in at once by the command and audited by
all rules, then taken in again, which must find nothing new.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import median

import numpy as np

from kreplica.history.ingest import Candidate, ingest, stored_snapshots
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import IntColumn
from kreplica.model.tables.schema import GROUPS
from kreplica.model.tables.table import Table
from kreplica.store.writing import write_snapshot
from kreplica.system import durable_files
from kreplica.system.stores.storage import LocalStorage

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.large_cluster.snapshot import build_snapshot

SHARE = 0.01


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=20_000, help="of each cluster")
    parser.add_argument("--times", "--snapshots", type=int, default=50, help="of each cluster")
    parser.add_argument("--clusters", type=int, default=1, help="a fleet, if there are several")
    parser.add_argument("--keep", type=Path, help="make the fleet here, or use the one that is there")
    options = parser.parse_args()
    if options.clusters > 1:
        return of_fleet(options.clusters, options.times, options.partitions, options.keep)
    return of_cluster(options)


def of_cluster(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        dumps, at_once, one_by_one = (Path(scratch, name) for name in ("dumps", "at once", "one by one"))
        write_snapshots(dumps, options.partitions, options.times)
        candidates, _ = stored_snapshots([dumps])
        batch = cpu_of_ingest(candidates, at_once, compact=True)
        single = [cpu_of_ingest([one], one_by_one) for one in candidates[:-1]]
        command = command_into(one_by_one, Path(candidates[-1].snapshot.name)).cpu_seconds
        ingest(candidates[-1:], LocalStorage(one_by_one), compact=True)
        equal = named_files(at_once) == named_files(one_by_one)
        stored, kept = (size_of(folder) for folder in (dumps, at_once))
        samples = size_of(at_once, "samples-*.parquet")
    print(f"| {options.times} snapshots of {options.partitions} partitions | |")
    print("|---|---|")
    print(f"| snapshots, MB | {stored / 1e6:.1f} |")
    print(f"| history, MB | {kept / 1e6:.2f} |")
    print(f"| of it samples, MB | {samples / 1e6:.2f} |")
    print(f"| times smaller | {stored / kept:.0f} |")
    print(f"| all at once, CPU s a snapshot | {batch / options.times:.3f} |")
    print(f"| one at a time in one process, CPU s, median | {median(single[1:]):.3f} |")
    print(f"| one by the command, its start included, CPU s | {command:.2f} |")
    print(f"| both histories equal once compacted | {'yes' if equal else 'no'} |")
    return 0 if equal else 1


def of_fleet(clusters: int, times: int, partitions: int, keep: Path | None) -> int:
    """Takes in a fleet by the command, as its user would, and takes it in again."""
    with tempfile.TemporaryDirectory() as scratch:
        dumps, history = (keep or Path(scratch)) / "dumps", Path(scratch, "history")
        if not dumps.is_dir():
            write_fleet(dumps, clusters, times, partitions)
        first = command_into(history, dumps)
        audited = command("audit", str(history), "--exit-zero")
        again = command_into(history, dumps)
        stored, kept = (size_of(folder) for folder in (dumps, history))
    print(f"| {clusters} clusters by {times} snapshots of {partitions} partitions | |")
    print("|---|---|")
    print(f"| snapshots, MB | {stored / 1e6:.1f} |")
    print(f"| history, MB | {kept / 1e6:.1f} |")
    print(f"| all at once by the command, CPU s | {first.cpu_seconds:.0f} |")
    print(f"| a snapshot, CPU ms | {first.cpu_seconds / clusters / times * 1000:.1f} |")
    print(f"| memory of its largest process, MiB | {first.memory_mebibytes:.0f} |")
    print(f"| audited by all rules, the whole command, CPU s | {audited.cpu_seconds:.0f} |")
    print(f"| both, CPU s | {first.cpu_seconds + audited.cpu_seconds:.0f} |")
    print(f"| memory of the largest process of both, MiB | {audited.memory_mebibytes:.0f} |")
    print(f"| the same again, CPU s | {again.cpu_seconds:.0f} |")
    added = (first.added, again.added)
    print(f"| new, first and again | {added[0]}, {added[1]} |")
    return 0 if added == (clusters * times, 0) else 1


def write_fleet(folder: Path, clusters: int, times: int, partitions: int) -> None:
    """Writes the snapshots of a fleet: clusters of one size, each with all tables and a life of its own."""
    draft = folder.with_name(f"{folder.name}.draft")
    durable_files.sync = durable_files.sync_folder = lambda _: None  # a fleet that is lost is made anew
    for number in range(clusters):
        snapshot = build_snapshot(seed=number, partitions=partitions)
        snapshot = replace(snapshot, cluster_id=f"Bench-fleet-{number:010}", groups=groups_of(snapshot))
        write_hours(draft, snapshot, times, number)
    draft.rename(folder)


def groups_of(snapshot: ClusterSnapshot) -> Table:
    """One group a topic, which has read all of it."""
    rows = snapshot.partitions.rows()
    return Table.from_rows(
        GROUPS,
        (
            {
                "group": f"readers-of-{row['topic']}",
                "topic": row["topic"],
                "partition": row["partition"],
                "offset": row["end_offset"],
            }
            for row in rows
        ),
    )


def write_snapshots(folder: Path, partitions: int, times: int) -> None:
    write_hours(folder, build_snapshot(partitions=partitions), times, 20_260_301)


def write_hours(folder: Path, snapshot: ClusterSnapshot, times: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(times):
        write_snapshot(snapshot, folder)
        snapshot = an_hour_later(snapshot, random)


def an_hour_later(snapshot: ClusterSnapshot, random: np.random.Generator) -> ClusterSnapshot:
    """Leaders of one partition in a hundred change, and all of them are written to: offsets, sizes and free space."""
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
    return replace(
        snapshot,
        taken_at=snapshot.taken_at + timedelta(hours=1),
        partitions=Table(table.schema, columns),
        replicas=_changed(snapshot.replicas, "size", random.integers(0, 10_000_000, len(snapshot.replicas))),
        log_dirs=_changed(snapshot.log_dirs, "usable_bytes", random.integers(-(2**33), 2**33, len(snapshot.log_dirs))),
        groups=_changed(snapshot.groups, "offset", random.integers(0, 10_000, len(snapshot.groups))),
    )


def _changed(table: Table, name: str, by: np.ndarray) -> Table:
    column = table.integers(name)
    return Table(table.schema, {**table.columns, name: IntColumn(column.values + by, column.valid)})


def cpu_of_ingest(candidates: list[Candidate], history: Path, *, compact: bool = False) -> float:
    begin = time.process_time()
    ingest(candidates, LocalStorage(history), compact=compact)
    return time.process_time() - begin


@dataclass(frozen=True)
class Command:
    """Cost of a command, its start and its processes included, and what it printed.

    Args:
        cpu_seconds: Of it.
        memory_mebibytes: Of the largest process so far, of this command or one before it.
        printed: Its output.
    """

    cpu_seconds: float
    memory_mebibytes: float
    printed: bytes

    @property
    def added(self) -> int:
        """Snapshots that were new to an ingest."""
        return int(json.loads(self.printed)["summary"]["added"])


def command_into(history: Path, dumps: Path) -> Command:
    """Takes dumps into a history by the command."""
    return command("audit", "ingest", str(dumps), "--into", str(history), "-o", "json")


def command(*words: str) -> Command:
    """Runs kreplica."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "kreplica", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Command(seconds, after.ru_maxrss / 1024, done.stdout)


def named_files(history: Path) -> dict[str, bytes]:
    """The newest manifest of each month, which names its files by their content."""
    newest = {str(path.parent.relative_to(history)): path for path in sorted(history.glob("*/*/manifests/*.json"))}
    return {folder: path.read_bytes() for folder, path in newest.items()}


def size_of(folder: Path, names: str = "*.parquet") -> int:
    return sum(path.stat().st_size for path in folder.rglob(names))


if __name__ == "__main__":
    sys.exit(main())
