"""A fleet of snapshots audited from folders to findings; nothing of PySpark is imported before a fleet is judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from analyzers.reading.folded import Folded, folded, is_foldable
from analyzers.reading.sources import Sources
from analyzers.reading.timeline import Observation
from analyzers.rules.criteria import Criteria, criteria_of, refuse_without_history
from analyzers.rules.over_time import found_over_time, span_order
from analyzers.sessions.jvm import is_submitted
from analyzers.sessions.session import LOCAL_MASTER, require_pyspark, settings_for, spark_session
from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.fleet.judging import tables_read
from kreplica.fleet.known.worsening import AppliedMute, apply_mutes, muted_keys
from kreplica.health.rules import Severity
from kreplica.history.months.layout import CLOSED, OPEN, WHOLE
from kreplica.history.months.log_steps import EXACT_TABLES, STEPS, exact_name
from kreplica.history.newest import newest_ms_in
from kreplica.history.selection import Chosen, choose, is_history
from kreplica.history.tables import LOG_TABLES
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.wording.words import are, counted
from kreplica.store.selection import Selection, SnapshotFiles, Wanted, select_snapshots
from kreplica.store.verification import FileProblem
from kreplica.system.stores.locations import Place, storage_at
from kreplica.system.stores.storage import Storage

if TYPE_CHECKING:
    from analyzers.audit import Audit, SnapshotCounts, Tally
    from analyzers.new_findings import NewFindings
    from analyzers.reading.frames import Fleet
    from analyzers.rows import SnapshotFinding, SpanFinding
    from analyzers.sessions.session import SparkSession
    from kreplica.config.mutes import Mute
    from kreplica.fleet.known.baseline import Baseline

ROWS_A_CORE_SECOND = 300_000
"""Rows that a core reads and judges in a second, roughly."""
MOST_NAMED = 20
"""Files of a kind that get a warning each."""

EVERY = Wanted()
_EXACT_PARTITIONS = next(exact_name(table) for table in LOG_TABLES if table.of is PARTITIONS)


@dataclass(frozen=True, slots=True)
class HistorySelection:
    """The part of a history that an audit reads, and the problems of the rest; the fields are those of Selection.

    Args:
        storage: Place of the history.
        chosen: Its months.
        sources: The snapshots and metadata logs in them.
        snapshots: All snapshots, by cluster and time.
        damaged: Files that cannot be used; their months are left out.
        months_left_out: Months that are left out because of damaged files.
        wanted: What was asked for.
    """

    storage: Storage
    chosen: Chosen
    sources: Sources
    snapshots: tuple[Observation, ...]
    damaged: tuple[FileProblem, ...]
    months_left_out: int
    orphans: tuple[FileProblem, ...] = ()
    left_out: int = 0
    repeated: int = 0
    wanted: Wanted = EVERY

    @property
    def told_left_out(self) -> str:
        """Number of what is left out because of damaged files, in words."""
        return counted(self.months_left_out, "month of a cluster", "months of clusters")

    @property
    def partition_rows(self) -> int:
        """Rows of partitions that Spark reads."""
        parts = ((PARTITIONS.name, OPEN, CLOSED), (_EXACT_PARTITIONS, WHOLE))
        return sum(file.rows for month in self.chosen.months for some in parts for file in month.files(*some))

    @property
    def observed(self) -> Sequence[Observation]:
        """Observations that are judged: snapshots, and the moments of metadata logs where these tell of the time."""
        return self.sources.timeline.observed


@dataclass(frozen=True, slots=True)
class Audited:
    """Result of an audit; the findings themselves stay in Spark.

    Args:
        selection: The snapshots that were read, and those that were left out.
        audit: Gives the findings while Spark runs.
        counts: Counts of every snapshot, by cluster and time.
        tallies: Numbers of findings by cluster, rule and severity.
        doubts: Lines on clusters whose snapshots do not tell what they seem to.
        new: The findings that an earlier answer did not have, which the tallies are of then; None if all are told.
        mutes: Mutes by the clusters in which they cover findings.
        muted: Number of findings that ``audit`` and the tallies lack because they are muted.
    """

    selection: Selection | HistorySelection
    audit: Audit
    counts: Sequence[SnapshotCounts]
    tallies: Sequence[Tally]
    doubts: Sequence[str] = ()
    new: NewFindings | None = None
    mutes: Sequence[AppliedMute] = ()
    muted: int = 0

    @property
    def told(self) -> Audit | NewFindings:
        """The findings that are told."""
        return self.audit if self.new is None else self.new

    def only_new(self, baseline: Baseline) -> Audited:
        """The audit with the findings alone that an earlier answer does not have.

        Args:
            baseline: The earlier answer.

        Raises:
            UsageError: More are new than are brought into memory at once.
        """
        from analyzers.new_findings import new_findings

        new = new_findings(self.audit, baseline, self._read_from())
        return replace(self, tallies=new.tallies(), new=new)

    def muted_by(self, mutes: Sequence[Mute]) -> Audited:
        """The audit without the findings that are muted.

        Args:
            mutes: The mutes that are in force.
        """
        stretches = self.audit.stretches({mute.rule for mute in mutes}) if mutes else []
        applied = apply_mutes(mutes, stretches, {one.cluster: one.name for one in self.observed}, self._read_from())
        hidden = muted_keys(applied)
        if not hidden:
            return replace(self, mutes=applied)
        audit = self.audit.without(hidden)
        tallies = audit.tallies()
        muted = self.total - sum(tally.findings for tally in tallies)
        return replace(self, audit=audit, tallies=tallies, mutes=applied, muted=muted)

    def _read_from(self) -> dict[str, datetime]:
        """Time of the first observation of each cluster."""
        first: dict[str, datetime] = {}
        for item in self.observed:
            first[item.cluster] = min(item.taken_at, first.get(item.cluster, item.taken_at))
        return first

    @property
    def observed(self) -> Sequence[SnapshotFiles | Observation]:
        """Snapshots, and what metadata logs tell, by cluster and time."""
        return self.selection.observed if isinstance(self.selection, HistorySelection) else self.selection.snapshots

    @property
    def logged(self) -> int:
        """Number of the clusters of which a metadata log tells something."""
        return self.selection.sources.logged if isinstance(self.selection, HistorySelection) else 0

    @property
    def total(self) -> int:
        """Number of findings."""
        return sum(tally.findings for tally in self.tallies)

    @property
    def warnings(self) -> list[str]:
        """Files and snapshots that were left out, and what the snapshots do not tell."""
        return [*_warnings(self.selection), *self.doubts]

    def exit_code(self, lowest: Severity = Severity.WARNING) -> ExitCode:
        """1 when a finding is at least so severe, 5 when there is none but something could not be read."""
        if any(tally.severity >= lowest for tally in self.tallies):
            return ExitCode.FINDINGS
        incomplete = self.selection.damaged or any(item.gaps for item in self.selection.snapshots)
        return ExitCode.INCOMPLETE if incomplete else ExitCode.OK


@dataclass(frozen=True, slots=True)
class FleetAudit:
    """An audit that is over, with all its findings.

    Args:
        rows: The findings, the most severe first.
        counts: Counts of every snapshot, by cluster and time.
        tallies: Numbers of findings by cluster, rule and severity.
        selection: The snapshots that were read, and those that were left out.
        exit_code: Exit code of the command.
        warnings: Files and snapshots that were left out, and what the snapshots do not tell.
    """

    rows: Sequence[SpanFinding | SnapshotFinding]
    counts: Sequence[SnapshotCounts]
    tallies: Sequence[Tally]
    selection: Selection | HistorySelection
    exit_code: ExitCode
    warnings: Sequence[str]


def audit_fleet(
    folders: Sequence[Place],
    wanted: Wanted = EVERY,
    *,
    rules: Collection[str] | Criteria | None = None,
    lowest: Severity = Severity.WARNING,
    per_snapshot: bool = False,
    strict: bool = False,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> FleetAudit:
    """Judges a fleet over time on Spark, and fetches every finding into memory.

    Args:
        folders: Dump directories, or directories of dump directories; or one history.
        wanted: Which of their snapshots.
        rules: Names of rules, or with these the rules of the user; all of kreplica's if None.
        lowest: Least severity that speaks against a fleet.
        per_snapshot: A row for each finding and snapshot, instead of one from when to when.
        strict: Stop at a damaged file, or one of another program.
        master: Where Spark runs: ``local[*]``, ``local[4]`` or the ``spark://HOST:PORT`` of a standalone master. If
            None, the master of spark-submit, or ``local[*]`` where that did not start this process.
        settings: Settings of Spark.

    Raises:
        MissingExtraError: PySpark or Java is not installed.
        InputError: There is no snapshot, a file was changed meanwhile, or one is damaged and the audit is strict.
        UsageError: There is no such rule, the filters leave no snapshot, there are more findings than are brought into
            memory at once, or Spark does not take a setting.
        UnreachableError: The master does not answer.
    """
    require_pyspark()

    from analyzers.audit import refuse_many

    criteria = criteria_of(rules)
    selection = select_fleet(folders, wanted, strict=strict)
    refuse_without_history(criteria, history=isinstance(selection, HistorySelection))
    over_time = () if per_snapshot else judge_over_time(selection, criteria.rules)
    with ExitStack() as afterwards:
        read = selection if per_snapshot else afterwards.enter_context(folded_here(selection, master))
        tuned = settings_for(partition_rows(read), conditions=bool(criteria.custom), asked=settings)
        spark = afterwards.enter_context(spark_session(master, None, tuned))
        found = run_audit(spark, read, criteria, per_snapshot=per_snapshot, over_time=over_time)
        refuse_many(found.total)
        rows = list(found.audit.findings())
    return FleetAudit(rows, found.counts, found.tallies, selection, found.exit_code(lowest), found.warnings)


def select_fleet(
    folders: Sequence[Place], wanted: Wanted = EVERY, *, strict: bool = False
) -> Selection | HistorySelection:
    """The snapshots to read.

    Args:
        folders: Dump directories, or directories of dump directories; or one history, which its layout tells.
        wanted: Which of their snapshots.
        strict: Stop at a damaged file, or one of another program.

    Raises:
        InputError: There is none, or a file is damaged or foreign and the audit is strict.
        UsageError: The filters leave none, or a history is named beside something else.
    """
    histories = [folder for folder in folders if is_history(storage_at(folder))]
    if histories and len(folders) > 1:
        others = ", ".join(str(folder) for folder in folders if folder != histories[0])
        reason = f"{histories[0]} is a history, and {others or histories[0]} is named beside it"
        fix = "audit one after the other, or take the dumps in: kreplica audit ingest DUMP... --into HISTORY"
        raise UsageError("a history is audited alone", reason, fix)
    selection = _select_history(histories[0], wanted) if histories else select_snapshots(folders, wanted)
    wrong = (*selection.damaged, *selection.orphans)
    if strict and wrong:
        more = f" ({counted(len(wrong) - 1, 'more file')} cannot be read either)" if len(wrong) > 1 else ""
        raise InputError(wrong[0].path, "", wrong[0].reason + more, "remove it, or audit the rest without --strict")
    if not selection.snapshots and not (isinstance(selection, HistorySelection) and selection.observed):
        raise _nothing_left(selection, folders)
    return selection


def _select_history(folder: Place, wanted: Wanted) -> HistorySelection:
    storage = storage_at(folder)
    tables = {PARTITIONS.name, BROKERS.name, STEPS.name, *EXACT_TABLES, *tables_read()}
    chosen = choose(storage, wanted, sorted(tables), logs=True)
    sources = Sources(chosen)
    return HistorySelection(
        storage, chosen, sources, tuple(sources.snapshots), chosen.problems, chosen.left_out, wanted=wanted
    )


def partition_rows(read: Selection | HistorySelection | Folded) -> int:
    """Rows of partitions that Spark is going to read."""
    if isinstance(read, Selection):
        return sum(item.partition_rows for item in read.snapshots)
    return read.partition_rows


@contextmanager
def folded_here(
    selection: Selection | HistorySelection, master: str | None = None, remote: str | None = None
) -> Iterator[Selection | HistorySelection | Folded]:
    """Large dumps folded to rows that last, where Spark runs on this machine alone; otherwise what is given.

    To be called before Spark runs, as ``judge_over_time``.

    Args:
        selection: The snapshots.
        master: Where Spark is going to run; None for this process, unless spark-submit started it.
        remote: A Connect server.
    """
    elsewhere = remote is not None or is_submitted() or not (master or LOCAL_MASTER).startswith("local")
    if elsewhere or isinstance(selection, HistorySelection) or not is_foldable(selection):
        yield selection
        return
    with folded(selection) as found:
        yield found or selection


def judge_over_time(
    selection: Selection | HistorySelection,
    rules: Collection[str],
    *,
    now_ms: int | None = None,
    expect_every_ms: int | None = None,
    processes: int = 1,
    groups: Mapping[str, frozenset[str]] | None = None,
) -> list[SpanFinding]:
    """Rows of what rules over time found, the most severe first; none of dumps, which are no history.

    To be called before Spark runs where several processes are to share the clusters: copies of this one must not hold
    its connection.

    Args:
        selection: The snapshots.
        rules: Names of the rules to judge by; those of other kinds are left out.
        now_ms: The moment that a history is judged at, milliseconds since the epoch. If None, that of the newest
            snapshot up to the end of the time that is wanted, of whichever cluster it is.
        expect_every_ms: A snapshot is due so often; None for the interval that each cluster kept.
        processes: Number of processes that share the clusters.
        groups: Groups of clusters that are to be alike, each with the ids or names of its clusters.

    Raises:
        InputError: A file is damaged, or not there.
    """
    if not isinstance(selection, HistorySelection):
        return []
    if now_ms is None and selection.wanted.clusters:
        now_ms = newest_ms_in(selection.storage, selection.wanted.until)
    return found_over_time(selection.chosen, rules, now_ms, expect_every_ms, processes, groups)


def run_audit(
    spark: SparkSession,
    read: Selection | HistorySelection | Folded,
    rules: Collection[str] | Criteria,
    *,
    per_snapshot: bool = False,
    now_ms: int | None = None,
    expect_every_ms: int | None = None,
    over_time: Sequence[SpanFinding] | None = None,
    stage: Callable[[str], None] | None = None,
) -> Audited:
    """Reads the snapshots and judges them.

    Args:
        spark: The session, which must run as long as findings are asked for.
        read: The snapshots, or what ``folded_here`` made of them.
        rules: Names of the rules to judge by, or with these the rules of the user.
        per_snapshot: A row for each finding and snapshot.
        now_ms: The moment that a history is judged at, milliseconds since the epoch; its newest snapshot if None.
        expect_every_ms: A snapshot is due so often; None for the interval that each cluster kept.
        over_time: Rows that ``judge_over_time`` gave before; it is asked, in this process alone, if None.
        stage: Hears in words what is done next, and how long that may take.

    Raises:
        InputError: A file was changed or removed while it was read, or Spark does not take a rule of the user.
    """
    from analyzers.audit import Audit
    from analyzers.rules.custom_rules import rules_on_spark

    say = stage or _silent
    criteria = criteria_of(rules)
    custom = rules_on_spark(spark, criteria.custom)
    selection, rows = read.selection if isinstance(read, Folded) else read, partition_rows(read)
    say(f"1 of 3: reading and judging {counted(rows, 'row')} of partitions{_estimate(rows)}")
    fleet = _read(spark, read, per_snapshot=per_snapshot, every_broker=bool(custom))
    if per_snapshot:
        over_time = ()
    else:
        if over_time is None:
            over_time = judge_over_time(selection, criteria.rules, now_ms=now_ms, expect_every_ms=expect_every_ms)
        over_time = _with_views(spark, selection, criteria, over_time)
    audit = Audit(
        fleet, criteria.rules, custom=custom, per_snapshot=per_snapshot, over_time=over_time, told=criteria.told
    )
    counts = audit.counts()
    if isinstance(selection, Selection):
        _refuse_changed(selection, counts)
    say("2 of 3: folding what is broken to spans")
    tallies = audit.tallies()
    say("3 of 3: looking at the order of the snapshots")
    doubts = audit.warnings()
    return Audited(selection, audit, counts, tallies, doubts)


def _read(
    spark: SparkSession, read: Selection | HistorySelection | Folded, *, per_snapshot: bool, every_broker: bool
) -> Fleet:
    """Rows of partitions and of what they are judged with, from wherever they stand."""
    from analyzers.reading.frames import read_fleet
    from analyzers.reading.histories import read_history

    if isinstance(read, Folded):
        kept = read_history(spark, read.storage, read.sources, every_broker=every_broker)
        return replace(kept, timeline=read.timeline)
    if isinstance(read, Selection):
        return read_fleet(spark, read.snapshots)
    # A row for each snapshot is what that says, whatever a log tells of its time.
    if per_snapshot and not read.snapshots:
        raise UsageError(
            "no snapshot is wanted",
            "metadata logs alone tell of that time, and --per-snapshot asks snapshots",
            "leave out --per-snapshot",
        )
    sources = Sources(read.chosen, logs=False) if per_snapshot else read.sources
    return read_history(spark, read.storage, sources, every_broker=every_broker)


def _with_views(
    spark: SparkSession,
    selection: Selection | HistorySelection,
    criteria: Criteria,
    over_time: Sequence[SpanFinding],
) -> Sequence[SpanFinding]:
    """The rows, and those of the user's rules over other views of a history than partitions."""
    from analyzers.rules.custom_views import found_in_views

    if not isinstance(selection, HistorySelection):
        return over_time
    return sorted([*over_time, *found_in_views(spark, selection.chosen, criteria)], key=span_order)


def _refuse_changed(selection: Selection, counts: Sequence[SnapshotCounts]) -> None:
    """Refuses dumps that have other numbers of partitions than their manifests say."""
    told, found = partition_rows(selection), sum(item.counts["partitions"] for item in counts)
    if told != found:
        reason = f"{found} partitions were read, and {told} are what the manifests tell"
        raise InputError("the dumps", "", reason, "files were changed meanwhile: audit again")


def _silent(_: str) -> None:
    pass


def _estimate(rows: int) -> str:
    """Time that reading may take on the cores of this machine; nothing where that is a moment."""
    seconds = rows // (ROWS_A_CORE_SECOND * (os.cpu_count() or 1))
    return f", some {seconds} s" if seconds > 1 else ""


def _nothing_left(selection: Selection | HistorySelection, folders: Sequence[Place]) -> InputError | UsageError:
    if selection.damaged:
        worst = selection.damaged[0]
        others = len(selection.damaged) - 1
        more = f" ({counted(others, 'more file')} {are(others)} damaged too)" if others else ""
        return InputError(worst.path, "", worst.reason + more, "no whole snapshot is left to audit")
    filtered = selection.chosen.filtered if isinstance(selection, HistorySelection) else selection.filtered
    if filtered:
        what = "months of clusters" if isinstance(selection, HistorySelection) else "snapshots"
        return UsageError(
            f"none of {filtered} {what} is wanted",
            "--cluster, --since and --until leave none",
            "ask for more of them",
        )
    reason = selection.orphans[0].reason if selection.orphans else "no snapshot is in it"
    return InputError(str(folders[0]), "", reason, f"take one: kreplica snapshot --out {folders[0]}")


def _warnings(selection: Selection | HistorySelection) -> list[str]:
    found: list[str] = []
    for word, problems in (("damaged", selection.damaged), ("foreign", selection.orphans)):
        found += [f"{problem.path}: {word}: {problem.reason}" for problem in problems[:MOST_NAMED]]
        rest = len(problems) - MOST_NAMED
        if rest > 0:
            found.append(f"{rest} more {word} files: -o json names them in summary.{word}_files")
    if selection.left_out:
        found.append(f"{counted(selection.left_out, 'snapshot')} left out because of damaged files")
    if isinstance(selection, HistorySelection) and selection.months_left_out:
        found.append(f"{selection.told_left_out} left out because of damaged files")
    if selection.repeated:
        found.append(f"{counted(selection.repeated, 'copy', 'copies')} of snapshots left out: each is counted once")
    return [*found, *_gap_warnings(selection.snapshots)]


def _gap_warnings(snapshots: Sequence[SnapshotFiles | Observation]) -> Iterator[str]:
    """A line for each cluster with incomplete snapshots, with the gaps of the newest of them."""
    for cluster, group in groupby(snapshots, key=lambda item: item.cluster):
        partial = [item for item in group if item.gaps]
        if partial:
            last = "; ".join(gap.message for gap in partial[-1].gaps)
            number = counted(len(partial), "snapshot")
            yield f"{cluster}: {number} incomplete, the last at {partial[-1].taken_at.isoformat()}: {last}"
