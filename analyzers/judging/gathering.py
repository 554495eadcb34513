"""Sums and extremes of rows over time: of rows of single observations, and of rows that last over several.

Either way comes out what holds of each key from one observation to another: CLUSTER, FIRST, LAST, the keys, the sums,
and of each value its extremes, as ``least_`` and ``most_`` before its name. A key is there where it has a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from analyzers.judging import windows
from analyzers.reading.frames import CLUSTER, FIRST, LAST

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def gather_single(
    rows: DataFrame, keys: Sequence[str], sums: Mapping[str, Column], values: Mapping[str, Column]
) -> DataFrame:
    """Gathers rows of single observations."""
    some = [F.sum(column).alias(name) for name, column in sums.items()]
    some += [F.min(column).alias(f"least_{name}") for name, column in values.items()]
    some += [F.max(column).alias(f"most_{name}") for name, column in values.items()]
    return rows.groupBy(CLUSTER, FIRST, *keys).agg(*some).withColumn(LAST, F.col(FIRST))


_AT, _UNTIL, _SIGN, _ROWS = "_at", "_until", "_sign", "_rows"


def gather_lasting(
    rows: DataFrame, keys: Sequence[str], sums: Mapping[str, Column], values: Mapping[str, Column]
) -> DataFrame:
    """Gathers rows that last: each adds where it begins and takes away behind its end, and only changes are summed."""
    if values:
        return _at_moments(rows, keys, sums, values)
    ends = _ends(rows, {**dict.fromkeys(keys), **sums})
    changes = ends.groupBy(CLUSTER, *keys, _AT).agg(
        F.sum(_SIGN).alias(_ROWS), *(F.sum(F.col(_SIGN) * F.col(name)).alias(name) for name in sums)
    )
    changed = reduce(or_, (F.col(name) != 0 for name in (_ROWS, *sums)))
    return _levels(changes.where(changed), keys, _ROWS, sums).drop(_ROWS)


def merged(rows: DataFrame, keys: Sequence[str], number: str) -> DataFrame:
    """Rows that last, merged: how many of each key there are, from one observation to another.

    What ends where the like of it begins cancels out, so that few are left of rows that differ in other columns.

    Args:
        rows: The rows, each of one thing.
        keys: Columns that tell them apart, besides the cluster.
        number: Column of their number.
    """
    ends = _ends(rows, dict.fromkeys(keys))
    changes = ends.groupBy(CLUSTER, *keys, _AT).agg(F.sum(_SIGN).alias(number))
    return _levels(changes.where(F.col(number) != 0), keys, number, ())


def _levels(changes: DataFrame, keys: Sequence[str], number: str, sums: Iterable[str]) -> DataFrame:
    """Changes summed up: from one observation to another, as long as the number of rows is not 0.

    A window goes on from one key to the next: each that began has ended by then, so that sums begin with nothing.
    """
    life = windows.life([CLUSTER, *keys], _AT)
    running = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    borders = (F.col(_AT).alias(FIRST), (F.lead(_AT).over(life) - 1).alias(LAST))
    totals = (F.sum(name).over(running).alias(name) for name in (number, *sums))
    placed = windows.in_parts(changes, [CLUSTER, *keys])
    return placed.select(*map(F.col, (CLUSTER, *keys)), *borders, *totals).where(F.col(number) > 0)


def _at_moments(
    rows: DataFrame, keys: Sequence[str], sums: Mapping[str, Column], values: Mapping[str, Column]
) -> DataFrame:
    """Gathers all rows that hold at each moment at which one of the key begins or has ended.

    That is the number of moments times that of the rows: to be asked of rows that are merged.
    """
    key = [CLUSTER, *keys]
    ends = rows.select(*key, F.explode(F.array(F.col(FIRST), F.col(LAST) + 1)).alias(_AT))
    following = F.lead(_AT).over(windows.life(key, _AT))
    # Of several ends at one moment the last stays. What follows the end of a key is of another one: no row holds then.
    moments = windows.in_parts(ends, key).select(*key, _AT, (following - 1).alias(_UNTIL)).where(f"{_AT} <= {_UNTIL}")
    named = (column.alias(name) for name, column in {**sums, **values}.items())
    held = rows.select(*key, FIRST, LAST, *named).alias("held")
    same = [F.col(f"held.{name}").eqNullSafe(F.col(f"moments.{name}")) for name in key]
    holds = [F.col(FIRST) <= F.col(_AT), F.col(_AT) <= F.col(LAST)]
    met = held.join(moments.alias("moments"), reduce(and_, [*same, *holds]))
    found = [F.sum(f"held.{name}").alias(name) for name in sums]
    found += [F.min(f"held.{name}").alias(f"least_{name}") for name in values]
    found += [F.max(f"held.{name}").alias(f"most_{name}") for name in values]
    gathered = met.groupBy(*(F.col(f"moments.{name}").alias(name) for name in key), _AT, _UNTIL).agg(*found)
    return gathered.withColumnsRenamed({_AT: FIRST, _UNTIL: LAST})


def _ends(rows: DataFrame, columns: Mapping[str, Column | None]) -> DataFrame:
    """Each row twice: with 1 where it begins, with -1 at the observation after its last one."""
    named = [F.col(name) if column is None else column.alias(name) for name, column in columns.items()]
    begin = F.struct(F.col(FIRST).alias(_AT), F.lit(1).cast("bigint").alias(_SIGN))
    end = F.struct((F.col(LAST) + 1).alias(_AT), F.lit(-1).cast("bigint").alias(_SIGN))
    twice = rows.select(CLUSTER, *named, F.explode(F.array(begin, end)).alias("_end"))
    return twice.select("*", f"_end.{_AT}", f"_end.{_SIGN}").drop("_end")
