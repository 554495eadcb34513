"""One Spark session for the whole run, and generated fleets to feed it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest

from analyzers.session import settings_for, spark_session
from kreplica.model.schema import BROKERS, PARTITIONS
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from analyzers.frames import Fleet


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    before = dict(os.environ)
    with spark_session("local[2]", settings=settings_for(0)) as session:
        for name in ("PYTHONSAFEPATH", "JAVA_HOME"):  # Spark's own have them; other tests of this process start others
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
        yield session


@pytest.fixture(scope="session")
def generated() -> Callable[[Random, int], list[ClusterSnapshot]]:
    """Makes snapshots of a few clusters out of a random source; every field that may be null is null now and then."""
    return _snapshots


@pytest.fixture(scope="session")
def in_spark(spark: SparkSession) -> Callable[[Sequence[ClusterSnapshot]], Fleet]:
    """Puts snapshots into Spark as the audit has them after reading; numbers follow the sequence's order."""
    return lambda snapshots: _fleet(spark, snapshots)


def _snapshots(random: Random, count: int) -> list[ClusterSnapshot]:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    snapshots = [
        ClusterSnapshot(
            cluster_id=f"cluster-{number % 4}",
            name="generated",
            taken_at=start + timedelta(minutes=number),
            source="generated",
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
    return [
        {"topic": f"topic-{number % 7}", "partition": number // 7, "internal": False, **_assignment(random)}
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
    from analyzers.frames import assemble

    labels = [snapshot.label for snapshot in snapshots]
    rows = [
        (number, item.label, item.taken_at, labels[:number].count(item.label), labels.count(item.label) - 1)
        for number, item in enumerate(snapshots)
    ]
    names = "snapshot int, cluster string, taken_at timestamp, position int, newest int"
    brokers, partitions = _rows(spark, snapshots, "brokers"), _rows(spark, snapshots, "partitions")
    return assemble(spark.createDataFrame(rows, names), brokers, partitions, small=True)


def _rows(spark: SparkSession, snapshots: Sequence[ClusterSnapshot], table: str) -> DataFrame:
    from pyspark.sql.types import IntegerType, StructField, StructType

    from analyzers.frames import spark_schema

    schema = BROKERS if table == "brokers" else PARTITIONS
    rows = [
        (*row.values(), number) for number, snapshot in enumerate(snapshots) for row in snapshot.table(schema).rows()
    ]
    fields = [*spark_schema(schema).fields, StructField("snapshot", IntegerType())]
    return spark.createDataFrame(rows, StructType(fields))
