"""Cost of `kreplica audit resilience`, `audit slo` and `audit incidents` over the history of a fleet.

    python benchmarks/fleet/resilience.py --clusters 20 --partitions 20000 --times 50

Hourly snapshots, in each of which one partition in a hundred has changed. Figures are CPU seconds of all processes of
the command, its start included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ingest_history import an_hour_later

from kreplica.fleet.availability.timeline import Timeline, timelines_of
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.large_cluster.snapshot import build_snapshot  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        history = Path(scratch)
        snapshots = list(hourly(options.partitions, options.times))
        for number in range(options.clusters):
            ingest([candidate(f"c{number:03}", at, one) for at, one in enumerate(snapshots)], LocalStorage(history))
        timelines = timelines_of(LocalStorage(history), Wanted()).by_cluster().values()
        rows = [len(Timeline(months).partitions) for months in timelines]
        print(f"| {options.clusters} clusters, {options.times} snapshots of {options.partitions} partitions each | |")
        print("|---|---|")
        print(f"| rows of snapshots | {options.clusters * options.times * options.partitions:,} |")
        print(f"| intervals | {sum(rows):,} |")
        for words in (("resilience",), ("slo",), ("incidents",)):
            print(f"| audit {' '.join(words)}, CPU s | {cpu_of('audit', *words, str(history)):.2f} |")
    return 0


def hourly(partitions: int, times: int) -> Iterator[ClusterSnapshot]:
    random = np.random.default_rng(20_260_301)
    snapshot = build_snapshot(partitions=partitions)
    for _ in range(times):
        yield snapshot
        snapshot = an_hour_later(snapshot, random)


def candidate(cluster: str, at: int, snapshot: ClusterSnapshot) -> Candidate:
    taken_ms = round(snapshot.taken_at.timestamp() * 1000)
    return Candidate(cluster, cluster, Incoming(taken_ms, f"{at:04}", lambda: snapshot, f"snapshot {at}", held=True))


def cpu_of(*words: str) -> float:
    command = (sys.executable, "-c", "from commands.start import main; main()", *words)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, check=False, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.returncode in (0, 1, 5), words
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
