"""Time of `kreplica describe` over 200,000 partitions, compared with the tools one would otherwise use.

    python benchmarks/large_cluster/describe.py

Every figure is of a whole process, its start included: wall time, CPU time and peak memory, the median of several runs
that take turns. A cluster made from a seed (snapshot.py) is written once as kreplica's snapshot, as the text of
`kafka-topics --describe` and as the JSON of `kcat -L -J`. Exits 1 when a target of the README is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot

ROOT = Path(__file__).parents[2]
KREPLICA = (sys.executable, "-c", "from commands.start import main; main()", "describe")
TARGET_SECONDS, TARGET_MEBIBYTES = 5.0, 1024.0

AWK = r"""/\tPartition: / {
  match($0, /Replicas: [0-9,]*/); r = split(substr($0, RSTART + 10, RLENGTH - 10), a, ",")
  match($0, /Isr: [0-9,]*/);      i = split(substr($0, RSTART + 5, RLENGTH - 5), a, ",")
  n = 0; if (match($0, /Adding Replicas: [0-9,]*/)) n = split(substr($0, RSTART + 17, RLENGTH - 17), a, ",")
  if (r - n > i) print
}"""

JQ = """.topics[] | .topic as $t | .partitions[] | select((.replicas | length) > (.isrs | length))
| [$t, .partition] | @tsv"""

PANDAS = """
import json, sys
import pandas as pd
topics = json.load(open(sys.argv[1]))["topics"]
frame = pd.json_normalize(topics, "partitions", ["topic"])
print(frame[frame.replicas.map(len) > frame.isrs.map(len)].to_csv(index=False))
"""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to list partitions; ``target`` says whether the README promises its time and memory."""

    name: str
    command: tuple[str, ...]
    target: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """One process, from start to end; ``listed`` is the number of partitions it named."""

    wall: float
    cpu: float
    mebibytes: float
    listed: int | str


def main() -> int:
    """Prints the table; 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="write the inputs here, or reuse them")
    parser.add_argument("--only-write", action="store_true", help="write the inputs to the folder of --keep and end")
    options = parser.parse_args()
    if options.only_write:
        write_inputs(options.partitions, options.keep)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        if not (folder / "dump").is_dir():
            # In a process of its own: the kernel counts the memory of a parent as its child's until that has started.
            size = ("--partitions", str(options.partitions))
            subprocess.run([sys.executable, __file__, "--only-write", "--keep", folder, *size], check=True)
        chosen = contenders(folder)
        runs: dict[str, list[Run]] = {contender.name: [] for contender in chosen}
        for _ in range(options.runs):
            for contender in chosen:
                runs[contender.name].append(run(contender.command))
    return report(chosen, runs)


def contenders(folder: Path) -> list[Contender]:
    """The ways that this machine has; all are compared with the first."""
    dump, text, kcat = (str(folder / name) for name in ("dump", "describe.txt", "kcat.json"))
    from_dump = (*KREPLICA, "--dump", dump)
    from_text = (*KREPLICA, "--dump", text)
    found = [
        Contender("kreplica --under-replicated -o json", (*from_dump, "--under-replicated", "-o", "json"), target=True),
        Contender("kreplica --all -o json", (*from_dump, "--all", "-o", "json"), target=True),
        Contender("kreplica, verdict", from_dump, target=True),
        Contender("kreplica, text dump", (*from_text, "--under-replicated", "-o", "json")),
        Contender("awk over the text", ("awk", AWK, text)),
        Contender("pandas over kcat's JSON", (sys.executable, "-c", PANDAS, kcat)),
    ]
    if shutil.which("jq"):
        found.append(Contender("jq over kcat's JSON", ("jq", "-r", JQ, kcat)))
    return found


def write_inputs(partitions: int, folder: Path) -> None:
    """The same cluster in three forms."""
    from snapshot import build_snapshot

    from kreplica.store.writing import write_snapshot

    snapshot = build_snapshot(partitions=partitions)
    folder.mkdir(parents=True, exist_ok=True)
    write_snapshot(snapshot, folder / "dump")
    with (folder / "describe.txt").open("w") as file:
        file.writelines(_describe_lines(snapshot))
    (folder / "kcat.json").write_text(json.dumps(_kcat_document(snapshot)))


def _describe_lines(snapshot: ClusterSnapshot) -> Iterator[str]:
    """As kafka-topics of 4.x prints it."""
    topic = None
    sizes = Counter(snapshot.partitions["topic"].to_list())
    for row in snapshot.partitions.rows():
        if row["topic"] != topic:
            topic = row["topic"]
            head = f"Topic: {topic}\tTopicId: {row['topic_id']}\tPartitionCount: {sizes[row['topic']]}"
            yield f"{head}\tReplicationFactor: 3\tConfigs: min.insync.replicas={row['min_isr']}\n"
        leader = "none" if row["leader"] == -1 else row["leader"]
        cells = [f"\tTopic: {topic}", f"Partition: {row['partition']}", f"Leader: {leader}"]
        cells += [f"Replicas: {_ids(row['replicas'])}", f"Isr: {_ids(row['isr'])}"]
        if row["adding"]:
            cells += [f"Adding Replicas: {_ids(row['adding'])}", "Removing Replicas: "]
        yield "\t".join([*cells, f"Elr: {_ids(row['elr'])}", "LastKnownElr: "]) + "\n"


def _ids(brokers: object) -> str:
    assert isinstance(brokers, list)
    return ",".join(map(str, brokers))


def _kcat_document(snapshot: ClusterSnapshot) -> dict[str, object]:
    topics: dict[object, list[object]] = {}
    for row in snapshot.partitions.rows():
        entry = {"partition": row["partition"], "leader": row["leader"]}
        for key, ids in (("replicas", row["replicas"]), ("isrs", row["isr"])):
            assert isinstance(ids, list)
            entry[key] = [{"id": broker} for broker in ids]
        topics.setdefault(row["topic"], []).append(entry)
    living = [row["broker"] for row in snapshot.brokers.rows() if row["alive"]]
    brokers = [{"id": broker, "name": f"kafka-{broker}:9092"} for broker in living]
    return {
        "originating_broker": {"id": 1, "name": "kafka-1:9092/1"},
        "query": {"topic": "*"},
        "controllerid": 1,
        "brokers": brokers,
        "topics": [{"topic": topic, "partitions": partitions} for topic, partitions in topics.items()],
    }


def run(command: Sequence[str], allowed: Sequence[int] = (0, 1)) -> Run:
    """Runs one process and waits for it; its own use of the machine comes from the kernel."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in allowed:
            raise SystemExit(f"{' '.join(command)[:200]} ended with {process.returncode}")
        # ru_maxrss is in KiB on Linux and in bytes on macOS.
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, _listed(output))


def report(chosen: Sequence[Contender], runs: dict[str, list[Run]]) -> int:
    """Prints a Markdown table and whether the targets were met."""
    first = _median(runs[chosen[0].name], "wall")
    print("| what | wall, s | times the first | CPU, s | peak, MiB | lists |")
    print("|---|---|---|---|---|---|")
    missed = []
    for contender in chosen:
        wall, cpu, memory = (_median(runs[contender.name], name) for name in ("wall", "cpu", "mebibytes"))
        listed = runs[contender.name][0].listed
        print(f"| {contender.name} | {wall:.2f} | {wall / first:.1f} | {cpu:.2f} | {memory:.0f} | {listed} |")
        if contender.target and (wall >= TARGET_SECONDS or memory >= TARGET_MEBIBYTES):
            missed.append(contender.name)
    print(f"\ntarget of {TARGET_SECONDS:.0f} s and {TARGET_MEBIBYTES:.0f} MiB: {', '.join(missed) or 'met'}", end="")
    print(" missed" if missed else "")
    return 1 if missed else 0


def _median(runs: Sequence[Run], name: str) -> float:
    return statistics.median(getattr(run, name) for run in runs)


def _listed(output: IO[bytes]) -> int | str:
    """Number of partitions that the output names; ``-`` if that cannot be seen."""
    rows, lines = _occurrences(output, b'"leader_epoch":'), _occurrences(output, b"\n")
    output.seek(0)
    if output.read(10) == b"partition,":
        return lines - 2  # a header, and an empty line at the end
    return rows or (lines if lines > 100 else "-")


def _occurrences(file: IO[bytes], word: bytes) -> int:
    """Counts a word piece by piece: the memory of this process would count as that of the processes it starts."""
    count, tail = 0, b""
    file.seek(0)
    while piece := file.read(2**20):
        block = tail + piece
        count += block.count(word)
        tail = block[len(block) - len(word) + 1 :]
    return count


if __name__ == "__main__":
    sys.exit(main())
