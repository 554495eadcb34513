"""How many partitions each predicate holds for, by topic and by snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from analyzers.fleet_findings import group_facts
from analyzers.spark_columns import Compiler
from kreplica.health.rules import GroupRule
from kreplica.model.predicates import PREDICATES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

UNKNOWN = "unknown_"
"""Prefix of the columns that count the partitions for which a predicate cannot be known."""

COUNTS = ("partitions", *(predicate.name for predicate in PREDICATES))
_SUMS = (*COUNTS, *(UNKNOWN + predicate.name for predicate in PREDICATES))
COUNT_COLUMNS = ("topics", "brokers", *_SUMS)


def topic_groups(partitions: DataFrame, rules: Sequence[GroupRule]) -> DataFrame:
    """One row a snapshot and topic: its counts, and the facts of the rules that judge topics."""
    return partitions.groupBy("snapshot", "topic").agg(*_predicate_counts(), *group_facts(rules))


def snapshot_counts(topics: DataFrame, snapshots: DataFrame) -> DataFrame:
    """One row a snapshot, those without partitions included: ``cluster``, ``taken_at`` and COUNT_COLUMNS."""
    sums = [F.sum(name).alias(name) for name in _SUMS]
    by_snapshot = topics.groupBy("snapshot").agg(F.count(F.lit(1)).alias("topics"), *sums)
    joined = snapshots.join(by_snapshot, "snapshot", "left").fillna(0, ["topics", *_SUMS])
    return joined.select("cluster", "taken_at", *COUNT_COLUMNS)


def _predicate_counts() -> list[Column]:
    compiler = Compiler()
    counts = [F.count(F.lit(1)).alias("partitions")]
    for predicate in PREDICATES:
        column = compiler.column(predicate.expression)
        counts.append(F.count_if(column).alias(predicate.name))
        counts.append(F.count_if(column.isNull()).alias(UNKNOWN + predicate.name))
    return counts
