"""Windows over groups of a few rows each: neighbours share a part of the window, whose start costs more than a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.window import WindowSpec

HASH, PART = "_hash", "_part"
"""Number of a key: rows are sorted by it first, which compares one number instead of words. Part that it is in."""
PLACE = (HASH, PART)
PARTS = 16_384
"""Parts of a window: few beside the keys of a fleet, and of a hundred million rows each has some six thousand."""


def in_parts(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows with HASH and with the part of the window that they are in.

    Args:
        rows: The rows.
        keys: Columns that tell groups apart; nulls are one group.
    """
    return rows.withColumn(HASH, F.xxhash64(*keys)).withColumn(PART, F.pmod(HASH, F.lit(PARTS)).cast("int"))


def life(keys: Sequence[str], moment: str) -> WindowSpec:
    """A window over parts, in which each group is one stretch of rows: what is before or after one may be another's.

    Args:
        keys: Columns that tell groups apart.
        moment: Column that orders the rows of a group.
    """
    return Window.partitionBy(PART).orderBy(HASH, *keys, moment)
