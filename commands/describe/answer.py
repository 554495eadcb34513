"""The answer of describe: rows, counts and exit code, before any rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from commands.describe.causes import culprit_text, open_text
from commands.describe.measure import measurable, measure, require_live
from commands.describe.question import GroupBy, Question
from commands.describe.view import ClusterView
from commands.shared.printing.output import Answer, cluster_object
from commands.shared.printing.verdicts import code_of
from kreplica.errors import ExitCode
from kreplica.health.causes import explain
from kreplica.health.causes.smallest_set import find_culprits
from kreplica.health.gates import Freshness, gate_code
from kreplica.health.listing import (
    ROW_FIELDS,
    ROW_KINDS,
    PlaceGroup,
    by_broker,
    by_rack,
    by_topic,
    count_all,
    partition_rows,
)
from kreplica.model.evaluate import Evaluator
from kreplica.model.predicates import predicate
from kreplica.model.schema import Kind
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.monitoring.clusters import Reading, gaps_beside, judged_each, read_clusters, select_each
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.columns import Indices


@dataclass(frozen=True, slots=True)
class Description:
    """The whole answer."""

    question: Question
    reading: Reading
    views: Sequence[ClusterView]
    answer: Answer
    exit_code: ExitCode


def answer(handles: Sequence[ClusterHandle], question: Question) -> Description:
    """Reads the clusters and answers the question.

    Raises:
        KreplicaError: No cluster could be read, or the question names something that does not exist.
    """
    if question.measure is not None:
        require_live(handles)
    freshness = Freshness(question.most_age)
    reading = read_clusters(handles, Facet.GATE | Facet.CAUSES, freshness)
    selected, remarks = select_each(
        reading.snapshots,
        topics=question.topics,
        exclude_internal=question.exclude_internal,
        brokers=question.brokers,
    )
    snapshots = judged_each(reading, selected, freshness)
    asked = zip(_handles(reading), reading.snapshots, snapshots, strict=True)
    views = _measured([_view(*each, question) for each in asked], question, reading)
    columns, rows_name, rows = _rows(views, question, several=reading.several)
    document = Answer(
        command="describe",
        rows_name=rows_name,
        columns=columns,
        rows=rows,
        clusters=[cluster_object(view.snapshot) for view in views],
        summary=_summary(views, question, reading),
        warnings=[*reading.warnings(), *remarks, *gaps_beside(reading, snapshots), *_silent(views)],
        kinds={**ROW_KINDS, "measured": Kind.STRING} if question.group_by is None else _GROUP_KINDS,
    )
    return Description(question, reading, views, document, _exit_code(views, question, reading))


def _view(handle: ClusterHandle, whole: ClusterSnapshot, snapshot: ClusterSnapshot, question: Question) -> ClusterView:
    evaluator = Evaluator(snapshot)
    matched, unknown = np.ones(len(snapshot.partitions), np.bool_), 0
    if question.filters:
        columns = [evaluator.boolean(predicate(name).expression) for name in question.filters]
        matched = np.logical_or.reduce([column.is_true() for column in columns])
        unknown = int((np.logical_or.reduce([column.is_null() for column in columns]) & ~matched).sum())
    rows = np.flatnonzero(matched)
    can_measure = handle.bootstrap_servers is not None and question.measure is None
    why = explain(evaluator if snapshot is whole else Evaluator(whole), can_measure=can_measure)
    places = _places(whole, snapshot)
    asked = places[rows] if question.filters or question.group_by else places[why.affected[places]]
    return ClusterView(snapshot, evaluator, rows, unknown, count_all(evaluator), why, places, find_culprits(why, asked))


def _places(whole: ClusterSnapshot, selected: ClusterSnapshot) -> Indices:
    """The row of each selected partition among all; a selection shares the dictionary of topics."""
    if selected is whole or not len(selected.partitions):
        return np.arange(len(selected.partitions))
    every, some = (
        one.strings("topic").codes.astype(np.int64) << 32 | one.integers("partition").values
        for one in (whole, selected)
    )
    order = np.argsort(every, kind="stable")
    return order[np.searchsorted(every[order], some)]


def _measured(views: Sequence[ClusterView], question: Question, reading: Reading) -> list[ClusterView]:
    if question.measure is None:
        return list(views)
    handles = _handles(reading)
    copies = [measurable(view.why, view.places[view.matched]) for view in views]
    targets = [(handle, view.snapshot, some) for handle, view, some in zip(handles, views, copies, strict=True)]
    found = measure(targets, question.measure)
    return [replace(view, measured=measured) for view, measured in zip(views, found, strict=True)]


def _handles(reading: Reading) -> list[ClusterHandle]:
    """Handles of the clusters that could be read, in the order of the snapshots."""
    failed = {id(handle) for handle, _ in reading.failures}
    return [handle for handle in reading.handles if id(handle) not in failed]


def _silent(views: Sequence[ClusterView]) -> list[str]:
    """Brokers that could be read before and did not answer while they were measured."""
    return [
        f"not measured on {view.snapshot.name}: no answer from broker {', '.join(map(str, view.measured.silent))}"
        for view in views
        if view.measured is not None and view.measured.silent
    ]


def _rows(
    views: Sequence[ClusterView], question: Question, *, several: bool
) -> tuple[tuple[str, ...], str, list[dict[str, object]]]:
    """Column names, the rows' key and the rows; a verdict has no rows."""
    if question.group_by is not None:
        columns = (question.group_by.value, *_GROUP_COLUMNS[question.group_by])
        name, gathered = "groups", [_group_rows(view, question.group_by) for view in views]
    else:
        columns, name = ROW_FIELDS, "partitions"
        listed = bool(question.filters) or question.everything
        gathered = [_partition_rows(view) if listed else [] for view in views]
        columns += ("measured",) * (question.measure is not None)
    leads = [_lead(view.snapshot, several=several, timed=question.timed) for view in views]
    if leads[0]:
        gathered = [[lead | row for row in rows] for lead, rows in zip(leads, gathered, strict=True)]
    return (*leads[0], *columns), name, [row for rows in gathered for row in rows]


def _partition_rows(view: ClusterView) -> list[dict[str, object]]:
    rows = partition_rows(view.evaluator, view.matched, view.why, view.places[view.matched])
    if view.measured is not None:
        for row in rows:
            row["measured"] = view.measured.rows(str(row["topic"]), int(str(row["partition"])))
    return rows


def _lead(snapshot: ClusterSnapshot, *, several: bool, timed: bool) -> dict[str, object]:
    """First fields of rows: the time, if there are many rounds, and the cluster, if there are several."""
    lead: dict[str, object] = {"taken_at": snapshot.taken_at.isoformat()} if timed else {}
    return lead | {"cluster": snapshot.label} if several else lead


_GROUP_KINDS = {
    "broker": Kind.INT32,
    "rack": Kind.STRING,
    "alive": Kind.BOOL,
    "missing": Kind.INT64,
    "leading": Kind.INT64,
    "partitions": Kind.INT64,
    "of": Kind.INT64,
    "cause": Kind.STRING,
    "leader": Kind.INT32,
    "certain": Kind.BOOL,
    "failing": Kind.INT64,
    "what": Kind.STRING,
}
_GROUP_COLUMNS = {
    GroupBy.topic: ("partitions", "of"),
    GroupBy.broker: ("rack", "alive", "missing", "leading", "partitions"),
    GroupBy.rack: ("missing", "leading", "partitions"),
    GroupBy.cause: ("broker", "rack", "leader", "certain", "failing", "partitions", "what"),
}


def _group_rows(view: ClusterView, group_by: GroupBy) -> list[dict[str, object]]:
    if group_by is GroupBy.topic:
        return [asdict(group) for group in by_topic(view.evaluator, view.matched)]
    if group_by is GroupBy.cause:
        return list(_cause_rows(view))
    if group_by is GroupBy.rack:
        return [_place_row("rack", group) for group in by_rack(view.evaluator, view.matched)]
    alive = dict(zip(view.snapshot.brokers["broker"].to_list(), view.snapshot.brokers["alive"].to_list(), strict=True))
    racks = view.snapshot.racks
    return [
        {"broker": group.label, "rack": racks.get(group.label), "alive": alive.get(group.label)}  # type: ignore[arg-type]
        | _place_row("broker", group)
        for group in by_broker(view.evaluator, view.matched)
    ]


def _cause_rows(view: ClusterView) -> Iterator[dict[str, object]]:
    racks = view.snapshot.racks
    for culprit in view.verdict.culprits:
        key = culprit.key
        yield {
            "cause": key.kind,
            "broker": key.broker,
            "rack": key.rack or (racks.get(key.broker) if key.broker is not None else None),
            "leader": key.leader,
            "certain": culprit.certain,
            "failing": culprit.failing,
            "partitions": culprit.partitions,
            "what": culprit_text(culprit, view.snapshot),
        }
    for question in view.verdict.open:
        unknown = dict.fromkeys(("broker", "rack", "leader", "failing"))
        counted = {"certain": False, "partitions": question.partitions, "what": open_text(question)}
        yield {"cause": "not-known", **unknown, **counted}


def _place_row(key: str, group: PlaceGroup) -> dict[str, object]:
    return {
        key: group.label,
        "missing": group.missing,
        "leading": group.leading,
        "partitions": group.partitions,
    }


def _summary(views: Sequence[ClusterView], question: Question, reading: Reading) -> dict[str, object]:
    counts = {
        count.predicate.name: sum(view.count(count.predicate.name) for view in views) for count in views[0].counts
    }
    several = reading.several
    unknown = {
        count.predicate.name: sum(view.counts[index].unknown for view in views)
        for index, count in enumerate(views[0].counts)
    }
    return {
        "clusters": len(views),
        "topics": sum(view.snapshot.topic_count for view in views),
        "partitions": sum(len(view.snapshot.partitions) for view in views),
        "matched": sum(len(view.matched) for view in views) if question.filters else None,
        "filters": list(question.filters),
        "counts": counts,
        "unknown": {name: number for name, number in unknown.items() if number},
        "complete": not (reading.failures or any(view.snapshot.gaps for view in views)),
        "causes": [_led(view, several, culprit.as_row()) for view in views for culprit in view.verdict.culprits],
        "causes_open": [_led(view, several, question.as_row()) for view in views for question in view.verdict.open],
        "causes_smallest": all(view.verdict.smallest for view in views),
        **({} if question.measure is None else {"measured": [_led(view, several, _pace(view)) for view in views]}),
    }


def _led(view: ClusterView, several: bool, row: dict[str, object]) -> dict[str, object]:
    return {"cluster": view.snapshot.label} | row if several else row


def _pace(view: ClusterView) -> dict[str, object]:
    assert view.measured is not None, "asked for by --measure"
    return view.measured.summary()


def _exit_code(views: Sequence[ClusterView], question: Question, reading: Reading) -> ExitCode:
    missing = [*reading.failures, *(gap for view in views for gap in view.snapshot.gaps)]
    if question.filters:
        return gate_code([view for view in views if len(view.matched)], [*missing, *(v for v in views if v.unknown)])
    if question.everything or question.group_by is not None:
        return gate_code(against=False, missing=missing)
    return code_of(*(view.verdict_word for view in views), *["INCOMPLETE"] * bool(missing))
