"""The answer of audit: findings or counts, the clusters, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, overload

from analyzers.audit import refuse_many
from analyzers.rows import SnapshotCountsRow
from commands.audit.shared.applied_mutes import as_object
from commands.shared.printing.output import Answer, OutputFormat

if TYPE_CHECKING:
    from msgspec import Struct

    from analyzers.fleet_audit import Audited
    from analyzers.reading.timeline import Observation
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
        clusters=list(_clusters(audited)),
        summary=_summary(audited),
        warnings=audited.warnings,
    )


def _findings(audited: Audited, output: OutputFormat | None) -> Sequence[Struct]:
    if output is None or output is OutputFormat.table:
        return ()  # the screen asks for the worst ones itself
    if output in _STREAMED:
        return StreamedRows(audited.told.findings, audited.total)
    refuse_many(audited.total)
    return list(audited.told.findings())


def _clusters(audited: Audited) -> Iterator[dict[str, object]]:
    """Each cluster with its snapshots; one of which metadata logs alone tell has the times of these."""
    snapshots: dict[str, list[SnapshotFiles | Observation]] = {
        cluster: [] for cluster in dict.fromkeys(item.cluster for item in audited.observed)
    }
    for item in audited.selection.snapshots:
        snapshots.setdefault(item.cluster, []).append(item)
    for cluster, seen in snapshots.items():
        some = seen or [item for item in audited.observed if item.cluster == cluster]
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
            "snapshots": len(seen),
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
        **({} if audited.new is None else {"in_baseline": audited.new.earlier}),
        **_muted(audited),
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


def _muted(audited: Audited) -> dict[str, object]:
    """Mutes by the clusters in which they cover something, and the number of findings that do not count."""
    if not audited.mutes:
        return {}
    return {"muted": audited.muted, "mutes": [as_object(one) for one in audited.mutes]}


def _files(problems: Iterable[FileProblem]) -> list[dict[str, str]]:
    return [{"path": problem.path, "reason": problem.reason} for problem in problems]
