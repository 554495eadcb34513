"""The answer of describe: rows, counts and exit code, before any rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commands.describe.causes import culprit_text, open_text
from commands.describe.question import GroupBy, Question
from commands.shared.printing.output import Answer, cluster_object
from kreplica.errors import ExitCode
from kreplica.health.gates import gate_code
from kreplica.health.listing import ROW_FIELDS, ROW_KINDS, by_broker, by_rack, by_topic
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import Kind
from kreplica.monitoring.clusters import Reading
from kreplica.monitoring.description import DescribedCluster, DescribedClusters, describe

if TYPE_CHECKING:
    from msgspec import Struct

    from commands.describe.rows import CauseRow
    from commands.shared.printing.output import Row
    from kreplica.config.handle import ClusterHandle


@dataclass(frozen=True, slots=True)
class Description:
    """The whole answer."""

    question: Question
    reading: Reading
    views: Sequence[DescribedCluster]
    answer: Answer[Row]
    exit_code: ExitCode


def answer(handles: Sequence[ClusterHandle], question: Question) -> Description:
    """Reads the clusters and answers the question.

    Raises:
        KreplicaError: No cluster could be read, or the question names something that does not exist.
    """
    found = describe(
        handles,
        question.filters,
        topics=question.topics,
        exclude_internal=question.exclude_internal,
        brokers=question.brokers,
        measure=question.measure,
        most_age=question.most_age,
        of_all=question.group_by is not None,
    )
    reading, views = found.reading, found.clusters
    listed = (
        _partitions_answer(views, question, reading)
        if question.group_by is None
        else _gathered(views, question, reading)
    )
    document = replace(
        listed,
        clusters=[cluster_object(view.snapshot) for view in views],
        summary=_summary(views, question, reading),
        warnings=found.warnings,
    )
    return Description(question, reading, views, document, _exit_code(found, question))


def _partitions_answer(views: Sequence[DescribedCluster], question: Question, reading: Reading) -> Answer[Row]:
    """The partitions; a verdict has no rows."""
    listed = bool(question.filters) or question.everything
    gathered = [view.rows if listed else [] for view in views]
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


def _gathered(views: Sequence[DescribedCluster], question: Question, reading: Reading) -> Answer[Any]:
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


def _lead(snapshot: ClusterSnapshot, *, several: bool, timed: bool) -> dict[str, object]:
    """First fields of rows: the time, if there are many rounds, and the cluster, if there are several."""
    lead: dict[str, object] = {"taken_at": snapshot.taken_at.isoformat()} if timed else {}
    return lead | {"cluster": snapshot.label} if several else lead


def _group_rows(view: DescribedCluster, group_by: GroupBy) -> Sequence[Struct]:
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


def _cause_rows(view: DescribedCluster) -> Iterator[CauseRow]:
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


def _summary(views: Sequence[DescribedCluster], question: Question, reading: Reading) -> dict[str, object]:
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


def _led(view: DescribedCluster, several: bool, row: dict[str, object]) -> dict[str, object]:
    return {"cluster": view.snapshot.label} | row if several else row


def _pace(view: DescribedCluster) -> dict[str, object]:
    assert view.measured is not None, "asked for by --measure"
    return view.measured.summary()


def _exit_code(found: DescribedClusters, question: Question) -> ExitCode:
    if not question.filters and (question.everything or question.group_by is not None):
        return gate_code(against=False, missing=found.missing)
    return found.exit_code
