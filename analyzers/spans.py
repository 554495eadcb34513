"""Folds the findings of consecutive snapshots of a cluster into spans: from when to when each was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_IDENTITY = ("cluster", "rule", "severity", "topic", "partition", "broker")
"""What makes two findings the same one; a changed severity begins a new span."""


def spans(findings: DataFrame) -> DataFrame:
    """One row for each finding and unbroken run of snapshots that show it.

    Args:
        findings: A row for each finding and snapshot, with the snapshot's ``cluster``, ``taken_at``, ``position`` and
            ``newest``.

    Returns:
        ``valid_from`` and ``valid_to`` (times of the first and last snapshot of the run), ``snapshots`` (its length),
        ``in_newest`` (whether the cluster's newest snapshot still shows it); message and evidence are those last seen.
    """
    runs = Window.partitionBy(*_IDENTITY).orderBy("position")
    # Within a run position and rank grow together, so that their difference names the run.
    numbered = findings.withColumn("run", F.col("position") - F.row_number().over(runs))
    latest = F.max_by(F.struct("message", "evidence"), "position")
    folded = numbered.groupBy(*_IDENTITY, "run").agg(
        F.min("taken_at").alias("valid_from"),
        F.max("taken_at").alias("valid_to"),
        F.count(F.lit(1)).alias("snapshots"),
        (F.max("position") == F.max("newest")).alias("in_newest"),
        latest.alias("latest"),
    )
    return folded.select("*", "latest.*").drop("run", "latest")
