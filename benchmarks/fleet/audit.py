"""Time of `kreplica audit` over a made-up fleet: many snapshots of many clusters, a few partitions in trouble.

    python benchmarks/fleet/audit.py --clusters 100 --times 20 --partitions 500

The fleet is written once into the folder of --keep (or a temporary one) and audited by the command itself.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import BoolColumn, IntColumn, IntListColumn, StringColumn, null_column
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.store.writing import write_snapshot

START = datetime(2026, 3, 1, tzinfo=UTC)
PARTITIONS_A_TOPIC = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=500, help="of each cluster")
    parser.add_argument("--brokers", type=int, default=12, help="of each cluster")
    parser.add_argument("--keep", type=Path, help="write the fleet here, or reuse it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        if not (folder / "manifests").is_dir():
            write_fleet(folder, options)
        for form in ("table", "jsonl"):
            measure(folder, form)


def write_fleet(folder: Path, options: argparse.Namespace) -> None:
    begin = time.perf_counter()
    for cluster in range(options.clusters):
        random = np.random.default_rng(cluster)
        for hour in range(options.times):
            write_snapshot(snapshot(random, f"cluster-{cluster:04}", START + timedelta(hours=hour), options), folder)
    number = options.clusters * options.times
    print(f"wrote {number} snapshots of {options.partitions} partitions in {time.perf_counter() - begin:.1f} s")


def snapshot(
    random: np.random.Generator, name: str, taken_at: datetime, options: argparse.Namespace
) -> ClusterSnapshot:
    brokers = Table.from_rows(
        BROKERS, [{"broker": number, "rack": f"rack-{number % 3}", "alive": True} for number in range(options.brokers)]
    )
    partitions = partitions_table(random, options.partitions, options.brokers)
    return ClusterSnapshot(name, name, taken_at, "generated", partitions, brokers)


def partitions_table(random: np.random.Generator, count: int, brokers: int) -> Table:
    numbers = np.arange(count, dtype=np.int64)
    first = numbers % brokers
    replicas = np.stack([first, (first + 1) % brokers, (first + 2) % brokers], axis=1)
    out_of_sync = random.random(count) < 0.01
    kept = np.ones((count, 3), dtype=np.bool_)
    kept[:, 2] = ~out_of_sync
    topics = numbers // PARTITIONS_A_TOPIC
    names = tuple(f"topic-{number:06}" for number in range(int(topics[-1]) + 1))
    columns = {field.name: null_column(field.kind, count) for field in PARTITIONS.fields}
    columns |= {
        "topic": StringColumn(topics.astype(np.int32), names),
        "partition": IntColumn(numbers % PARTITIONS_A_TOPIC),
        "internal": BoolColumn(np.zeros(count, dtype=np.bool_)),
        "leader": IntColumn(np.where(random.random(count) < 0.001, -1, first)),
        "replicas": list_column(replicas, np.ones((count, 3), dtype=np.bool_)),
        "isr": list_column(replicas, kept),
        "min_isr": IntColumn(np.full(count, 2, dtype=np.int64)),
    }
    return Table(PARTITIONS, columns)


def list_column(values: np.ndarray, kept: np.ndarray) -> IntListColumn:
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(kept.sum(axis=1), out=offsets[1:])
    return IntListColumn(values[kept], offsets)


def measure(folder: Path, form: str) -> None:
    begin = time.perf_counter()
    command = [sys.executable, "-m", "kreplica", "audit", str(folder), "-o", form]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    lines = done.stdout.count(b"\n")
    print(
        f"audit -o {form}: {seconds:.1f} s, exit {done.returncode}, {lines} lines, peak {peak:.1f} GiB of one process"
    )


if __name__ == "__main__":
    main()
