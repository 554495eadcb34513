"""The answer of audit: findings or counts, the clusters, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, TypeVar, overload

from analyzers.rows import SnapshotCountsRow
from commands.shared.printing.output import Answer, OutputFormat

if TYPE_CHECKING:
    from msgspec import Struct

    from analyzers.fleet_audit import Audited
    from kreplica.store.selection import SnapshotFiles
    from kreplica.store.verification import FileProblem

Found = TypeVar("Found")

_STREAMED = (OutputFormat.jsonl, OutputFormat.csv, OutputFormat.markdown)


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


def answer_to(audited: Audited, output: OutputFormat | None, *, counts_only: bool) -> Answer[Struct]:
    """The answer in the form of the contract.

    Args:
        audited: The audit.
        output: Form of the answer.
        counts_only: The rows are the counts.
    """
    return Answer(
        command="audit",
        rows_name="counts" if counts_only else "findings",
        columns=SnapshotCountsRow if counts_only else audited.audit.row,
        rows=[counts.as_row() for counts in audited.counts] if counts_only else _findings(audited, output),
        clusters=list(_clusters(audited.selection.snapshots)),
        summary=_summary(audited),
        warnings=audited.warnings,
    )


def _findings(audited: Audited, output: OutputFormat | None) -> Sequence[Struct]:
    if output is None or output is OutputFormat.table:
        return ()  # the screen asks for the worst ones itself
    if output in _STREAMED:
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
    selection = audited.selection
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
