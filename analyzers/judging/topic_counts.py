"""Topics counted: how many of a cluster are there, from one observation to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from analyzers.judging.findings import NUMBER, Gather
from analyzers.reading.frames import CLUSTER, FIRST, LAST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ONES, _WHOLE = "_ones", "_whole"


def topic_counts(rows: DataFrame, gather: Gather) -> DataFrame:
    """Numbers of topics: CLUSTER, FIRST, LAST and NUMBER.

    Args:
        rows: Rows of topics with NUMBER.
        gather: How rows are gathered over time.
    """
    present = gather(rows, ["topic"], {NUMBER: F.col(NUMBER)}, {})
    return present.groupBy(CLUSTER, FIRST, LAST).agg(F.count(F.lit(1)).alias(NUMBER))


def whole_lives(rows: DataFrame) -> DataFrame:
    """Numbers of topics, where the rows of their first partition alone tell when they are there.

    Rows of one partition do not overlap. If those of the first partition are together as long as the time in which the
    topic has any rows, the topic is there all that time. Nothing has to be summed up moment by moment then.

    Args:
        rows: Rows that last, of partitions.

    Returns:
        As ``topic_counts``; NUMBER is null of topics that they do not tell, such as one that was gone for a while.
    """
    length = F.col(LAST) - F.col(FIRST) + 1
    lives = rows.groupBy(CLUSTER, "topic").agg(
        F.min(FIRST).alias(FIRST),
        F.max(LAST).alias(LAST),
        F.sum(F.when(F.col("partition") == 0, length)).alias(_ONES),
    )
    told = lives.withColumn(_WHOLE, F.coalesce(F.col(_ONES) == length, F.lit(False)))
    counted = told.groupBy(CLUSTER, FIRST, LAST, _WHOLE).agg(F.count(F.lit(1)).alias(NUMBER))
    return counted.withColumn(NUMBER, F.when(F.col(_WHOLE), F.col(NUMBER))).drop(_WHOLE)
