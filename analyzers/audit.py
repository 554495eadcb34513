"""The audit of a fleet: counts by cluster and time, and findings, all of it aggregated before it leaves Spark.

Folds the findings of consecutive snapshots of a cluster into spans: from when to when each was seen.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from analyzers.findings import (
    COUNT_COLUMNS,
    UNKNOWN,
    broker_groups,
    group_findings,
    partition_findings,
    severity_of,
    snapshot_counts,
    topic_groups,
)
from analyzers.rows import SnapshotCountsRow, SnapshotFinding, SpanFinding
from kreplica.errors import UsageError
from kreplica.health.rules import GROUP_RULES, PARTITION_RULES, GroupRule, Severity
from kreplica.model.expressions import Expression
from kreplica.model.predicates import PREDICATES
from kreplica.model.rows import names_of
from kreplica.system.durable_files import make_folders, move, sync_all

if TYPE_CHECKING:
    from msgspec import Struct
    from pyspark.sql import Column, DataFrame

    from analyzers.frames import Fleet


_IDENTITY = ("cluster", "rule", "severity", "topic", "partition", "broker")
"""Columns that identify a finding across snapshots; a changed severity begins a new span."""


def spans(findings: DataFrame) -> DataFrame:
    """One row for each finding and unbroken run of snapshots that show it.

    Args:
        findings: A row for each finding and snapshot, with the snapshot's ``cluster``, ``taken_at``, ``position`` and
            ``newest``.

    Returns:
        ``valid_from`` and ``valid_to`` (times of the first and last snapshot of the run), ``snapshots`` (its length),
        ``in_newest`` (whether the cluster's newest snapshot still shows it); message and evidence are those last seen.
    """
    runs = Window.partitionBy(*_IDENTITY).orderBy("position")
    # Within a run position and rank grow together, so that their difference names the run.
    numbered = findings.withColumn("run", F.col("position") - F.row_number().over(runs))
    latest = F.max_by(F.struct("message", "evidence"), "position")
    folded = numbered.groupBy(*_IDENTITY, "run").agg(
        F.min("taken_at").alias("valid_from"),
        F.max("taken_at").alias("valid_to"),
        F.count(F.lit(1)).alias("snapshots"),
        (F.max("position") == F.max("newest")).alias("in_newest"),
        latest.alias("latest"),
    )
    return folded.select("*", "latest.*").drop("run", "latest")


SPAN_TIMES = ("valid_from", "valid_to")

WRITTEN = ("findings", "counts")
"""Folders that ``Audit.write`` makes."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SnapshotCounts:
    """The counts of one snapshot.

    Args:
        cluster: Cluster id, or name where the id is not known.
        taken_at: UTC.
        counts: ``topics``, ``brokers``, ``partitions`` and each predicate by name.
        unknown: For each predicate that cannot be known for some partitions: for how many.
    """

    cluster: str
    taken_at: datetime
    counts: dict[str, int]
    unknown: dict[str, int]

    def as_row(self) -> Struct:
        """The form of the contract."""
        when = self.taken_at.isoformat()
        row: Struct = SnapshotCountsRow(cluster=self.cluster, taken_at=when, **self.counts, unknown=self.unknown)
        return row


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of findings of one rule and severity in a cluster.

    Args:
        cluster: Cluster id or name.
        rule: Name of the rule.
        severity: How bad.
        findings: Rows of the answer.
        in_newest: Those that the cluster's newest snapshot shows.
    """

    cluster: str
    rule: str
    severity: Severity
    findings: int
    in_newest: int


class Audit:
    """Findings and counts of an audit, held in Spark; a caller fetches only as much as fits into its memory.

    Args:
        fleet: The snapshots.
        rules: Names of the rules to judge by.
        per_snapshot: A row for each finding and snapshot with ``taken_at``, instead of one for each unbroken run of
            snapshots with ``valid_from`` and ``valid_to``.
    """

    def __init__(self, fleet: Fleet, rules: Collection[str], *, per_snapshot: bool = False) -> None:
        by_topic = [rule for rule in GROUP_RULES if rule.key is None and rule.name in rules]
        topics = topic_groups(fleet.partitions, by_topic).persist()
        found = _found(fleet, topics, by_topic, rules)
        placed = found.join(F.broadcast(fleet.snapshots.drop("brokers")), "snapshot")
        marked = placed.withColumn("in_newest", F.col("position") == F.col("newest"))
        rows = marked if per_snapshot else spans(placed)
        self.row: type[SpanFinding | SnapshotFinding] = SnapshotFinding if per_snapshot else SpanFinding
        self.columns = names_of(self.row)
        self._counts = snapshot_counts(topics, fleet.snapshots)
        self._findings = rows.select(*self.columns).persist()

    def counts(self) -> list[SnapshotCounts]:
        """The counts of every snapshot, by cluster and time."""
        times = self._counts.withColumn("taken_at", F.unix_millis("taken_at"))
        rows = times.orderBy("cluster", "taken_at").toArrow().to_pylist()
        return [_snapshot_counts(row) for row in rows]

    def tallies(self) -> list[Tally]:
        """Numbers of findings by cluster, rule and severity."""
        newest = F.count_if("in_newest")
        grouped = self._findings.groupBy("cluster", "rule", "severity").agg(F.count(F.lit(1)), newest)
        rows = grouped.orderBy("cluster", F.desc("severity"), "rule").collect()
        return [Tally(cluster, rule, severity_of(rank), *counts) for cluster, rule, rank, *counts in rows]

    def findings(self) -> Iterator[SpanFinding | SnapshotFinding]:
        """All findings as rows of the contract, the most severe first; one Spark partition at a time is in memory."""
        for row in self._ordered(F.desc("severity"), *_ORDER).toLocalIterator(prefetchPartitions=True):
            yield self._row(row.asDict())

    def top(self, count: int) -> list[SpanFinding | SnapshotFinding]:
        """The first ``count`` findings: the most severe first, those of the newest snapshots before older ones."""
        order = (F.desc("severity"), F.desc("in_newest"), F.desc(self._last_seen), *_ORDER)
        return [self._row(row.asDict()) for row in self._ordered(*order).limit(count).collect()]

    def write(self, folder: Path, afterwards: ExitStack) -> None:
        """Writes ``findings`` and ``counts`` as Parquet folders; all of it appears, or nothing.

        Args:
            folder: The folder that gets both.
            afterwards: Closed when Spark has ended; removes half-written files, since an interrupted Spark writes on.

        Raises:
            UsageError: One of them is there already, or cannot be written.
        """
        check_free(folder)
        tables = dict(zip(WRITTEN, (self._findings.withColumn("severity", _severity()), self._counts), strict=True))
        try:
            make_folders(folder)
            draft = Path(tempfile.mkdtemp(prefix=".kreplica-", dir=folder))
        except OSError as error:
            raise UsageError(f"cannot write to {folder}", error.strerror or str(error)) from error
        afterwards.callback(shutil.rmtree, draft, ignore_errors=True)
        for name, table in tables.items():
            table.write.parquet((draft / name).absolute().as_posix())
        try:
            for name in tables:
                sync_all(draft / name)
            for name in tables:
                move(draft / name, folder / name)
        except OSError as error:
            raise UsageError(f"cannot write to {folder}", error.strerror or str(error)) from error

    @property
    def _last_seen(self) -> str:
        return "valid_to" if "valid_to" in self.columns else "taken_at"

    def _ordered(self, *order: Column | str) -> DataFrame:
        times = [name for name in (*SPAN_TIMES, "taken_at") if name in self.columns]
        ordered = self._findings.orderBy(*order, *times)
        return ordered.withColumns({name: F.unix_millis(name) for name in times})

    def _row(self, row: dict[str, Any]) -> SpanFinding | SnapshotFinding:
        for name in (*SPAN_TIMES, "taken_at"):
            if name in row:
                row[name] = _time(row[name]).isoformat()
        severity, evidence = severity_of(row.pop("severity")), json.loads(row.pop("evidence"))
        return self.row(**row, severity=severity, evidence=evidence)


def check_free(folder: Path) -> None:
    """Raises UsageError if ``Audit.write`` would have to overwrite something in the folder."""
    for name in WRITTEN:
        if (folder / name).exists():
            raise UsageError(f"{folder / name} is there already", "nothing was overwritten", "name another --out")


_ORDER = ("cluster", "rule", "topic", "partition", "broker")


def _found(fleet: Fleet, topics: DataFrame, by_topic: list[GroupRule], rules: Collection[str]) -> DataFrame:
    """The findings of every rule: ``snapshot`` and those of ``Finding``."""
    by_partition = [rule for rule in PARTITION_RULES if rule.name in rules]
    keyed: dict[Expression, list[GroupRule]] = defaultdict(list)
    for rule in GROUP_RULES:
        if rule.key is not None and rule.name in rules:
            keyed[rule.key].append(rule)
    parts: list[DataFrame] = []
    if by_partition:
        parts.append(partition_findings(fleet.partitions, by_partition))
    if by_topic:
        parts.append(group_findings(topics, by_topic))
    for key, some in keyed.items():
        parts.append(group_findings(broker_groups(fleet.partitions, some, key), some))
    assert parts, "an audit judges by one rule at least"
    found = parts[0]
    for part in parts[1:]:
        found = found.unionByName(part)
    return found


def _severity() -> Column:
    words = F.when(F.col("severity") == 1, severity_of(1).word).when(F.col("severity") == 2, severity_of(2).word)
    return words.otherwise(severity_of(3).word)


def _snapshot_counts(row: dict[str, Any]) -> SnapshotCounts:
    counts = {name: row[name] for name in COUNT_COLUMNS if not name.startswith(UNKNOWN)}
    names = [predicate.name for predicate in PREDICATES]
    unknown = {name: row[UNKNOWN + name] for name in names if row[UNKNOWN + name]}
    return SnapshotCounts(row["cluster"], _time(row["taken_at"]), counts, unknown)


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
