"""Partitions as rows: the fields of ``kreplica describe``."""

from __future__ import annotations

from collections.abc import Mapping

from kreplica.health.causes import Explanation, explain
from kreplica.model import predicates as known
from kreplica.model.columns import Indices
from kreplica.model.evaluate import Evaluator
from kreplica.model.expressions import Column, Difference, Expression, First, If, Not
from kreplica.model.schema import PARTITIONS, Kind

PARTITION_FIELDS: Mapping[str, Expression] = {
    "leader": known.LEADER,
    "leader_epoch": Column("leader_epoch"),
    "replicas": known.REPLICAS,
    "isr": known.ISR,
    "elr": Column("elr"),
    "last_known_elr": Column("last_known_elr"),
    "adding": known.ADDING,
    "removing": known.REMOVING,
    "offline_replicas": Column("offline_replicas"),
    "replication_factor": known.REPLICATION_FACTOR,
    "min_isr": known.MIN_ISR,
    "under_replicated": known.UNDER_REPLICATED.expression,
    "masked": known.MASKED.expression,
    "under_min_isr": known.UNDER_MIN_ISR.expression,
    "under_min_isr_broker": known.UNDER_MIN_ISR_BROKER.expression,
    "at_min_isr": known.AT_MIN_ISR.expression,
    "unavailable": known.UNAVAILABLE.expression,
    "offline": known.OFFLINE.expression,
    "preferred": Not(known.NON_PREFERRED.expression),
    "preferred_leader": known.PREFERRED_LEADER,
    "reassigning": known.REASSIGNING.expression,
    "missing": known.MISSING,
}
"""Fields of a row after ``topic`` and ``partition``, and where each comes from."""


def _kind(name: str, expression: Expression) -> Kind:
    if isinstance(expression, Column):
        return PARTITIONS.field(name).kind
    if isinstance(expression, Difference):
        return Kind.INT_LIST
    return Kind.INT32 if isinstance(expression, First | If) else Kind.BOOL


ROW_KINDS: Mapping[str, Kind] = {
    "topic": Kind.STRING,
    "partition": Kind.INT32,
    **{name: _kind(name, expression) for name, expression in PARTITION_FIELDS.items()},
    "causes": Kind.STRING,
    "not_known": Kind.STRING,
}
"""What the fields hold; causes are objects, which flat forms write as JSON text."""

ROW_FIELDS: tuple[str, ...] = tuple(ROW_KINDS)


def partition_rows(
    evaluator: Evaluator, rows: Indices, why: Explanation | None = None, places: Indices | None = None
) -> list[dict[str, object]]:
    """The given partitions as rows with the fields ROW_FIELDS; no leader is None, as is every fact not known.

    Args:
        evaluator: Over the partitions looked at.
        rows: Which of them.
        why: The causes, of the whole cluster; found among the partitions looked at if left out.
        places: Where the given partitions stand in ``why``; as in ``rows`` if left out.
    """
    why = explain(evaluator) if why is None else why
    places = rows if places is None else places
    snapshot = evaluator.snapshot
    columns: dict[str, list[object]] = {
        "topic": list(snapshot.strings("topic").take(rows).to_list()),
        "partition": list(snapshot.integers("partition").take(rows).to_list()),
    }
    for name, expression in PARTITION_FIELDS.items():
        columns[name] = list(evaluator.column(expression).take(rows).to_list())
    columns["leader"] = [None if leader == -1 else leader for leader in columns["leader"]]
    columns["causes"], columns["not_known"] = list(why.causes(places)), list(why.not_known(places))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
