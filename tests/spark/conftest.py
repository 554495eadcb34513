"""One Spark session for the whole run, and generated fleets to feed it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

from analyzers.reading.timeline import Observation, Timeline
from analyzers.sessions.session import FEW_ROWS, planned_once, settings_for, spark_session
from kreplica.history.months.observations import digest_of_snapshot
from kreplica.history.tables import OBSERVATION, TABLES, is_whole
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, PARTITIONS, TableSchema
from kreplica.model.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from analyzers.reading.frames import Fleet


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("local[2]", settings=settings_for(0)) as session:
        yield session


@pytest.fixture(scope="module")
def compiled(spark: SparkSession) -> Iterator[None]:
    """Has Spark compile code for its plans, plan again after each stage and keep rows by column, as for many rows."""
    few = settings_for(FEW_ROWS)
    differing = [name for name in few.keys() - settings_for(planned_once() + 1).keys() if name.startswith("spark.sql.")]
    for name in differing:
        spark.conf.unset(name)
    assert spark.conf.get("spark.sql.codegen.wholeStage") == spark.conf.get("spark.sql.adaptive.enabled") == "true"
    yield
    for name in differing:
        spark.conf.set(name, few[name])


@pytest.fixture(scope="session")
def generated() -> Callable[[Random, int], list[ClusterSnapshot]]:
    """Makes snapshots of a few clusters out of a random source; every field that may be null is null now and then."""
    return _snapshots


@pytest.fixture(scope="session")
def in_spark(spark: SparkSession) -> Callable[[Sequence[ClusterSnapshot]], Fleet]:
    """Puts snapshots into Spark as the audit has them after reading; numbers follow cluster, time and content."""
    return lambda snapshots: _fleet(spark, snapshots)


def _snapshots(random: Random, count: int) -> list[ClusterSnapshot]:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    snapshots = [
        ClusterSnapshot(
            cluster_id=f"cluster-{number % 4}",
            name="generated",
            taken_at=start + timedelta(minutes=number),
            source=random.choice(("kafka", "kafka", "describe-text")),
            partitions=Table.from_rows(PARTITIONS, _partitions(random, random.choice((0, 1, 20, 40, 60)))),
            brokers=Table.from_rows(BROKERS, _brokers(random)),
        )
        for number in range(count)
    ]
    return sorted(snapshots, key=lambda snapshot: (snapshot.label, snapshot.taken_at))


def _brokers(random: Random) -> list[dict[str, object]]:
    racks: tuple[str | None, ...] = random.choice((("a", "b", "c"), ("a", "", None), ("a",), (None,)))
    states = random.choice(((True,), (True, True, False), (True, False, None)))
    present = random.sample(range(8), random.choice((0, 1, 3, 6, 8)))
    return [{"broker": broker, "rack": random.choice(racks), "alive": random.choice(states)} for broker in present]


def _partitions(random: Random, count: int) -> list[dict[str, object]]:
    ids = [random.choice((None, "one", "one", "another")) for _ in range(7)]
    return [
        {
            "topic": f"topic-{number % 7}",
            "partition": number // 7,
            "internal": False,
            "topic_id": ids[number % 7],
            **_assignment(random),
        }
        for number in range(count)
    ]


def _assignment(random: Random) -> dict[str, object]:
    replicas = random.sample(range(8), random.choice((0, 1, 1, 2, 3, 3, 3, 4)))
    if random.random() < 0.05:
        replicas = [*replicas, *replicas[:1]]
    isr = [broker for broker in replicas if random.random() < 0.7]
    if random.random() < 0.05:
        isr.append(random.randrange(8))
    random.shuffle(isr)
    some = [broker for broker in replicas if random.random() < 0.4]
    other = random.sample(range(8), random.choice((0, 1, 2)))
    return {
        "replicas": replicas,
        "isr": isr,
        "leader": random.choice((None, -1, random.randrange(8), *replicas, *isr)),
        "adding": random.choice((None, [], some, other)),
        "removing": random.choice((None, [], some[:1], other[:1])),
        "offline_replicas": random.choice((None, [], some)),
        "min_isr": random.choice((None, 1, 2, 2, 3)),
        "unclean_leader_election": random.choice((None, True, False)),
    }


def _fleet(spark: SparkSession, snapshots: Sequence[ClusterSnapshot]) -> Fleet:
    from analyzers.reading.broker_facts import Facts
    from analyzers.reading.frames import assemble

    timeline = Timeline(map(observation, snapshots))
    by_digest = {digest_of_snapshot(snapshot): snapshot for snapshot in snapshots}
    ordered = [by_digest[one.digest] for one in timeline.observed]

    def partitions(clusters: Collection[int] | None = None) -> DataFrame:
        wanted = {place.number for place in timeline.places if clusters is None or place.cluster in clusters}
        return _rows(spark, ordered, PARTITIONS, wanted)

    brokers = [[(row["broker"], row["alive"], row["rack"]) for row in one.brokers.rows()] for one in ordered]
    facts = [Facts.of(some) if some else Facts() for some in brokers]
    return assemble(spark, timeline, facts, partitions, small=True)


def observation(snapshot: ClusterSnapshot) -> Observation:
    """The observation that a snapshot is."""
    return Observation(
        cluster=snapshot.label,
        cluster_id=snapshot.cluster_id,
        name=snapshot.name,
        source=snapshot.source,
        taken_at=snapshot.taken_at,
        digest=digest_of_snapshot(snapshot),
        whole=is_whole(TABLES[0], snapshot),
        gaps=snapshot.gaps,
        controller_epoch=snapshot.controller_epoch,
    )


def _rows(
    spark: SparkSession, snapshots: Sequence[ClusterSnapshot], table: TableSchema, wanted: Collection[int]
) -> DataFrame:
    from pyspark.sql.types import IntegerType, StructField, StructType

    from analyzers.reading.frames import spark_schema

    rows = [(*row.values(), number) for number in wanted for row in snapshots[number].table(table).rows()]
    fields = [*spark_schema(table).fields, StructField(OBSERVATION, IntegerType())]
    return spark.createDataFrame(rows, StructType(fields))
