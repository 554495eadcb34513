"""Runs an audit and puts its result into the form of the contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, TypeVar, overload

from analyzers.audit import Audit
from analyzers.frames import read_fleet
from analyzers.rows import SnapshotCountsRow
from commands.shared.printing.output import Answer, OutputFormat
from kreplica.errors import InputError
from kreplica.model.words import counted

if TYPE_CHECKING:
    from msgspec import Struct

    from analyzers.audit import SnapshotCounts, Tally
    from analyzers.session import SparkSession
    from kreplica.store.selection import Selection, SnapshotFiles
    from kreplica.store.verification import FileProblem

MOST_NAMED = 20
"""Files of a kind that get a warning each; the summary of -o json has all of them."""

Found = TypeVar("Found")

_STREAMED = (OutputFormat.jsonl, OutputFormat.csv, OutputFormat.markdown)


@dataclass(frozen=True, slots=True)
class Question:
    """The snapshots and rules that were asked for.

    Args:
        selection: The snapshots to read.
        rules: Names of the rules to judge by.
        per_snapshot: A row for each finding and snapshot.
        counts_only: The rows are the counts.
        output: Form of the answer.
    """

    selection: Selection
    rules: frozenset[str]
    per_snapshot: bool
    counts_only: bool
    output: OutputFormat | None


@dataclass(frozen=True, slots=True)
class Audited:
    """Result of an audit; the findings themselves stay in Spark.

    Args:
        question: What was asked for.
        audit: Gives the findings while Spark runs.
        counts: Counts of every snapshot, by cluster and time.
        tallies: Numbers of findings by cluster, rule and severity.
    """

    question: Question
    audit: Audit
    counts: Sequence[SnapshotCounts]
    tallies: Sequence[Tally]

    @property
    def total(self) -> int:
        """Number of findings."""
        return sum(tally.findings for tally in self.tallies)


class StreamedRows(Sequence[Found]):
    """Rows that are read as they are printed, in order and once: a fleet may have millions.

    Args:
        rows: The rows, in order.
        length: Number of rows.
    """

    def __init__(self, rows: Callable[[], Iterator[Found]], length: int) -> None:
        self._rows, self._length, self._next = rows(), length, 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Found]:
        return self._rows

    @overload
    def __getitem__(self, place: int) -> Found: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Found]: ...
    def __getitem__(self, place: int | slice) -> Found | Sequence[Found]:
        begin, end, step = (place if isinstance(place, slice) else slice(place, place + 1)).indices(self._length)
        assert (begin, step) == (self._next, 1), "rows are read in their order, once"
        self._next = end
        rows = list(islice(self._rows, end - begin))
        return rows if isinstance(place, slice) else rows[0]


def run_audit(spark: SparkSession, question: Question) -> Audited:
    """Reads the snapshots and judges them.

    Raises:
        InputError: A file was changed or removed while it was read.
    """
    snapshots = question.selection.snapshots
    audit = Audit(read_fleet(spark, snapshots), question.rules, per_snapshot=question.per_snapshot)
    counts = audit.counts()
    told, read = sum(item.partition_rows for item in snapshots), sum(item.counts["partitions"] for item in counts)
    if told != read:
        reason = f"{read} partitions were read, and {told} are what the manifests tell"
        raise InputError("the dumps", "", reason, "files were changed meanwhile: audit again")
    return Audited(question, audit, counts, audit.tallies())


def answer_to(audited: Audited) -> Answer:
    """The answer in the form of the contract."""
    question = audited.question
    return Answer(
        command="audit",
        rows_name="counts" if question.counts_only else "findings",
        columns=SnapshotCountsRow if question.counts_only else audited.audit.row,
        rows=_rows(audited),
        clusters=list(_clusters(question.selection.snapshots)),
        summary=_summary(audited),
        warnings=_warnings(question.selection),
    )


def _rows(audited: Audited) -> Sequence[Struct]:
    question = audited.question
    if question.counts_only:
        return [counts.as_row() for counts in audited.counts]
    if question.output is None or question.output is OutputFormat.table:
        return ()  # the screen asks for the worst ones itself
    if question.output in _STREAMED:
        return StreamedRows(audited.audit.findings, audited.total)
    return list(audited.audit.findings())


def _clusters(snapshots: Sequence[SnapshotFiles]) -> Iterator[dict[str, object]]:
    for cluster, group in groupby(snapshots, key=lambda item: item.cluster):
        some = list(group)
        gaps = [
            {"taken_at": item.taken_at.isoformat(), "kind": gap.kind, "message": gap.message, "count": gap.count}
            for item in some
            for gap in item.gaps
        ]
        yield {
            "cluster": cluster,
            "cluster_id": some[-1].cluster_id,
            "name": some[-1].name,
            "source": some[-1].source,
            "snapshots": len(some),
            "first_taken_at": some[0].taken_at.isoformat(),
            "last_taken_at": some[-1].taken_at.isoformat(),
            "gaps": gaps,
        }


def _summary(audited: Audited) -> dict[str, object]:
    selection = audited.question.selection
    by_severity: Counter[str] = Counter()
    by_rule: Counter[str] = Counter()
    for tally in audited.tallies:
        by_severity[tally.severity.word] += tally.findings
        by_rule[tally.rule] += tally.findings
    return {
        "findings": audited.total,
        "in_newest": sum(tally.in_newest for tally in audited.tallies),
        "by_severity": dict(by_severity),
        "by_rule": dict(by_rule),
        "snapshots": len(selection.snapshots),
        "partitions": sum(counts.counts["partitions"] for counts in audited.counts),
        "counts": [counts.as_row() for counts in audited.counts],
        "snapshots_left_out": selection.left_out,
        "snapshots_repeated": selection.repeated,
        "damaged_files": _files(selection.damaged),
        "foreign_files": _files(selection.orphans),
    }


def _files(problems: Iterable[FileProblem]) -> list[dict[str, str]]:
    return [{"path": problem.path, "reason": problem.reason} for problem in problems]


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
