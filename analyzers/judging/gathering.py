"""Sums and extremes of rows over time: of rows of single observations, and of rows that last over several.

Either way comes out what holds of each key from one observation to another: CLUSTER, FIRST, LAST, the keys, the sums,
and of each value its extremes, as ``least_`` and ``most_`` before its name. A key is there where it has a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
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


_AT, _SIGN, _ROWS = "_at", "_sign", "_rows"


def gather_lasting(
    rows: DataFrame, keys: Sequence[str], sums: Mapping[str, Column], values: Mapping[str, Column]
) -> DataFrame:
    """Gathers rows that last: each adds where it begins and takes away behind its end, and only changes are summed."""
    ends = _ends(rows, {**dict.fromkeys(keys), **sums}, values)
    changes = ends.groupBy(CLUSTER, *keys, _AT).agg(
        F.sum(_SIGN).alias(_ROWS), *(F.sum(F.col(_SIGN) * F.col(name)).alias(name) for name in sums)
    )
    changed = reduce(lambda left, right: left | right, (F.col(name) != 0 for name in (_ROWS, *sums)))
    changes = changes.where(changed)
    if values:
        changes = _with_extremes(changes, ends, keys, list(values))
    life = Window.partitionBy(CLUSTER, *keys).orderBy(_AT)
    running = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    extremes = [f"{word}_{name}" for name in values for word in ("least", "most")]
    levels = changes.select(
        *map(F.col, (CLUSTER, *keys)),
        F.col(_AT).alias(FIRST),
        (F.lead(_AT).over(life) - 1).alias(LAST),
        *(F.sum(name).over(running).alias(name) for name in (_ROWS, *sums)),
        *(F.last(f"{name}_now", ignorenulls=True).over(running)[name].alias(name) for name in extremes),
    )
    there: DataFrame = levels.where(F.col(_ROWS) > 0).drop(_ROWS)
    return there


def merged(rows: DataFrame, keys: Sequence[str], number: str) -> DataFrame:
    """Rows that last, merged: how many of each key there are, from one observation to another.

    What ends where the like of it begins cancels out, so that few are left of rows that differ in other columns. A
    window goes on from one key to the next: each that began has ended by then, so that sums begin with nothing.

    Args:
        rows: The rows, each of one thing.
        keys: Columns that tell them apart, besides the cluster.
        number: Column of their number.
    """
    ends = _ends(rows, dict.fromkeys(keys), {})
    changes = ends.groupBy(CLUSTER, *keys, _AT).agg(F.sum(_SIGN).alias(number)).where(F.col(number) != 0)
    changes = windows.in_parts(changes, [CLUSTER, *keys])
    life = windows.life([CLUSTER, *keys], _AT)
    running = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    borders = (F.col(_AT).alias(FIRST), (F.lead(_AT).over(life) - 1).alias(LAST))
    levels = changes.select(*map(F.col, (CLUSTER, *keys)), *borders, F.sum(number).over(running).alias(number))
    return levels.where(F.col(number) > 0)


def _ends(rows: DataFrame, columns: Mapping[str, Column | None], values: Mapping[str, Column]) -> DataFrame:
    """Each row twice: with 1 where it begins, with -1 at the observation after its last one."""
    named = [F.col(name) if column is None else column.alias(name) for name, column in {**columns, **values}.items()]
    begin = F.struct(F.col(FIRST).alias(_AT), F.lit(1).cast("bigint").alias(_SIGN))
    end = F.struct((F.col(LAST) + 1).alias(_AT), F.lit(-1).cast("bigint").alias(_SIGN))
    twice = rows.select(CLUSTER, *named, F.explode(F.array(begin, end)).alias("_end"))
    return twice.select("*", f"_end.{_AT}", f"_end.{_SIGN}").drop("_end")


def _with_extremes(changes: DataFrame, ends: DataFrame, keys: Sequence[str], values: Sequence[str]) -> DataFrame:
    """The changes, with the extremes of the values from each observation on where these change."""
    place = [CLUSTER, *keys]
    flips = ends.groupBy(*place, *values, _AT).agg(F.sum(_SIGN).alias(_ROWS)).where(F.col(_ROWS) != 0)
    same = Window.partitionBy(*place, *values).orderBy(_AT)
    held = flips.select(
        *map(F.col, (*place, *values)),
        F.col(_AT).alias("_from"),
        F.lead(_AT).over(same).alias("_until"),
        F.sum(_ROWS).over(same.rowsBetween(Window.unboundedPreceding, Window.currentRow)).alias("_held"),
    ).where(F.col("_held") > 0)
    moments = flips.select(*place, _AT).distinct()
    inside = [F.col(f"held.{name}").eqNullSafe(F.col(f"moments.{name}")) for name in place]
    inside += [F.col("held._from") <= F.col(f"moments.{_AT}"), F.col(f"moments.{_AT}") < F.col("held._until")]
    joined = moments.alias("moments").join(held.alias("held"), reduce(lambda left, right: left & right, inside), "left")
    extremes = [F.min(f"held.{name}").alias(f"least_{name}") for name in values]
    extremes += [F.max(f"held.{name}").alias(f"most_{name}") for name in values]
    now = joined.groupBy(*(F.col(f"moments.{name}").alias(name) for name in (*place, _AT))).agg(*extremes)
    names = [f"{word}_{name}" for name in values for word in ("least", "most")]
    told = now.select(*place, _AT, *(F.struct(F.col(name).alias(name)).alias(f"{name}_now") for name in names))
    both = changes.alias("changes").join(
        told.alias("told"),
        reduce(
            lambda left, right: left & right,
            (F.col(f"changes.{n}").eqNullSafe(F.col(f"told.{n}")) for n in (*place, _AT)),
        ),
        "full",
    )
    keyed = [F.coalesce(F.col(f"changes.{name}"), F.col(f"told.{name}")).alias(name) for name in (*place, _AT)]
    counted = [name for name in changes.columns if name not in (*place, _AT)]
    sums = [F.coalesce(F.col(f"changes.{name}"), F.lit(0)).alias(name) for name in counted]
    return both.select(*keyed, *sums, *(F.col(f"told.{name}_now") for name in names))
