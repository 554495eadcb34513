"""Rules of a user's file on Spark: their conditions checked against the columns of the view, and made to rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzers.columns import LIVE_BROKERS, Sql
from analyzers.reading.frames import spark_schema
from analyzers.rules.rule_files import LIVE, PARTITIONS_VIEW, CustomRule, view_fields
from analyzers.sessions.failures import words_of
from kreplica.errors import InputError
from kreplica.health.rules import PartitionRule
from kreplica.model.predicates.expressions import Column
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.schema import TableSchema
from kreplica.model.wording.nearest_names import nearest_or_known

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def rules_on_spark(spark: SparkSession, rules: Sequence[CustomRule]) -> tuple[PartitionRule, ...]:
    """The rules on partitions as an audit judges by them, once Spark has taken the condition of each rule of any view.

    Args:
        spark: The session.
        rules: The rules of a file.

    Raises:
        InputError: A condition is no SQL, names no column of the view, or is neither true nor false.
    """
    if rules:
        views = {view: _empty_view(spark, view) for view in {rule.view for rule in rules}}
        for rule in rules:
            _check(views[rule.view], rule)
    return tuple(_rule_of(rule) for rule in rules if rule.view == PARTITIONS_VIEW)


def _rule_of(rule: CustomRule) -> PartitionRule:
    facts = tuple((name, Column(name)) for name in rule.facts)
    return PartitionRule(rule.name, rule.severity, Sql(rule.where), rule.message, facts, rule.why)


def _empty_view(spark: SparkSession, view: str) -> DataFrame:
    return spark.createDataFrame([], spark_schema(TableSchema("view", tuple(view_fields(view).values()), ())))


def _check(view: DataFrame, rule: CustomRule) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812

    try:
        kind = view.select(F.expr(f"({rule.where}\n)")).schema.fields[0].dataType.simpleString()
        if kind != "boolean":
            raise rule.refused(f"its condition gives {kind}, not true or false")
        assert view.where(F.expr(f"({rule.where}\n)")).schema is not None  # refuses aggregates and windows
    except PySparkException as error:
        raise _refused(rule, error) from None


_UNKNOWN_COLUMN = re.compile(r"UNRESOLVED_COLUMN\S*\].* name `?(?P<name>[^`\s]+)`?", re.DOTALL)


def _refused(rule: CustomRule, error: Exception) -> InputError:
    words = words_of(error)
    unknown = _UNKNOWN_COLUMN.search(words)
    if unknown is not None:
        name = unknown["name"].rstrip(".")
        return rule.refused(f"there is no column {name}", nearest_or_known(name, list(view_fields(rule.view))))
    line = next((line for line in words.splitlines() if line.strip()), "")
    return rule.refused(f"its condition is not taken: {re.sub(r' SQLSTATE: .*| ?== SQL .*', '', line)}")


def with_view(rows: DataFrame, rules: Sequence[PartitionRule]) -> DataFrame:
    """The rows with the columns of the view that only rules of users read.

    Args:
        rows: Of a fleet.
        rules: Rules to judge by.
    """
    from pyspark.sql import functions as F  # noqa: N812

    from analyzers.columns import Compiler

    texts = [rule.when.text.lower() for rule in rules if isinstance(rule.when, Sql)]
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    named = {one.name: Compiler().column(one.expression) for one in PREDICATES if one.name in words}
    if LIVE in words:
        named[LIVE] = F.col(LIVE_BROKERS)
    return rows.withColumns(named) if named else rows
