"""The answer of describe: rows, counts and exit code, before any rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    from msgspec import Struct

    from commands.describe.rows import CauseRow
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
    listed = _listed(views, question, reading) if question.group_by is None else _gathered(views, question, reading)
    document = replace(
        listed,
        clusters=[cluster_object(view.snapshot) for view in views],
        summary=_summary(views, question, reading),
        warnings=[*reading.warnings(), *remarks, *gaps_beside(reading, snapshots), *_silent(views)],
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


def _listed(views: Sequence[ClusterView], question: Question, reading: Reading) -> Answer:
    """The partitions; a verdict has no rows."""
    listed = bool(question.filters) or question.everything
    gathered = [_partition_rows(view) if listed else [] for view in views]
    leads = [_lead(view.snapshot, several=reading.several, timed=question.timed) for view in views]
    if leads[0]:
        gathered = [[lead | row for row in rows] for lead, rows in zip(leads, gathered, strict=True)]
    return Answer(
        command="describe",
        rows_name="partitions",
        columns=(*leads[0], *ROW_FIELDS, *["measured"] * (question.measure is not None)),
        rows=[row for rows in gathered for row in rows],
        kinds={**ROW_KINDS, "measured": Kind.STRING},
    )


def _gathered(views: Sequence[ClusterView], question: Question, reading: Reading) -> Answer:
    """The groups of partitions."""
    from commands.describe.rows import GROUP_ROWS

    assert question.group_by is not None, "asked for by --group-by"
    found = [(view.snapshot, _group_rows(view, question.group_by)) for view in views]
    times = [snapshot.taken_at.isoformat() for snapshot, rows in found for _ in rows]
    return Answer(
        command="describe",
        rows_name="groups",
        columns=GROUP_ROWS[question.group_by],
        rows=[row for _, rows in found for row in rows],
        row_clusters=reading.row_clusters(found),
        row_times=times if question.timed else None,
    )


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


def _group_rows(view: ClusterView, group_by: GroupBy) -> Sequence[Struct]:
    from commands.describe.rows import BrokerRow, RackRow, TopicRow

    if group_by is GroupBy.topic:
        return [TopicRow(one.topic, one.partitions, one.of) for one in by_topic(view.evaluator, view.matched)]
    if group_by is GroupBy.cause:
        return list(_cause_rows(view))
    if group_by is GroupBy.rack:
        racks = by_rack(view.evaluator, view.matched)
        return [RackRow(one.label, one.missing, one.leading, one.partitions) for one in racks]
    brokers, rack_of = view.snapshot.brokers, view.snapshot.racks
    alive = dict(zip(brokers.integers("broker").to_list(), brokers.booleans("alive").to_list(), strict=True))
    return [
        BrokerRow(one.label, rack_of.get(one.label), alive.get(one.label), one.missing, one.leading, one.partitions)
        for one in by_broker(view.evaluator, view.matched)
    ]


def _cause_rows(view: ClusterView) -> Iterator[CauseRow]:
    from commands.describe.rows import CauseRow

    racks = view.snapshot.racks
    for culprit in view.verdict.culprits:
        key = culprit.key
        yield CauseRow(
            cause=key.kind,
            broker=key.broker,
            rack=key.rack or (racks.get(key.broker) if key.broker is not None else None),
            leader=key.leader,
            certain=culprit.certain,
            failing=culprit.failing,
            partitions=culprit.partitions,
            what=culprit_text(culprit, view.snapshot),
        )
    for question in view.verdict.open:
        yield CauseRow(
            cause="not-known",
            broker=None,
            rack=None,
            leader=None,
            certain=False,
            failing=None,
            partitions=question.partitions,
            what=open_text(question),
        )


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
