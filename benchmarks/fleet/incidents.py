"""A month of incidents of a fleet: processor time, the memory of the largest process, and the screen.

    python benchmarks/fleet/incidents.py --clusters 1000 --partitions 60 --hours 720 --keep FOLDER

Hourly snapshots of clusters in which partitions fall out of sync and brokers fail. So many lives are made as
``--lives`` says; the other clusters are copies of them under other names, which cost as much to read and to judge.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np
from audit_over_time import START, Cluster
from resilience import candidate

from kreplica.history.ingest import ingest
from kreplica.system.stores.storage import LocalStorage

MOST_MEBIBYTES = 2048


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--lives", type=int, default=20, help="clusters that are made; the others are copies")
    parser.add_argument("--partitions", type=int, default=60)
    parser.add_argument("--hours", type=int, default=720)
    parser.add_argument("--keep", type=Path, help="make the history here, or use the one that is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        history = (options.keep or Path(scratch)) / "history"
        if not history.is_dir():
            make(history, options)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = (sys.executable, "-c", "from commands.start import main; main()", "audit", "incidents", str(history))
        shown = subprocess.run(words, stdout=subprocess.PIPE, check=False, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print(shown.stdout)
    print(f"| {options.clusters} clusters by {options.hours} snapshots of {options.partitions} partitions | |")
    print("|---|---|")
    print(f"| audit incidents, CPU s | {used:.0f} |")
    print(f"| memory of its largest process, MiB | {after.ru_maxrss / 1024:.0f} |")
    print(f"| load | {os.getloadavg()[0]:.0f} |")
    return 0 if shown.returncode == 1 and after.ru_maxrss < MOST_MEBIBYTES * 1024 else 1


def make(history: Path, options: argparse.Namespace) -> None:
    lives = min(options.lives, options.clusters)
    for number in range(lives):
        cluster, snapshots = Cluster(np.random.default_rng(number), options.partitions), []
        for hour in range(options.hours):
            snapshots.append(cluster.snapshot(label(number), START + timedelta(hours=hour)))
            cluster.an_hour_later(hour)
        ingest([candidate(label(number), at, one) for at, one in enumerate(snapshots)], LocalStorage(history))
    for number in range(lives, options.clusters):
        copy(history, label(number % lives), label(number))


def label(number: int) -> str:
    return f"cluster-{number:04}"


def copy(history: Path, one: str, other: str) -> None:
    """Copies the months of a cluster under another label: files hold no label, manifests do."""
    folder = history / f"cluster={other}"
    shutil.copytree(history / f"cluster={one}", folder)
    for manifest in folder.glob("*/manifests/*.json"):
        manifest.write_text(manifest.read_text(encoding="utf-8").replace(one, other), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
