"""What is the same for every partition of a snapshot, from its brokers: who lives, and which racks there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from analyzers.spark_columns import LIVE_BROKERS, RACK_COUNT, RACKS, UNSURE_BROKERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def cluster_facts(brokers: DataFrame) -> DataFrame:
    """One row for each snapshot that knows brokers.

    Args:
        brokers: The brokers table of many snapshots, with the snapshot's number in ``snapshot``.

    Returns:
        ``snapshot``, ``brokers`` (how many there are) and the columns that the compiled expressions read.
    """
    broker, alive, rack = F.col("broker"), F.col("alive"), F.col("rack")
    # A rack's number is its lowest broker id: numbers are quicker to look up and compare than names.
    number = F.min("broker").over(Window.partitionBy("snapshot", "rack"))
    racks = F.collect_list(F.when(rack.isNotNull(), F.struct(broker, F.col("number"))))
    return (
        brokers.withColumn("number", number)
        .groupBy("snapshot")
        .agg(
            F.count(F.lit(1)).alias("brokers"),
            F.collect_list(F.when(alive, broker)).alias(LIVE_BROKERS),
            F.collect_list(F.when(alive.isNull(), broker)).alias(UNSURE_BROKERS),
            F.map_from_entries(racks).alias(RACKS),
            F.when(F.count(rack) == F.count(F.lit(1)), F.array_size(F.collect_set(rack))).alias(RACK_COUNT),
        )
    )
