"""Records folded to spans: from when to when each finding was seen, and by which observation it was over.

What observations say of one thing and rule, in order: broken with some severity, kept, or not known. A thing that a
whole observation does not list is gone, which says that nothing is broken; one that a partial observation does not list
is not known. A span is a run of observations that say the same severity. It goes on across what is not known. It ends
where one says otherwise, where the topic was made anew under its old name, and where nobody looked for so long that
there is a gap between two observations.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from analyzers.judging import windows
from analyzers.judging.findings import FACTS, KEPT, STATE, THING, TOPIC_ID
from analyzers.reading.frames import BEGIN, CLUSTER, END, FIRST, LAST, LOG

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SNAPSHOTS, ENDED, IN_NEWEST = "snapshots", "ended", "in_newest"
_KEY = (CLUSTER, *THING)
_HEALED, _LIFE, _TOTAL = "next_whole", "_life", "_total"
_BEFORE, _AFTER = "_before_", "_after_"
"""Prefixes of the columns of the record before, and of the one after."""


def spans(records: DataFrame, observations: DataFrame, pieces: DataFrame | None = None, *, doubtful: bool) -> DataFrame:
    """The spans of what is broken.

    Args:
        records: What observations say of each thing and rule; what is kept or not known may be left out where all
            observations are whole and know the rule of everything.
        observations: As a Fleet has them; small enough for each task, or joined by a shuffle.
        pieces: Of records that may be of several observations, as a Fleet has them.
        doubtful: Whether there are records of what is kept or not known.

    Returns:
        CLUSTER, THING, STATE, FIRST and LAST (numbers of the first and the last observation), SNAPSHOTS (how many of
        them, moments of metadata logs left out, show it), ENDED (the first later one that says otherwise, null if none
        does), IN_NEWEST (whether the newest one that can tell shows it) and FACTS (those last seen).
    """
    places = observations.select(F.col("observation").alias(LAST), "stretch", LOG, _HEALED)
    cut = records if pieces is None else _cut_to_pieces(records, pieces)
    seen = windows.in_parts(cut.join(places, LAST), _KEY)
    return _folded(_without_unknown(seen) if doubtful else seen)


def _cut_to_pieces(records: DataFrame, pieces: DataFrame) -> DataFrame:
    """The records, each inside one piece: what stayed the same over a pause is one record for each side of it.

    So it is where a metadata log begins or ends to tell.
    """
    inside = (F.col(FIRST) <= F.col(END)) & (F.col(LAST) >= F.col(BEGIN))
    cut = records.join(F.broadcast(pieces), CLUSTER).where(inside)
    return cut.withColumns({FIRST: F.greatest(FIRST, BEGIN), LAST: F.least(LAST, END)}).drop(BEGIN, END)


def _without_unknown(seen: DataFrame) -> DataFrame:
    """Leaves out what is not known; when things went missing behind it, they did behind the record before."""
    life = Window.partitionBy(windows.HASH, *_KEY).orderBy(FIRST)
    running = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told = seen.withColumns({"_following": F.lead(FIRST).over(life), _LIFE: F.count(STATE).over(running)})
    healed = _missed(F.col("_following")).alias(_HEALED)
    record = F.struct(FIRST, LAST, STATE, "stretch", LOG, TOPIC_ID, FACTS)
    # The known record is the first one of its number.
    known = told.where(F.col(_LIFE) > 0).groupBy(*windows.PLACE, *_KEY, _LIFE)
    grouped = known.agg(F.min(healed).alias(_HEALED), F.min_by(record, FIRST).alias("_record"))
    return grouped.select(*windows.PLACE, *_KEY, _HEALED, "_record.*")


def _missed(following: Column) -> Column:
    """The first whole observation before the following record, if there is one: it does not list the thing."""
    return F.when(following.isNull() | (F.col(_HEALED) < following), F.col(_HEALED))


def _folded(seen: DataFrame) -> DataFrame:
    """The last record of each span, with where the span began. All windows share one sort.

    A window goes on from one thing and rule to the next. The first record of each begins a span, whose sums and ids are
    its own from then on; what is before it, and what is after the last one, is of another and tells nothing.
    """
    life = windows.life(_KEY, FIRST)
    running = life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    earlier = life.rowsBetween(Window.unboundedPreceding, -1)
    # Column by column: of several as one value Spark would make a copy of each row first, and shuffle it.
    before = {_BEFORE + name: F.lag(name).over(life) for name in (*_KEY, STATE, "stretch", _HEALED)}
    after = {_AFTER + name: F.lead(name).over(life) for name in (FIRST, STATE, TOPIC_ID)}
    same = reduce(and_, (F.col(_BEFORE + name).eqNullSafe(F.col(name)) for name in _KEY))
    goes_on = F.col("_same") & (F.col(_BEFORE + STATE) == F.col(STATE))
    goes_on &= F.col(f"{_BEFORE}stretch") == F.col("stretch")
    goes_on &= ~F.coalesce(F.col(_BEFORE + _HEALED) < F.col(FIRST), F.lit(False))
    placed = seen.withColumns({**before, **after}).withColumn("_same", same)
    run = placed.withColumn("_goes_on", F.coalesce(goes_on, F.lit(False)))
    # A run begins without an id: what was known before it is of another one.
    known = F.when(~F.col("_goes_on") | F.col(TOPIC_ID).isNotNull(), F.struct(TOPIC_ID))
    shown = F.when(F.col(LOG).isNull(), F.col(LAST) - F.col(FIRST) + 1).otherwise(F.lit(0))
    told = run.withColumns(
        {
            "_id": F.last(known, ignorenulls=True).over(running)[TOPIC_ID],
            "_id_before": F.last(known, ignorenulls=True).over(earlier)[TOPIC_ID],
            _TOTAL: F.sum(shown).over(running),
        }
    )
    renewed = F.coalesce(F.col("_id") != F.col("_id_before"), F.lit(False))
    marked = told.withColumn("_new", ~F.col("_goes_on") | renewed)
    begin = F.when(F.col("_new"), F.struct(FIRST, (F.col(_TOTAL) - shown).alias(_TOTAL)))
    found = marked.withColumns(
        {
            "_begin": F.last(begin, ignorenulls=True).over(running),
            "_next_is_new": F.lead("_new").over(life),
            "_followed": F.coalesce(F.lead("_same").over(life), F.lit(False)),
        }
    ).where((F.col(STATE) > KEPT) & F.coalesce("_next_is_new", F.lit(True)))
    following = {name: F.when(F.col("_followed"), F.col(_AFTER + name)) for name in (FIRST, STATE, TOPIC_ID)}
    another = F.coalesce(F.col("_id") != following[TOPIC_ID], F.lit(False))
    other = (following[STATE] != F.col(STATE)) | another
    ended = F.coalesce(_missed(following[FIRST]), F.when(other, following[FIRST]))
    newest = ended.isNull() & ~F.col("_followed")
    return found.select(
        *(*_KEY, STATE, F.col(f"_begin.{FIRST}").alias(FIRST), LAST),
        (F.col(_TOTAL) - F.col(f"_begin.{_TOTAL}")).alias(SNAPSHOTS),
        *(ended.alias(ENDED), newest.alias(IN_NEWEST), FACTS),
    )
