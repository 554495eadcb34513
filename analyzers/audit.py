"""The audit of a fleet: counts by cluster and time, and findings, all of it aggregated before it leaves Spark.

Folds the findings of consecutive snapshots of a cluster into spans: from when to when each was seen.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from heapq import merge
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from analyzers.frames_pandas import frame_of, type_of_words
from analyzers.judging.findings import COUNT_COLUMNS, STATE, UNKNOWN, Judged, evidence, message, severity_of
from analyzers.judging.judge import LABEL, SPAN_TIMES, Judging
from analyzers.reading.frames import CLUSTER, FIRST
from analyzers.rows import SnapshotCountsRow, SnapshotFinding, SpanFinding
from analyzers.rules.over_time import span_order, tallied, worst_first
from analyzers.sessions.local_rows import local_rows
from analyzers.sessions.session import kept
from kreplica.errors import UsageError
from kreplica.fleet.known.worsening import Key, Stretch
from kreplica.health.rules import ALL_RULES, OFFLINE, PartitionRule, Severity
from kreplica.history.tables import OBSERVATION
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.rows import names_of
from kreplica.system.durable_files import make_folders, move, sync_all

if TYPE_CHECKING:
    from msgspec import Struct
    from pandas import DataFrame as PandasFrame
    from pyspark.sql import Column, DataFrame

    from analyzers.reading.frames import Fleet


TIMES = (*SPAN_TIMES.values(), "taken_at")
"""Columns of findings that are times."""

WRITTEN = ("findings", "counts")
"""Folders that ``Audit.write`` makes."""

MOST_HELD = 500_000
"""Findings that are brought into memory at once: with their words they take about a gibibyte."""

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
        fleet: The observations, and what they tell.
        rules: Names of the rules to judge by.
        custom: Rules of the user, of which some may be among them.
        per_snapshot: A row for each finding and snapshot with ``taken_at``, instead of one for each unbroken run of
            snapshots with ``valid_from``, ``last_seen`` and ``valid_to``.
        over_time: Rows of what rules over time found, in order; none of them is told for each snapshot.
        told: Whether findings are going to be told in words, which takes facts of each; otherwise they are counted.
    """

    def __init__(
        self,
        fleet: Fleet,
        rules: Collection[str],
        *,
        custom: Sequence[PartitionRule] = (),
        per_snapshot: bool = False,
        over_time: Sequence[SpanFinding] = (),
        told: bool = True,
    ) -> None:
        self._over_time = () if per_snapshot else tuple(over_time)
        own = {rule.name for rule in (*ALL_RULES, *custom)}.intersection(rules)
        # Counts come with any rule: where none is asked for, the findings of one are left out again.
        self._timeline, self._judged = fleet.timeline, Judged(frozenset(own or {OFFLINE.name}), tuple(custom), told)
        self._judging = Judging(fleet, self._judged)
        self.row: type[SpanFinding | SnapshotFinding] = SnapshotFinding if per_snapshot else SpanFinding
        self.columns = names_of(self.row)
        counts = self._judging.counts()
        self._counts = counts.rename_columns(["cluster" if name == LABEL else name for name in counts.column_names])
        found = self._judging.snapshots() if per_snapshot else self._judging.spans()
        # Times and labels are looked up wherever findings are told; they are counted without.
        self._kept = kept(found.withColumnRenamed(STATE, "severity").where(F.lit(bool(own))))
        self._findings = self._kept if per_snapshot else self._judging.placed(self._kept)

    def counts(self) -> list[SnapshotCounts]:
        """The counts of every snapshot, by cluster and time."""
        observed = self._timeline.observed
        return [_snapshot_counts(row, observed[row[OBSERVATION]].taken_at) for row in self._counts.to_pylist()]

    def tallies(self) -> list[Tally]:
        """Numbers of findings by cluster, rule and severity."""
        newest, clusters = F.count_if("in_newest"), self._timeline.clusters
        rows = self._kept.groupBy(CLUSTER, "rule", "severity").agg(F.count(F.lit(1)), newest).collect()
        found = [Tally(clusters[number], rule, severity_of(rank), *counts) for number, rule, rank, *counts in rows]
        found += [Tally(*key, *counts) for key, counts in tallied(self._over_time).items()]
        return sorted(found, key=lambda one: (one.cluster, -one.severity.rank, one.rule))

    def warnings(self) -> list[str]:
        """Lines on clusters whose snapshots do not tell what they seem to: no id, a clock that went back."""
        return [*self._timeline.warnings(), *self._judging.warnings()]

    def stretches(self, rules: Collection[str]) -> list[Stretch]:
        """Findings of some rules, counted by cluster, rule, severity, topic and time before they leave Spark.

        Args:
            rules: Names of the rules.
        """
        times = [
            F.unix_millis(name)
            for name in (("taken_at",) * 3 if self._last_seen == "taken_at" else SPAN_TIMES.values())
        ]
        found = self._findings.where(F.col("rule").isin(list(rules)))
        keys = [F.col(LABEL), F.col("rule"), F.col("severity"), F.col("topic")]
        keys += [time.alias(name) for time, name in zip(times, ("first", "last", "over"), strict=True)]
        rows = found.groupBy(*keys).agg(F.count(F.lit(1))).collect()
        told = [Stretch(label, rule, severity_of(rank), *rest) for label, rule, rank, *rest in rows]
        return told + [_stretch(one) for one in self._over_time if one.rule in rules]

    def without(self, hidden: Collection[Key]) -> Audit:
        """The audit without some of its findings.

        Args:
            hidden: Cluster, rule and topic of these.
        """
        import pyarrow as pa

        rest = copy(self)
        rest._over_time = tuple(one for one in self._over_time if (one.cluster, one.rule, one.topic) not in hidden)
        types = {f"hidden_{name}": pa.string() for name in (LABEL, "rule", "topic")}
        named = F.broadcast(local_rows(self._findings.sparkSession, types, sorted(hidden, key=str)))
        same = [F.col(name.removeprefix("hidden_")).eqNullSafe(F.col(name)) for name in types]
        rest._kept = rest._findings = kept(self._findings.join(named, reduce(and_, same), "left_anti"))
        return rest

    def keys(self) -> DataFrame:
        """All findings, in Spark and without words: ``label`` of the cluster, rule, rank of the severity, times."""
        return self._findings

    def findings(self) -> Iterator[SpanFinding | SnapshotFinding]:
        """All findings as rows of the contract, the most severe first; one Spark partition at a time is in memory."""
        rows = self._worded(self._findings.orderBy(F.desc("severity"), *_ORDER, self._place))
        each = (self._row(row.asDict()) for row in rows.toLocalIterator(prefetchPartitions=True))
        if not self._over_time:
            yield from each
            return
        yield from merge((row for row in each if isinstance(row, SpanFinding)), self._over_time, key=span_order)

    def top(self, count: int) -> list[SpanFinding | SnapshotFinding]:
        """The first ``count`` findings: the most severe first, those of the newest snapshots before older ones."""
        order = (F.desc("severity"), F.desc("in_newest"), F.desc(self._last_seen), *_ORDER, self._place)
        first = self._findings.orderBy(*order).limit(count)
        rows = [self._row(row.asDict()) for row in self._worded(first.orderBy(*order)).collect()]
        if not self._over_time:
            return rows
        return [*worst_first([row for row in rows if isinstance(row, SpanFinding)] + [*self._over_time], count)]

    def _worded(self, found: DataFrame) -> DataFrame:
        """The findings with their words, and with times as milliseconds."""
        times = {name: F.unix_millis(name) for name in TIMES if name in self.columns}
        return self._told(found).withColumns(times)

    def _told(self, found: DataFrame) -> DataFrame:
        """The findings with their words, severity as a rank."""
        assert self._judged.told, "the audit was made to count only"
        told = found.withColumns({"message": message(self._judged), "evidence": evidence(self._judged)})
        return told.drop(CLUSTER).withColumnRenamed(LABEL, "cluster").select(*self.columns)

    def _with_over_time(self, told: DataFrame) -> DataFrame:
        """The findings with their words, and those of rules over time behind them."""
        if not self._over_time:
            return told
        rows = [tuple(_value(name, getattr(one, name)) for name in self.columns) for one in self._over_time]
        return told.unionByName(told.sparkSession.createDataFrame(rows, told.schema))

    def findings_pandas(self) -> PandasFrame:
        """All findings, for pandas: UTC times, nullable integers, categories; evidence as objects.

        Raises:
            MissingExtraError: pandas is not installed.
            UsageError: There are more than are brought into memory at once.
        """
        refuse_many(self._findings.count() + len(self._over_time))
        found = self._with_over_time(self._told(self._findings.orderBy(F.desc("severity"), *_ORDER, self._place)))
        frame = frame_of(found.withColumn("severity", _severity()).toArrow(), ("cluster", "rule", "topic"))
        words = [severity.word for severity in Severity]
        frame["severity"] = frame["severity"].astype("str").astype(type_of_words(words))
        frame["evidence"] = [json.loads(text) for text in frame["evidence"]]
        return frame

    def counts_pandas(self) -> PandasFrame:
        """The counts of every snapshot, for pandas: UTC times, nullable integers, categories.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return frame_of(self._counts.drop_columns([OBSERVATION]), ("cluster",))

    def write(self, folder: Path, afterwards: ExitStack) -> None:
        """Writes ``findings`` and ``counts`` as Parquet folders; all of it appears, or nothing.

        Args:
            folder: The folder that gets both.
            afterwards: Closed when Spark has ended; removes half-written files, since an interrupted Spark writes on.

        Raises:
            UsageError: One of them is there already, or cannot be written.
        """
        check_free(folder)
        findings = self._with_over_time(self._told(self._findings)).withColumn("severity", _severity())
        counts = self._findings.sparkSession.createDataFrame(self._counts.drop_columns([OBSERVATION]))
        tables = dict(zip(WRITTEN, (findings, counts), strict=True))
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
        return "last_seen" if "last_seen" in self.columns else "taken_at"

    @property
    def _place(self) -> str:
        return FIRST if "last_seen" in self.columns else OBSERVATION

    def _row(self, row: dict[str, Any]) -> SpanFinding | SnapshotFinding:
        for name in TIMES:
            if row.get(name) is not None:
                row[name] = _time(row[name]).isoformat()
        severity, evidence = severity_of(row.pop("severity")), json.loads(row.pop("evidence"))
        return self.row(**row, severity=severity, evidence=evidence)


def refuse_many(findings: int) -> None:
    """Raises UsageError if so many findings are more than are brought into memory at once."""
    if findings > MOST_HELD:
        raise UsageError(
            f"{findings} findings are more than one answer holds",
            f"{MOST_HELD} are brought into memory at once",
            "narrow it by --rule, --cluster and --since; -o jsonl and -o csv give row after row, and --out DIR writes"
            " Parquet from where Spark runs",
        )


def check_free(folder: Path) -> None:
    """Raises UsageError if ``Audit.write`` would have to overwrite something in the folder."""
    for name in WRITTEN:
        if (folder / name).exists():
            raise UsageError(f"{folder / name} is there already", "nothing was overwritten", "name another --out")


_ORDER = (LABEL, "rule", "topic", "partition", "broker")


def _severity() -> Column:
    words = F.when(F.col("severity") == 1, severity_of(1).word).when(F.col("severity") == 2, severity_of(2).word)
    return words.otherwise(severity_of(3).word)


def _value(name: str, value: Any) -> Any:
    """A value of a row as Spark has it."""
    if name == "severity":
        return value.rank
    if name == "evidence":
        return json.dumps(value)
    return datetime.fromisoformat(value) if name in TIMES and value is not None else value


def _snapshot_counts(row: dict[str, Any], taken_at: datetime) -> SnapshotCounts:
    counts = {name: row[name] for name in COUNT_COLUMNS if not name.startswith(UNKNOWN)}
    names = [predicate.name for predicate in PREDICATES]
    unknown = {name: row[UNKNOWN + name] for name in names if row[UNKNOWN + name]}
    return SnapshotCounts(row["cluster"], taken_at, counts, unknown)


def _stretch(one: SpanFinding) -> Stretch:
    first, last, ended = (
        None if time is None else _milliseconds(time) for time in (one.valid_from, one.last_seen, one.valid_to)
    )
    assert first is not None
    assert last is not None
    return Stretch(one.cluster, one.rule, one.severity, one.topic, first, last, ended, 1)


def _milliseconds(time: str) -> int:
    return (datetime.fromisoformat(time) - _EPOCH) // timedelta(milliseconds=1)


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
