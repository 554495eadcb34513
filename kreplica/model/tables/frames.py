"""A table as a DataFrame of pandas, with types that keep what columns hold.

Integers that may be null are Int32 and Int64, booleans boolean, repeated strings categories; a null is ``pandas.NA``, a
list of integers a list, and None where it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kreplica.errors import MissingExtraError
from kreplica.model.tables.columns import BoolColumn, Column, IntColumn, StringColumn
from kreplica.model.tables.schema import Kind
from kreplica.model.tables.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


def require_pandas() -> Any:
    """The module pandas.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        fix = "pip install 'kreplica[spark]' brings it"
        raise MissingExtraError("pandas is not installed", "tables for pandas need it", fix) from None
    return pd


def to_frame(table: Table, times: Mapping[str, IntColumn] | None = None) -> DataFrame:
    """The rows as a DataFrame.

    Args:
        table: The rows.
        times: Columns of times besides, as milliseconds since the epoch: UTC, null as NaT.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    pd = require_pandas()
    columns = {field.name: _array(pd, table[field.name], field.kind) for field in table.schema.fields}
    moments = {name: _moments(pd, column) for name, column in (times or {}).items()}
    frame: DataFrame = pd.DataFrame({**columns, **moments})
    return frame


def _array(pd: Any, column: Column, kind: Kind) -> Any:
    if isinstance(column, StringColumn):
        return _categories(pd, column)
    if isinstance(column, (IntColumn, BoolColumn)):
        nulls = np.zeros(len(column), np.bool_) if column.valid is None else ~column.valid
        if isinstance(column, BoolColumn):
            return pd.arrays.BooleanArray(column.values.copy(), nulls)
        values = np.where(nulls, 0, column.values)
        return pd.arrays.IntegerArray(values.astype(np.int32 if kind is Kind.INT32 else np.int64), nulls)
    lists = np.empty(len(column), object)
    lists[:] = column.to_list()
    return lists


def _categories(pd: Any, column: StringColumn) -> Any:
    used, codes = np.unique(column.codes, return_inverse=True)
    nulls = int(np.searchsorted(used, 0))
    words = [column.dictionary[code] for code in used[nulls:].tolist()]
    return pd.Categorical.from_codes(codes - nulls, words)


def _moments(pd: Any, column: IntColumn) -> Any:
    values = column.values.astype("datetime64[ms]")
    if column.valid is not None:
        values = np.where(column.valid, values, np.datetime64("NaT", "ms"))
    return pd.DatetimeIndex(values).tz_localize("UTC")
