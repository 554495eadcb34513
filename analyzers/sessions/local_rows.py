"""Small tables of the client as DataFrames of Spark.

By Arrow they become rows of the plan itself: no job makes them, and Spark knows how small they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def local_rows(spark: SparkSession, types: Mapping[str, pa.DataType], rows: Sequence[Sequence[object]]) -> DataFrame:
    """The rows as a DataFrame.

    Args:
        spark: The session.
        types: Type of each column, by name.
        rows: Values in the order of the columns.
    """
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types.values(), strict=True)]
    return spark.createDataFrame(pa.table(arrays, names=list(types)))
