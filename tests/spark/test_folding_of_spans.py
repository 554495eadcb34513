"""Spans of single things, folded by Spark, and told one observation after the other in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from analyzers.judging.spans import spans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

THINGS = 12
"""Of each cluster."""
RECORD = (
    "cluster int, rule string, topic string, partition int, broker int, first int, last int, state int,"
    " topic_id string, facts string"
)
OBSERVATION = "observation int, cluster int, stretch int, log int, next_whole int"
SPAN = (
    *("cluster", "rule", "topic", "partition", "broker", "state", "first", "last", "snapshots", "ended"),
    *("in_newest", "facts"),
)


@dataclass(frozen=True)
class Moment:
    """An observation; numbers of stretches and logs as the timeline has them."""

    number: int
    cluster: int
    stretch: int
    piece: int
    log: int | None
    whole: bool


@dataclass(frozen=True)
class Said:
    """A state that one thing is in by one observation: a rank, 0 where all is well, None where that is not known."""

    state: int | None
    topic_id: str | None
    facts: str


@dataclass(frozen=True)
class Line:
    """All that observations of a cluster say of one thing: nothing where they do not list it."""

    cluster: int
    thing: tuple[str, str | None, int | None, int | None]
    moments: Sequence[Moment]
    said: Sequence[Said | None]


def moments_of(random: Random, cluster: int, first: int, *, doubtful: bool) -> list[Moment]:
    found: list[Moment] = []
    stretch = piece = cluster * 100
    for number in range(first, first + random.randint(1, 9)):
        new = random.random() < 0.2
        log = random.choice((found[-1].log if found else None, None, number)) if doubtful else None
        stretch += new
        piece += new or bool(found and found[-1].log != log)
        whole = not doubtful or random.random() < 0.5
        found.append(Moment(number, cluster, stretch, piece, log, whole))
    return found


def line_of(random: Random, moments: Sequence[Moment], thing: int, *, doubtful: bool) -> Line:
    states = (0, 1, 1, 2, None) if doubtful else (0, 1, 1, 1, 2)
    said: list[Said | None] = []
    for _ in moments:
        if said and random.random() < 0.5:
            said.append(said[-1])
        elif random.random() < 0.2:
            said.append(None)
        else:
            said.append(
                Said(random.choice(states), random.choice((None, "a", "a", "b")), f"told {random.randint(0, 2)}")
            )
    kinds = (("offline", "t", thing, None), ("mixed-rf", f"t{thing}", None, None), ("imbalance", None, None, thing))
    return Line(moments[0].cluster, kinds[thing % 3], moments, said)


def records_of(line: Line, *, lasting: bool, doubtful: bool) -> Iterator[tuple[Any, ...]]:
    """Records as they are judged: lasting ones say the same of several observations, across pauses too."""
    runs: list[tuple[Moment, Moment, Said]] = []
    for moment, said in zip(line.moments, line.said, strict=True):
        if said is None:
            continue
        if lasting and runs and runs[-1][2] == said and runs[-1][1].number == moment.number - 1:
            runs[-1] = (runs[-1][0], moment, said)
        else:
            runs.append((moment, moment, said))
    for begin, end, said in runs:
        if doubtful or said.state:
            yield (
                line.cluster, *line.thing, begin.number, end.number, said.state, said.topic_id, said.facts,
            )  # fmt: skip


@dataclass(frozen=True)
class Span:
    """A span that is still going on."""

    state: int
    first: int
    last: Moment
    snapshots: int
    topic_id: str | None
    facts: str


def told(line: Line) -> Iterator[tuple[Any, ...]]:
    """The spans of a thing, as a reader of all observations would tell them."""
    span: Span | None = None

    def ended(by: int | None, *, newest: bool = False) -> tuple[Any, ...]:
        assert span is not None
        return (
            line.cluster, *line.thing, span.state, span.first, span.last.number, span.snapshots, by, newest, span.facts,
        )  # fmt: skip

    for moment, listed in zip(line.moments, line.said, strict=True):
        said = Said(0, None, "gone") if listed is None and moment.whole else listed
        if said is None or said.state is None:
            continue
        if span is not None:
            another = None not in (said.topic_id, span.topic_id) and said.topic_id != span.topic_id
            if said.state != span.state or another:
                yield ended(moment.number)
                span = None
            elif moment.stretch != span.last.stretch:
                yield ended(None)
                span = None
        if said.state:
            shown = moment.log is None
            if span is None:
                span = Span(said.state, moment.number, moment, shown, said.topic_id, said.facts)
            else:
                known = said.topic_id or span.topic_id
                span = replace(span, last=moment, snapshots=span.snapshots + shown, topic_id=known, facts=said.facts)
    if span is not None:
        yield ended(None, newest=True)


def pieces_of(spark: SparkSession, moments: list[Moment]) -> DataFrame:
    numbers: dict[int, list[int]] = {}
    clusters = {one.piece: one.cluster for one in moments}
    for one in moments:
        numbers.setdefault(one.piece, []).append(one.number)
    rows = [(clusters[piece], min(some), max(some)) for piece, some in numbers.items()]
    return spark.createDataFrame(rows, "cluster int, begin int, end int")


@pytest.mark.parametrize(("lasting", "doubtful"), [(False, False), (False, True), (True, True)])
def test_spans_are_those_that_are_told_one_observation_after_the_other(
    spark: SparkSession, lasting: bool, doubtful: bool
) -> None:
    random = Random(f"{lasting} {doubtful}")
    moments: list[Moment] = []
    lines: list[Line] = []
    for cluster in range(60):
        some = moments_of(random, cluster, len(moments), doubtful=doubtful)
        moments += some
        lines += [line_of(random, some, thing, doubtful=doubtful) for thing in range(THINGS)]
    records = [row for line in lines for row in records_of(line, lasting=lasting, doubtful=doubtful)]
    wholes = [moment for moment in moments if moment.whole]
    places = [
        (
            *(one.number, one.cluster, one.stretch, one.log),
            next(
                (other.number for other in wholes if other.number > one.number and other.cluster == one.cluster), None
            ),
        )
        for one in moments
    ]
    found = spans(
        spark.createDataFrame(records, RECORD),
        spark.createDataFrame(places, OBSERVATION),
        pieces_of(spark, moments) if lasting else None,
        doubtful=doubtful,
    )
    wanted = [row for line in lines for row in told(line)]
    assert len(wanted) > 500
    assert sorted(map(tuple, found.select(*SPAN).collect()), key=repr) == sorted(wanted, key=repr)
