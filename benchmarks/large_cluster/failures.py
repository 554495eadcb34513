"""Time of `kreplica whatif fail` and `kreplica roll plan` over 200,000 partitions.

    python benchmarks/large_cluster/failures.py

Every figure is of a whole process, its start included: wall time, CPU time and peak memory, the median of several runs
that take turns. The cluster is that of describe.py, and once more with every broker alive and every replica in
sync, which can be restarted. Exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from describe import Run, run

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot

KREPLICA = (sys.executable, "-c", "from commands.start import main; main()")
TARGET_CPU_SECONDS, TARGET_MEBIBYTES = 10.0, 1024.0
ASKED = {
    "whatif fail --broker 1": ("sick", "whatif", "fail", "--broker", "1"),
    "whatif fail, a third of the brokers, -o json": ("healthy", "whatif", "fail", "--rack", "a", "-o", "json"),
    "whatif fail --rolling-restart, 59 brokers": ("sick", "whatif", "fail", "--rolling-restart"),
    "roll plan, racks share no partition": ("healthy", "roll", "plan"),
    "roll plan --max-per-wave 7": ("healthy", "roll", "plan", "--max-per-wave", "7"),
    "roll plan, nothing can restart": ("sick", "roll", "plan"),
}
"""Cluster and command of each row of the table."""


def main() -> int:
    """Prints the table; 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only-write", type=Path, help="write the inputs into that folder and end")
    options = parser.parse_args()
    if options.only_write:
        write_inputs(options.partitions, options.only_write)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # In a process of its own: the kernel counts the memory of a parent as its child's until that has started.
        size = ("--partitions", str(options.partitions))
        subprocess.run([sys.executable, __file__, "--only-write", folder, *size], check=True)
        runs: dict[str, list[Run]] = {name: [] for name in ASKED}
        for _ in range(options.runs):
            for name, (cluster, *words) in ASKED.items():
                runs[name].append(run((*KREPLICA, *words, "--dump", str(folder / cluster)), allowed=(0, 1, 5)))
    return report(runs)


def write_inputs(partitions: int, folder: Path) -> None:
    """The cluster in trouble, and the same in order."""
    from snapshot import build_snapshot

    from kreplica.store.writing import write_snapshot

    sick = build_snapshot(partitions=partitions)
    write_snapshot(sick, folder / "sick")
    write_snapshot(healed(sick), folder / "healthy")


def healed(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Every broker alive, every replica in sync, every partition led by its preferred leader, every voter fetching."""
    from kreplica.model.tables.columns import IntColumn
    from kreplica.model.tables.schema import BROKERS, QUORUM
    from kreplica.model.tables.table import Table

    replicas = snapshot.lists("replicas")
    leaders = IntColumn(replicas.values[replicas.offsets[:-1]])
    columns = {**snapshot.partitions.columns, "isr": replicas, "leader": leaders}
    brokers = [{**row, "alive": True, "fenced": False} for row in snapshot.brokers.rows()]
    voters = [{**row, "last_fetch_ms": 1_000_000} for row in snapshot.quorum.rows()]
    return replace(
        snapshot,
        partitions=Table(snapshot.partitions.schema, columns),
        brokers=Table.from_rows(BROKERS, brokers),
        quorum=Table.from_rows(QUORUM, voters),
    )


def report(runs: dict[str, list[Run]]) -> int:
    """Prints a Markdown table and whether the targets were met."""
    print("| what | wall, s | CPU, s | peak, MiB |")
    print("|---|---|---|---|")
    missed = []
    for name, some in runs.items():
        wall, cpu, memory = (
            statistics.median(getattr(one, what) for one in some) for what in ("wall", "cpu", "mebibytes")
        )
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {memory:.0f} |")
        if cpu >= TARGET_CPU_SECONDS or memory >= TARGET_MEBIBYTES:
            missed.append(name)
    print(f"\ntarget of {TARGET_CPU_SECONDS:.0f} s of CPU and {TARGET_MEBIBYTES:.0f} MiB: {', '.join(missed) or 'met'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
