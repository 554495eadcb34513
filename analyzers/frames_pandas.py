"""Answers of an audit as DataFrames of pandas, with types that keep what columns hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from kreplica.model.tables.frames import require_pandas

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame


def frame_of(table: pa.Table, categories: Collection[str]) -> DataFrame:
    """An Arrow table for pandas: times in UTC, integers and booleans that may be null, repeated words as categories.

    Args:
        table: The table.
        categories: Columns whose words repeat.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    import pyarrow as pa

    pd = require_pandas()
    types = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    frame: DataFrame = table.to_pandas(types_mapper=types.get, timestamp_as_object=False)
    return frame.astype(dict.fromkeys(categories, "category"))


def type_of_words(words: Sequence[str]) -> Any:
    """The type of a column that holds one of these words, the least first."""
    return require_pandas().CategoricalDtype(list(words), ordered=True)
