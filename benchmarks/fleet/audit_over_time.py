"""The audit of a fleet over time against DuckDB on the same files: every count and every span has to be equal.

    python benchmarks/fleet/audit_over_time.py --clusters 10 --times 20 --partitions 10000
    python benchmarks/fleet/audit_over_time.py --clusters 40 --times 50 --partitions 20000 --keep FOLDER
    python benchmarks/fleet/audit_over_time.py --clusters 40 --times 50 --partitions 20000 --long

Clusters are made from a seed: partitions fall out of sync, flap and come back, leaders move, brokers fail and topics
are made anew. DuckDB counts and folds the snapshots of half of the clusters. Spark judges them, then the history that
they are taken into, several times in one session. Then kreplica audit does, over half of the clusters and over all of
them, which tells what an added row costs; with --long there are as many clusters again, made in the same way, and the
command is run over all of these, too, which tells whether each row costs the same. Each size is compared with DuckDB,
which then judges one cluster after the other: by the number of counts and spans of each cluster, and a sum over them in
their order. Processor time is that of the JVM, of this process and of those it starts.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from audit import list_column

from kreplica.history.ingest import Candidate, ingest, stored_snapshots
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import BoolColumn, IntColumn, StringColumn, null_column
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.store.selection import Wanted
from kreplica.store.writing import write_snapshot
from kreplica.system import durable_files
from kreplica.system.stores.storage import LocalStorage

START = datetime(2026, 3, 2, tzinfo=UTC)
BROKER_COUNT, PARTITIONS_A_TOPIC, REPLICAS = 12, 12, 3
FALLS, HEALS, MOVES = 0.004, 0.5, 0.002
"""Shares of partitions that fall out of sync, come back and get another leader in an hour."""
COUNTED = ("under_replicated", "under_min_isr", "under_min_isr_broker", "at_min_isr", "offline", "non_preferred")
RULES = ("offline", "under-min-isr", "under-replicated", "at-min-isr")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=10_000, help="of each cluster")
    parser.add_argument("--keep", type=Path, help="make the fleet here, or use the one that is there")
    parser.add_argument("--long", action="store_true", help="as many clusters again, for the whole command")
    parser.add_argument("--warm", type=int, default=2, help="runs in a session after the first one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        dumps, history = folder / "dumps", folder / "history"
        if not dumps.is_dir():
            write_fleet(dumps, options)
            ingest(stored_snapshots([dumps])[0], LocalStorage(history), compact=True)
        count = clusters_of(options)
        rows = count * options.times * options.partitions
        print(f"{rows} rows, {count} clusters by {options.times} snapshots, load {os.getloadavg()[0]:.1f}", flush=True)
        half = names_of(options.clusters // 2)
        wrong = compare(dumps, history, half, options.warm)
        for place in (dumps, history):
            commands(place, options)
        if options.long:
            wrong += compare_larger(dumps, history, sizes_of(options)[1:])
        return 1 if wrong else 0


def clusters_of(options: argparse.Namespace) -> int:
    """Number of clusters of the fleet."""
    return int(options.clusters) * (2 if options.long else 1)


def sizes_of(options: argparse.Namespace) -> list[int]:
    """Numbers of clusters that are audited, the smallest first."""
    return sorted({options.clusters // 2, options.clusters, clusters_of(options)})


def names_of(count: int) -> tuple[str, ...]:
    """The names of the first clusters."""
    return tuple(map(name_of, range(count)))


def name_of(number: int) -> str:
    """The name of a cluster."""
    return f"cluster-{number:04}"


@dataclass
class Cluster:
    """The state of one cluster, hour by hour."""

    random: np.random.Generator
    count: int

    def __post_init__(self) -> None:
        first = self.random.integers(0, BROKER_COUNT, self.count)
        self.replicas = (first[:, None] + np.arange(REPLICAS)) % BROKER_COUNT
        self.in_sync = np.ones((self.count, REPLICAS), np.bool_)
        self.leads = np.zeros(self.count, np.int64)
        self.epochs = np.zeros(self.count, np.int64)
        self.lives = np.zeros((self.count - 1) // PARTITIONS_A_TOPIC + 1, np.int64)
        self.failed, self.until = -1, 0
        self.changed = 0

    def an_hour_later(self, hour: int) -> None:
        """Changes it as an hour does."""
        before = self.in_sync.copy(), self.leads.copy()
        random = self.random
        self.in_sync[random.random(self.count) < FALLS, REPLICAS - 1] = False
        self.in_sync[random.random(self.count) < HEALS] = True
        self.leads = np.where(random.random(self.count) < MOVES, random.integers(0, REPLICAS, self.count), self.leads)
        if hour >= self.until:
            self.failed = int(random.integers(0, BROKER_COUNT)) if random.random() < 0.03 else -1
            self.until = hour + int(random.integers(1, 4))
        self.in_sync &= self.replicas != self.failed
        lost = ~self.in_sync[np.arange(self.count), self.leads]
        self.leads[lost] = np.argmax(self.in_sync[lost], axis=1)
        if random.random() < 0.1:
            self.lives[random.integers(0, len(self.lives))] += 1
        differs = (before[0] != self.in_sync).any(axis=1) | (before[1] != self.leads)
        self.epochs += before[1] != self.leads
        self.changed += int(differs.sum())

    def snapshot(self, name: str, taken_at: datetime) -> ClusterSnapshot:
        """A snapshot of it."""
        numbers = np.arange(self.count)
        topics = (numbers // PARTITIONS_A_TOPIC).astype(np.int32)
        names = tuple(f"topic-{number:06}" for number in range(len(self.lives)))
        ids = tuple(f"{name}-{life}-{topic}" for topic, life in zip(names, self.lives.tolist(), strict=True))
        kept = self.in_sync.copy()
        silent = (numbers % 997 == 5) & ~kept.all(axis=1)
        leader = np.where(silent, -1, self.replicas[numbers, self.leads])
        columns = {field.name: null_column(field.kind, self.count) for field in PARTITIONS.fields}
        none = list_column(self.replicas, np.zeros_like(kept))
        columns |= {
            "topic": StringColumn(topics, names),
            "topic_id": StringColumn(topics, ids),
            "partition": IntColumn(numbers % PARTITIONS_A_TOPIC),
            "internal": BoolColumn(np.zeros(self.count, np.bool_)),
            "leader": IntColumn(leader),
            "leader_epoch": IntColumn(self.epochs),
            "replicas": list_column(self.replicas, np.ones_like(kept)),
            "isr": list_column(self.replicas, kept),
            "adding": none,
            "removing": none,
            "min_isr": IntColumn(np.where(topics % 10 == 0, 3, 2).astype(np.int64)),
            "unclean_leader_election": BoolColumn(np.zeros(self.count, np.bool_)),
        }
        rows = ({"broker": n, "rack": f"rack-{n % 3}", "alive": n != self.failed} for n in range(BROKER_COUNT))
        brokers = Table.from_rows(BROKERS, rows)
        return ClusterSnapshot(name, name, taken_at, "kafka", Table(PARTITIONS, columns), brokers)


def write_fleet(folder: Path, options: argparse.Namespace) -> None:
    changed = 0
    durable_files.sync = durable_files.sync_folder = lambda _: None  # a fleet that is lost is made anew
    for number in range(clusters_of(options)):
        cluster = Cluster(np.random.default_rng(number), options.partitions)
        for hour in range(options.times):
            pause = 12 if hour > options.times // 2 else 0
            write_snapshot(cluster.snapshot(name_of(number), START + timedelta(hours=hour + pause)), folder)
            cluster.an_hour_later(hour)
        changed += cluster.changed
    share = changed / (clusters_of(options) * options.times * options.partitions)
    print(f"made the fleet; {share:.2%} of the partitions change from one snapshot to the next")


QUERY = """
CREATE TEMP TABLE judged AS
SELECT cluster, taken_at, topic, partition, topic_id,
  leader = -1 AS offline, len(isr) < len(replicas) AS under_replicated,
  leader = -1 OR len(isr) < min_isr AS under_min_isr,
  leader <> -1 AND len(isr) < least(min_isr, len(replicas)) AS under_min_isr_broker,
  len(isr) = min_isr AS at_min_isr, leader <> replicas[1] AS non_preferred
FROM read_parquet(getvariable('files'), filename = true, hive_partitioning = false) JOIN snapshots USING (filename)
"""
SPANS = """
WITH broken AS (
  SELECT cluster, topic, partition, topic_id, taken_at, unnest([
    CASE WHEN offline THEN {'rule': 'offline', 'rank': 3} END,
    CASE WHEN under_min_isr THEN {'rule': 'under-min-isr', 'rank': if(under_min_isr_broker OR offline, 3, 2)} END,
    CASE WHEN under_replicated THEN {'rule': 'under-replicated', 'rank': 2} END,
    CASE WHEN at_min_isr THEN {'rule': 'at-min-isr', 'rank': if(under_replicated, 2, 1)} END]) AS found
  FROM judged WHERE offline OR under_min_isr OR under_replicated OR at_min_isr
), placed AS (
  SELECT cluster, topic, partition, topic_id, found.rule AS rule, found.rank AS rank, taken_at, stretch,
    place - row_number() OVER (PARTITION BY cluster, topic, partition, topic_id, found, stretch ORDER BY place) AS run
  FROM broken JOIN places USING (cluster, taken_at) WHERE found IS NOT NULL
)
SELECT cluster, rule, rank, topic, partition, min(taken_at), max(taken_at), count(*) FROM placed
GROUP BY cluster, rule, rank, topic, partition, topic_id, stretch, run
"""


def of_duckdb(candidates: Iterable[Candidate], clusters: Sequence[str]) -> tuple[set[Any], set[Any]]:
    """Counts and spans of the snapshots of some clusters."""
    from kreplica.store.manifest import read_manifest

    manifests = [read_manifest(Path(one.snapshot.name)) for one in candidates if one.cluster in clusters]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("CREATE TEMP TABLE snapshots (filename VARCHAR, cluster VARCHAR, taken_at TIMESTAMP)")
    rows = [
        (str(one.location(file)), one.snapshot.label, one.snapshot.taken_at.replace(tzinfo=None))
        for one in manifests
        if (file := one.file("partitions")) is not None
    ]
    connection.executemany("INSERT INTO snapshots VALUES (?, ?, ?)", rows)
    files = ", ".join(f"'{name}'" for name, *_ in rows)
    connection.execute(f"SET VARIABLE files = [{files}]")
    connection.execute(
        "CREATE TEMP TABLE places AS SELECT cluster, taken_at, row_number() OVER w AS place,"
        " count(*) FILTER (waited > 3 * usual) OVER w AS stretch FROM (SELECT *, median(waited) OVER"
        " (PARTITION BY cluster) AS usual FROM"
        " (SELECT cluster, taken_at, epoch(taken_at - lag(taken_at) OVER w) AS waited"
        " FROM snapshots WINDOW w AS (PARTITION BY cluster ORDER BY taken_at)))"
        " WINDOW w AS (PARTITION BY cluster ORDER BY taken_at)"
    )
    connection.execute(QUERY)
    sums = ", ".join(f"count(*) FILTER ({name})" for name in COUNTED)
    counts = connection.execute(f"SELECT cluster, taken_at, {sums} FROM judged GROUP BY cluster, taken_at").fetchall()
    spans = connection.execute(SPANS).fetchall()
    return set(counts), set(spans)


def of_spark(spark: Any, place: Path, clusters: tuple[str, ...]) -> tuple[set[Any], set[Any]]:
    """Counts and spans of some clusters, without words."""
    counts, table = judged_by_spark(spark, place, clusters)
    return counts, spans_in(table)


def judged_by_spark(spark: Any, place: Path, clusters: tuple[str, ...]) -> tuple[set[Any], Any]:
    """Counts of some clusters as rows, and their spans as a table of Arrow."""
    from analyzers.fleet_audit import folded_here, run_audit, select_fleet

    selection = select_fleet([place], Wanted(clusters))
    with folded_here(selection) as read:
        found = run_audit(spark, read, RULES, over_time=())
        counts = {
            (one.cluster, one.taken_at.replace(tzinfo=None), *(one.counts[name] for name in COUNTED))
            for one in found.counts
        }
        columns = ("label", "rule", "severity", "topic", "partition", "valid_from", "last_seen", "snapshots")
        return counts, found.audit.keys().select(*columns).toArrow()


def spans_in(table: Any) -> set[Any]:
    """The rows of a table of spans."""
    return {
        (*row[:5], *(moment.replace(tzinfo=None) for moment in row[5:7]), row[7])
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    }


def compare(dumps: Path, history: Path, clusters: tuple[str, ...], warm: int) -> int:
    """Number of answers about some clusters that are not DuckDB's."""
    from analyzers.fleet_audit import partition_rows, select_fleet
    from analyzers.sessions.session import settings_for, spark_session

    expected, least = measured(lambda: of_duckdb(stored_snapshots([dumps])[0], clusters), os.getpid())
    print(f"DuckDB: {len(expected[0])} rows of counts, {len(expected[1])} spans, {least:.1f} CPU s")
    tuned, wrong = settings_for(partition_rows(select_fleet([history], Wanted(clusters)))), 0
    for place in (dumps, history):
        with spark_session("local[2]", settings=tuned) as spark, jvm() as pid:
            for run in ("first", *("warm",) * warm):
                found, used = measured(lambda place=place: of_spark(spark, place, clusters), pid, os.getpid())  # type: ignore[misc]
                spark.catalog.clearCache()
                wrong += found != expected
                told = "equal" if found == expected else "NOT EQUAL"
                print(f"Spark on {place.name}, {run}: {used:.1f} CPU s, {used / least:.1f} times DuckDB, {told}")
    return wrong


def compare_larger(dumps: Path, history: Path, sizes: Sequence[int]) -> int:
    """Number of clusters of which an answer over many of them is not DuckDB's over each alone.

    Args:
        sizes: Numbers of clusters that are judged at once.
    """
    expected, least = measured(lambda: by_cluster_of_duckdb(dumps, names_of(sizes[-1])), os.getpid())
    spans = sum(one[1] for one in expected.values())
    print(f"DuckDB, {sizes[-1]} clusters one by one: {spans} spans, {least:.1f} CPU s", flush=True)
    return sum(compare_by_cluster(place, names_of(count), expected) for count in sizes for place in (history, dumps))


def compare_by_cluster(place: Path, clusters: tuple[str, ...], expected: dict[str, tuple[int, int, str]]) -> int:
    """Number of clusters of which Spark's answer, in a session of its own, is another one."""
    from analyzers.fleet_audit import partition_rows, select_fleet
    from analyzers.sessions.session import settings_for, spark_session

    tuned = settings_for(partition_rows(select_fleet([place], Wanted(clusters))))
    with spark_session("local[2]", settings=tuned) as spark, jvm() as pid:
        found, used = measured(lambda: by_cluster_of_spark(spark, place, clusters), pid, os.getpid())
    wrong = [name for name in clusters if found.get(name) != expected[name]]
    told = "equal" if not wrong else f"NOT EQUAL in {len(wrong)}: {', '.join(wrong[:3])}"
    spans, size = sum(one[1] for one in found.values()), len(clusters)
    print(f"Spark on {place.name}, {size} clusters at once: {spans} spans, {used:.1f} CPU s, {told}", flush=True)
    return len(wrong)


def by_cluster_of_duckdb(dumps: Path, clusters: Sequence[str]) -> dict[str, tuple[int, int, str]]:
    """The summary of each cluster, one after the other: memory is that of one."""
    candidates, _ = stored_snapshots([dumps])
    return {name: summary(*of_duckdb(candidates, [name])) for name in clusters}


def by_cluster_of_spark(spark: Any, place: Path, clusters: tuple[str, ...]) -> dict[str, tuple[int, int, str]]:
    """The summary of each cluster of an audit of all of them."""
    import pyarrow.compute as pc

    counts, table = judged_by_spark(spark, place, clusters)
    return {
        name: summary({row for row in counts if row[0] == name}, spans_in(table.filter(pc.equal(table["label"], name))))
        for name in clusters
    }


def summary(counts: set[Any], spans: set[Any]) -> tuple[int, int, str]:
    """Numbers of rows of counts and of spans, and a sum over both in their order."""
    text = hashlib.sha256()
    for row in (*sorted(counts), *sorted(spans)):
        text.update(f"{row}\n".encode())
    return len(counts), len(spans), text.hexdigest()


def commands(place: Path, options: argparse.Namespace) -> None:
    """Prints what the whole command takes over half of the clusters, over all, and, by --long, over twice as many."""
    sizes = sizes_of(options)
    before: tuple[int, float] | None = None
    for count in sizes:
        some = () if count == sizes[-1] else [word for name in names_of(count) for word in ("--cluster", name)]
        rows, seconds = count * options.times * options.partitions, cpu_of_command(place, some)
        print(f"kreplica audit of {place.name}, {rows} rows, the whole command: {seconds:.1f} CPU s", flush=True)
        if before is not None:
            print(f"of which {(seconds - before[1]) / (rows - before[0]) * 1e6:.2f} CPU us for each added row")
        before = rows, seconds


@contextmanager
def jvm() -> Iterator[int]:
    """Process id of the JVM that this process started."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    yield int(gateway.jvm.java.lang.ProcessHandle.current().pid())


def measured(work: Callable[[], Any], *processes: int) -> tuple[Any, float]:
    """The result, and the processor time that these processes took for it."""
    before = sum(map(cpu_of, processes)) + cpu_of_ended()
    found = work()
    return found, sum(map(cpu_of, processes)) + cpu_of_ended() - before


def cpu_of_ended() -> float:
    """Processor seconds of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(process: int) -> float:
    """Processor seconds of a process so far, from /proc."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_command(place: Path, some: Sequence[str] = ()) -> float:
    """Processor seconds of the whole command; it prints how long it took, and the load of the machine."""
    before, begin = cpu_of_ended(), time.perf_counter()
    rules = [word for rule in RULES for word in ("--rule", rule)]
    words = [sys.executable, "-m", "kreplica", "audit", str(place), *rules, *some, "--exit-zero"]
    subprocess.run(words, check=True, capture_output=True)
    print(f"{time.perf_counter() - begin:.0f} s, load {os.getloadavg()[0]:.1f}")
    return cpu_of_ended() - before


if __name__ == "__main__":
    sys.exit(main())
