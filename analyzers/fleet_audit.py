"""A fleet of snapshots audited from folders to findings; nothing of PySpark is imported before a fleet is judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.session import LOCAL_MASTER, require_pyspark, settings_for, spark_session
from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.health.rules import ALL_RULES, Severity
from kreplica.model.words import counted
from kreplica.store.selection import Selection, SnapshotFiles, Wanted, select_snapshots

if TYPE_CHECKING:
    from analyzers.audit import Audit, SnapshotCounts, Tally
    from analyzers.rows import SnapshotFinding, SpanFinding
    from analyzers.session import SparkSession

MOST_NAMED = 20
"""Files of a kind that get a warning each."""

EVERY = Wanted()


@dataclass(frozen=True, slots=True)
class Audited:
    """Result of an audit; the findings themselves stay in Spark.

    Args:
        selection: The snapshots that were read, and those that were left out.
        audit: Gives the findings while Spark runs.
        counts: Counts of every snapshot, by cluster and time.
        tallies: Numbers of findings by cluster, rule and severity.
    """

    selection: Selection
    audit: Audit
    counts: Sequence[SnapshotCounts]
    tallies: Sequence[Tally]

    @property
    def total(self) -> int:
        """Number of findings."""
        return sum(tally.findings for tally in self.tallies)

    @property
    def warnings(self) -> list[str]:
        """Files and snapshots that were left out, and what the snapshots do not tell."""
        return _warnings(self.selection)

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
    selection: Selection
    exit_code: ExitCode
    warnings: Sequence[str]


def audit_fleet(
    folders: Sequence[Path],
    wanted: Wanted = EVERY,
    *,
    rules: Collection[str] | None = None,
    lowest: Severity = Severity.WARNING,
    per_snapshot: bool = False,
    strict: bool = False,
    master: str = LOCAL_MASTER,
    settings: Mapping[str, str] | None = None,
) -> FleetAudit:
    """Judges a fleet over time on Spark, and fetches every finding into memory.

    Args:
        folders: Dump directories, or directories of dump directories.
        wanted: Which of their snapshots.
        rules: Names of rules; all if None.
        lowest: Least severity that speaks against a fleet.
        per_snapshot: A row for each finding and snapshot, instead of one from when to when.
        strict: Stop at a damaged file, or one of another program.
        master: Where Spark runs: ``local[*]``, ``local[4]`` or the ``spark://HOST:PORT`` of a standalone master.
        settings: Settings of Spark.

    Raises:
        MissingExtraError: PySpark or Java is not installed.
        InputError: There is no snapshot, a file was changed meanwhile, or one is damaged and the audit is strict.
        UsageError: There is no such rule, the filters leave no snapshot, or Spark does not take a setting.
        UnreachableError: The master does not answer.
    """
    require_pyspark()
    known = frozenset(rule.name for rule in ALL_RULES)
    names = known if rules is None else frozenset(rules)
    if not names <= known:
        raise UsageError(f"no rule {', '.join(sorted(names - known))}", f"known are {', '.join(sorted(known))}")
    selection = select_fleet(folders, wanted, strict=strict)
    tuned = settings_for(sum(item.partition_rows for item in selection.snapshots), master)
    with spark_session(master, None, {**tuned, **(settings or {})}) as spark:
        found = run_audit(spark, selection, names, per_snapshot=per_snapshot)
        rows = list(found.audit.findings())
    return FleetAudit(rows, found.counts, found.tallies, selection, found.exit_code(lowest), found.warnings)


def select_fleet(folders: Sequence[Path], wanted: Wanted = EVERY, *, strict: bool = False) -> Selection:
    """The snapshots to read.

    Args:
        folders: Dump directories, or directories of dump directories.
        wanted: Which of their snapshots.
        strict: Stop at a damaged file, or one of another program.

    Raises:
        InputError: There is none, or a file is damaged or foreign and the audit is strict.
        UsageError: The filters leave none.
    """
    selection = select_snapshots(folders, wanted)
    wrong = (*selection.damaged, *selection.orphans)
    if strict and wrong:
        more = f", and so are {len(wrong) - 1} more files" if len(wrong) > 1 else ""
        raise InputError(wrong[0].path, "", wrong[0].reason + more, "remove it, or audit the rest without --strict")
    if not selection.snapshots:
        raise _nothing_left(selection, folders)
    return selection


def run_audit(
    spark: SparkSession, selection: Selection, rules: Collection[str], *, per_snapshot: bool = False
) -> Audited:
    """Reads the snapshots and judges them.

    Args:
        spark: The session, which must run as long as findings are asked for.
        selection: The snapshots.
        rules: Names of the rules to judge by.
        per_snapshot: A row for each finding and snapshot.

    Raises:
        InputError: A file was changed or removed while it was read.
    """
    from analyzers.audit import Audit
    from analyzers.frames import read_fleet

    audit = Audit(read_fleet(spark, selection.snapshots), rules, per_snapshot=per_snapshot)
    counts = audit.counts()
    told = sum(item.partition_rows for item in selection.snapshots)
    read = sum(item.counts["partitions"] for item in counts)
    if told != read:
        reason = f"{read} partitions were read, and {told} are what the manifests tell"
        raise InputError("the dumps", "", reason, "files were changed meanwhile: audit again")
    return Audited(selection, audit, counts, audit.tallies())


def _nothing_left(selection: Selection, folders: Sequence[Path]) -> InputError | UsageError:
    if selection.damaged:
        worst = selection.damaged[0]
        more = f" ({len(selection.damaged) - 1} more files are damaged too)" if len(selection.damaged) > 1 else ""
        return InputError(worst.path, "", worst.reason + more, "no whole snapshot is left to audit")
    if selection.filtered:
        return UsageError(
            f"none of {selection.filtered} snapshots is wanted",
            "--cluster, --since and --until leave none",
            "ask for more of them",
        )
    reason = selection.orphans[0].reason if selection.orphans else "no snapshot is in it"
    return InputError(str(folders[0]), "", reason, f"take one: kreplica snapshot --out {folders[0]}")


def _warnings(selection: Selection) -> list[str]:
    found: list[str] = []
    for word, problems in (("damaged", selection.damaged), ("foreign", selection.orphans)):
        found += [f"{problem.path}: {word}: {problem.reason}" for problem in problems[:MOST_NAMED]]
        rest = len(problems) - MOST_NAMED
        if rest > 0:
            found.append(f"{rest} more {word} files: -o json names them in summary.{word}_files")
    if selection.left_out:
        found.append(f"{counted(selection.left_out, 'snapshot')} left out because of damaged files")
    if selection.repeated:
        found.append(f"{counted(selection.repeated, 'copy', 'copies')} of snapshots left out: each is counted once")
    return [*found, *_gap_warnings(selection.snapshots)]


def _gap_warnings(snapshots: Sequence[SnapshotFiles]) -> Iterator[str]:
    """A line for each cluster with incomplete snapshots, with the gaps of the newest of them."""
    for cluster, group in groupby(snapshots, key=lambda item: item.cluster):
        partial = [item for item in group if item.gaps]
        if partial:
            last = "; ".join(gap.message for gap in partial[-1].gaps)
            number = counted(len(partial), "snapshot")
            yield f"{cluster}: {number} incomplete, the last at {partial[-1].taken_at.isoformat()}: {last}"
