"""Rules of a user over the views of a history: Spark says which rows break them, the client from when to when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from analyzers.rows import SpanFinding
from analyzers.rules.criteria import Criteria
from analyzers.rules.over_time import row_of
from analyzers.rules.rule_files import PARTITIONS_VIEW, CustomRule
from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.views.broken import BROKEN, KEPT, NOT_KNOWN, Verdicts, findings_in
from kreplica.fleet.views.catalogue import BY_NAME
from kreplica.fleet.views.view import View, ViewRows
from kreplica.model.tables.columns import Column
from kreplica.model.tables.schema import Field, Kind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kreplica.history.selection import Chosen

ROWS_AT_ONCE = 200_000
"""Rows of clusters that are given to Spark together, more or less."""
_ROW = "_row"


def found_in_views(spark: SparkSession, chosen: Chosen, criteria: Criteria) -> list[SpanFinding]:
    """Rows of what the user's rules over views besides partitions found, in no order.

    Args:
        spark: The session.
        chosen: The months of the history.
        criteria: The rules; those that are not asked for are left out.

    Raises:
        InputError: A file is damaged, or not there.
    """
    rules = [one for one in criteria.custom if one.view != PARTITIONS_VIEW and one.name in criteria.rules]
    found: list[SpanFinding] = []
    for name in sorted({rule.view for rule in rules}):
        some = [rule for rule in rules if rule.view == name]
        for batch in _batches(chosen, BY_NAME[name]):
            found += _judged(spark, BY_NAME[name], some, batch)
    return found


_Batch = list[tuple[ClusterHistory, ViewRows]]


def _batches(chosen: Chosen, view: View) -> Iterator[_Batch]:
    batch: _Batch = []
    for months in chosen.by_cluster().values():
        history = ClusterHistory(months)
        batch.append((history, view.read(history)))
        if sum(len(rows) for _, rows in batch) >= ROWS_AT_ONCE:
            yield batch
            batch = []
    yield batch


def _judged(spark: SparkSession, view: View, rules: Sequence[CustomRule], batch: _Batch) -> Iterator[SpanFinding]:
    count = sum(len(rows) for _, rows in batch)
    if not count:
        return
    verdicts = _verdicts(_frame(spark, view, [rows for _, rows in batch]), rules, count)
    for rule in rules:
        begin = 0
        for history, rows in batch:
            own = verdicts[rule.name][begin : begin + len(rows)]
            begin += len(rows)
            found = findings_in(history, rows, own, rule.name, rule.severity, partial(_told, rule))
            yield from map(row_of, found)


def _frame(spark: SparkSession, view: View, some: Sequence[ViewRows]) -> DataFrame:
    """The rows of several clusters, numbered through."""
    import pyarrow as pa

    arrays = [pa.chunked_array([_array(field, rows.columns[field.name]) for rows in some]) for field in view.fields]
    numbers = pa.array(range(sum(map(len, some))), pa.int32())
    return spark.createDataFrame(pa.table([numbers, *arrays], names=[_ROW, *view.columns]))


def _array(field: Field, column: Column) -> pa.Array:
    import pyarrow as pa

    from kreplica.store.arrow import ARROW_TYPES

    values: Iterable[object] = column.to_list()
    if field.kind is Kind.STRING:  # names may have bytes that are no UTF-8
        values = (None if text is None else str(text).encode("utf-8", "replace").decode() for text in values)
    return pa.array(values, ARROW_TYPES[field.kind])


def _verdicts(frame: DataFrame, rules: Sequence[CustomRule], count: int) -> Mapping[str, Verdicts]:
    """For each rule what it says of each row."""
    from pyspark.sql import functions as F  # noqa: N812

    told = {rule.name: F.expr(f"({rule.where}\n)") for rule in rules}
    columns = [
        F.when(condition, F.lit(BROKEN)).when(condition.isNull(), F.lit(NOT_KNOWN)).otherwise(F.lit(KEPT)).alias(name)
        for name, condition in told.items()
    ]
    answer = frame.select(_ROW, *columns).toArrow()
    order = answer.column(_ROW).to_numpy()
    found: dict[str, Verdicts] = {}
    for name in told:
        found[name] = np.full(count, NOT_KNOWN, np.int8)
        found[name][order] = answer.column(name).to_numpy()
    return found


def _told(rule: CustomRule, values: Mapping[str, Any]) -> str:
    """The message of a finding; what is not known is unknown, an empty list none."""
    return rule.message.format(**{name: _spelled(values[name]) for name in rule.facts})


def _spelled(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "unknown" if value is None else str(value)
