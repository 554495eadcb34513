"""Time of `kreplica decode offsets` over a segment of __consumer_offsets, compared with Kafka's own tool.

    python benchmarks/decoding/offsets.py
    python benchmarks/decoding/offsets.py --mebibytes 1024 --keep /tmp

Every figure is of a whole process, its start included: wall time, CPU time (children too) and peak memory of the
largest process. It is the least of several runs that take turns, since other work on the machine only adds. The segment
is written by a real broker (offsets_segment.py). Kafka's DumpLogSegments with its offsets decoder prints to /dev/null,
with the options and heap of kafka-run-class.sh; kreplica prints its state as CSV, and every event as Parquet. The
second table is of one process that has imported all it needs. Exits 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from crc32c import crc32c
from offsets_segment import write_segment

KREPLICA = (sys.executable, "-c", "from commands.start import main; main()", "decode", "offsets")
ONLY_READ = """
import sys
from crc32c import crc32c
with open(sys.argv[1], "rb") as file:
    while piece := file.read(2 << 20):
        crc32c(piece)
"""
KAFKA_VERSION = "4.3.1"
JAVA_OPTIONS = (
    "-Xmx256M",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
)
TARGETS = {100: 8.0, 1024: 25.0}
"""Required speed of printing the state, as a multiple of that of Kafka's tool, by the segment's size in MiB."""
TARGET_EVENTS = 5.0
TARGET_MEGABYTES_A_SECOND, TARGET_SCAN, TARGET_MEBIBYTES = 400.0, 4.0, 1024.0


@dataclass(frozen=True, slots=True)
class Run:
    """One process, from start to end."""

    wall: float
    cpu: float
    mebibytes: float


FIELDS = ("wall", "cpu", "mebibytes")


def main() -> int:
    """Prints the tables; 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mebibytes", type=int, default=100)
    parser.add_argument("--real-mebibytes", type=int, default=100, help="how much a broker writes; the rest repeats it")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the segment here, or reuse it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kreplica-bench-") as folder:
        segment = (options.keep or Path(folder)) / f"segment-{options.mebibytes}.log"
        if not segment.exists():
            how = elsewhere(write_segment, segment, options.mebibytes, options.real_mebibytes)
            print(f"{segment.stat().st_size:,} bytes: {how}\n")
        runs = measure(contenders(segment, Path(folder)), options.runs)
        missed = [*report(runs, options.mebibytes), *report_inside(segment)]
    print(f"\ntargets missed: {'; '.join(missed)}" if missed else "\ntargets met")
    return 1 if missed else 0


def elsewhere(work: Callable[..., str], *arguments: object) -> str:
    """Calls a function in a process of its own: a child's peak memory includes that of its parent at the start."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def contenders(segment: Path, folder: Path) -> dict[str, list[str]]:
    """The command lines; the others are compared with the first."""
    from kreplica.sandbox.distribution.jars import class_path
    from kreplica.sandbox.distribution.tools import main_class
    from kreplica.sandbox.processes import write_class_path
    from kreplica.system.java import find_java

    jars = write_class_path(folder, class_path(KAFKA_VERSION))
    tool = [str(find_java().executable), f"@{jars}", *JAVA_OPTIONS, main_class("dump-log", KAFKA_VERSION)]
    named = str(_named(segment, folder))
    return {
        "kafka-dump-log --offsets-decoder": [*tool, "--offsets-decoder", "--files", named],
        "kreplica decode offsets -o csv": [*KREPLICA, named, "-o", "csv"],
        "kreplica decode offsets --events -o parquet": [*KREPLICA, named, "--events", "-o", "parquet"],
        "read and CRC-32C, nothing else": [sys.executable, "-c", ONLY_READ, str(segment)],
    }


def _named(segment: Path, folder: Path) -> Path:
    """The segment under a name that a broker would give it: Kafka's tool requires that."""
    link = folder / f"{0:020d}.log"
    link.symlink_to(segment.absolute())
    return link


def measure(commands: dict[str, list[str]], count: int) -> dict[str, list[Run]]:
    """Runs all in turn, each once before, so that files and bytecode are warm."""
    run(commands["kreplica decode offsets -o csv"])
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(count):
        for name, command in commands.items():
            runs[name].append(run(command))
    return runs


def run(command: list[str]) -> Run:
    """Runs one process; it may end with 5: one segment is not the whole topic."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 5):
        raise SystemExit(f"{' '.join(command)[:200]} ended with {process.returncode}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def report(runs: dict[str, list[Run]], mebibytes: int) -> list[str]:
    """Prints the table of processes; gives the targets that were missed."""
    least = {name: Run(*(min(getattr(run, each) for run in some) for each in FIELDS)) for name, some in runs.items()}
    tool, state, events, _ = least.values()
    print("| what | wall, s | times as fast | CPU, s | times less CPU | peak, MiB |\n|---|---|---|---|---|---|")
    for name, best in least.items():
        times = f"{tool.wall / best.wall:.1f} | {best.cpu:.2f} | {tool.cpu / best.cpu:.1f}"
        print(f"| {name} | {best.wall:.2f} | {times} | {best.mebibytes:.0f} |")
    missed = []
    for what, ours, target in (("state", state, TARGETS.get(mebibytes, 8.0)), ("events", events, TARGET_EVENTS)):
        if tool.wall < target * ours.wall:
            missed.append(f"{what}: {tool.wall / ours.wall:.1f} times as fast, not {target:g}")
        missed += [f"{what}: memory"] if ours.mebibytes >= TARGET_MEBIBYTES else []
    return missed


def report_inside(segment: Path) -> list[str]:
    """Prints the table of steps within one process, CPU time of one core, the best of three."""
    from kreplica.formats.consumer_offsets.logs import Stretch, replay_stretch
    from kreplica.formats.file_bytes import FileBytes
    from kreplica.formats.segments.records import decode_records
    from kreplica.formats.segments.windows import read_windows

    def only_read() -> None:
        with segment.open("rb") as file:
            while piece := file.read(2 << 20):
                crc32c(piece)

    def scan() -> None:
        with FileBytes.open(segment) as source:
            for _ in read_windows(source):
                pass

    def columns() -> None:
        with FileBytes.open(segment) as source:
            for window in read_windows(source):
                for _ in decode_records(window):
                    pass

    def replay() -> None:
        replay_stretch(Stretch(segment))

    steps = {"read and CRC-32C": only_read, "batch scan": scan, "records to columns": columns, "replay": replay}
    times = {name: min(_cpu(step) for _ in range(3)) for name, step in steps.items()}
    print("\n| within one process | CPU, s | MB/s |\n|---|---|---|")
    speeds = {name: segment.stat().st_size / 1e6 / seconds for name, seconds in times.items()}
    for name, seconds in times.items():
        print(f"| {name} | {seconds:.3f} | {speeds[name]:.0f} |")
    missed = ["records to columns"] if speeds["records to columns"] < TARGET_MEGABYTES_A_SECOND else []
    return missed + (["batch scan"] if times["batch scan"] > TARGET_SCAN * times["read and CRC-32C"] else [])


def _cpu(step: Callable[[], None]) -> float:
    began = time.process_time()
    step()
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
