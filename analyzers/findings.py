"""The rules of kreplica/health/rules.py over all partitions of a fleet.

Also counts, by topic and by snapshot, the partitions for which each predicate holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from string import Formatter
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from analyzers.columns import Compiler
from kreplica.health.findings import Finding
from kreplica.health.rules import Aggregate, GroupRule, Largest, PartitionRule, Rows, RowsWhere, Severity, Smallest
from kreplica.model import expressions as ex
from kreplica.model.expressions import Expression
from kreplica.model.predicates import PREDICATES
from kreplica.model.rows import names_of
from kreplica.model.schema import PARTITIONS, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


FINDING = names_of(Finding)
"""Columns of a finding; severity is the rank of health.rules.Severity, evidence an object as JSON text."""


def partition_findings(partitions: DataFrame, rules: Sequence[PartitionRule]) -> DataFrame:
    """Findings of the rules that judge single partitions: ``snapshot`` and FINDING. All rules in one pass."""
    compiler = Compiler()
    broken = {f"broken {rule.name}": compiler.column(rule.when) for rule in rules}
    # Most partitions break no rule: only the rest get messages and evidence.
    kept = partitions.withColumns(broken).where(reduce(or_, (F.coalesce(F.col(name), F.lit(False)) for name in broken)))
    found = [F.when(F.col(f"broken {rule.name}"), _partition_finding(compiler, rule)) for rule in rules]
    return _unfolded(kept, found)


def group_findings(groups: DataFrame, rules: Sequence[GroupRule]) -> DataFrame:
    """Findings of the rules that judge topics or brokers.

    Args:
        groups: ``snapshot``, ``topic`` or ``broker``, and the facts of the rules (``group_facts``).
        rules: Rules with the same key.
    """
    return _unfolded(groups, [_group_finding(rule) for rule in rules])


def group_facts(rules: Sequence[GroupRule]) -> list[Column]:
    """The aggregates to gather over a group for these rules."""
    compiler = Compiler()
    return [_aggregate(compiler, fact).alias(_fact(rule, name)) for rule in rules for name, fact in rule.facts]


def broker_groups(partitions: DataFrame, rules: Sequence[GroupRule], key: Expression) -> DataFrame:
    """The facts of rules that gather the partitions by a broker, which ``key`` gives for each partition."""
    keyed = partitions.withColumn("_key", Compiler().column(key)).where(F.col("_key").isNotNull())
    grouped = keyed.groupBy("snapshot", "_key").agg(*group_facts(rules))
    return grouped.withColumnRenamed("_key", "broker")


def _unfolded(rows: DataFrame, findings: Sequence[Column]) -> DataFrame:
    found = F.array_compact(F.array(*findings))
    return rows.select("snapshot", F.explode(found).alias("found")).select(
        "snapshot", *(F.col(f"found.{name}").alias(name) for name in FINDING)
    )


def _partition_finding(compiler: Compiler, rule: PartitionRule) -> Column:
    severity = F.lit(rule.severity.rank)
    if rule.escalates is not None:
        severity = F.when(compiler.column(rule.escalates), F.lit(rule.escalated.rank)).otherwise(severity)
    facts = {name: compiler.column(expression) for name, expression in rule.facts}
    spelled = {name: _spelled(facts[name], _is_list(expression)) for name, expression in rule.facts}
    return F.struct(
        F.lit(rule.name).alias("rule"),
        severity.alias("severity"),
        F.col("topic"),
        F.col("partition"),
        F.lit(None).cast("int").alias("broker"),
        _message(rule.message, spelled).alias("message"),
        _evidence(facts).alias("evidence"),
    )


def _group_finding(rule: GroupRule) -> Column:
    facts = {name: F.col(_fact(rule, name)) for name, _ in rule.facts}
    spelled = {name: _spelled(column, False) for name, column in facts.items()}
    by_topic = rule.key is None
    finding = F.struct(
        F.lit(rule.name).alias("rule"),
        F.lit(rule.severity.rank).alias("severity"),
        (F.col("topic") if by_topic else F.lit(None).cast("string")).alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        (F.lit(None).cast("int") if by_topic else F.col("broker")).alias("broker"),
        _message(rule.message, spelled).alias("message"),
        _evidence(facts).alias("evidence"),
    )
    return F.when(Compiler(facts).column(rule.when), finding)


def _aggregate(compiler: Compiler, fact: Aggregate) -> Column:
    if isinstance(fact, Rows):
        return F.count(F.lit(1))
    if isinstance(fact, RowsWhere):
        return F.count_if(compiler.column(fact.condition))
    assert isinstance(fact, Smallest | Largest), f"no way to gather {fact}"
    extreme = F.min if isinstance(fact, Smallest) else F.max
    return extreme(compiler.column(fact.value))


def _fact(rule: GroupRule, name: str) -> str:
    return f"{rule.name} {name}"


def _message(template: str, spelled: dict[str, Column]) -> Column:
    """The rule's message as health.findings.spell writes it."""
    parts: list[Column] = []
    for text, field, _, _ in Formatter().parse(template):
        if text:
            parts.append(F.lit(text))
        if field is not None:
            parts.append(spelled[field])
    return F.concat(*parts)


def _spelled(value: Column, is_list: bool) -> Column:
    text = value.cast("string")
    if is_list:
        joined = F.array_join(value.cast("array<string>"), ",")
        text = F.when(F.array_size(value) > 0, joined).when(value.isNotNull(), F.lit("none"))
    return F.coalesce(text, F.lit("unknown"))


def _evidence(facts: dict[str, Column]) -> Column:
    fields = [column.alias(name) for name, column in facts.items()]
    return F.to_json(F.struct(*fields), {"ignoreNullFields": "false"})


def _is_list(expression: Expression) -> bool:
    if isinstance(expression, ex.Column):
        return PARTITIONS.field(expression.name).kind is Kind.INT_LIST
    return isinstance(expression, ex.Difference | ex.OrEmpty)


def severity_of(rank: int) -> Severity:
    """The severity of a rank."""
    return tuple(Severity)[rank - 1]


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
