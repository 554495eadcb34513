"""Dumps that are folded before Spark judges them: findings, counts and doubts are those of each snapshot."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from clusters.generated import partition, snapshot_of
from examples import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs
from plain.spans import expected_spans, identity, repeated

from analyzers.fleet_audit import run_audit
from analyzers.reading.folded import folded
from analyzers.rules.criteria import Criteria
from kreplica.health.listing import count_all
from kreplica.health.rules import ALL_RULES
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.store.selection import Selection, Wanted, select_snapshots
from kreplica.store.writing import write_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RULES = frozenset(rule.name for rule in ALL_RULES)
MONTH_ENDS = datetime.fromisoformat("2026-04-01T00:00Z")


def stored(snapshots: list[ClusterSnapshot], folder: Path) -> Selection:
    for snapshot in snapshots:
        write_snapshot(snapshot, folder)
    return select_snapshots([folder], Wanted())


@pytest.mark.timeout(900)
@settings(examples(0.02), phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_spans_and_counts_are_those_of_the_snapshots(
    spark: SparkSession,
    generated: Callable[..., list[ClusterSnapshot]],
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
) -> None:
    source = Random(seed)
    snapshots = repeated(generated(source, 5), source)
    selection = stored(snapshots, tmp_path_factory.mktemp("dumps"))
    with folded(selection) as fold:
        assert fold is not None
        found = run_audit(spark, fold, RULES)
        rows = sorted(map(structs.asdict, found.audit.findings()), key=lambda row: identity(row, "valid_from"))
        counted = run_audit(spark, fold, Criteria(RULES, told=False))
    assert (counted.tallies, counted.counts, counted.doubts) == (found.tallies, found.counts, found.doubts)
    assert rows == sorted(expected_spans(snapshots), key=lambda row: identity(row, "valid_from"))
    told = {(one.cluster, one.taken_at): {**one.counts, "unknown": sum(one.unknown.values())} for one in found.counts}
    assert told == {(one.label, one.taken_at): counts_of(one) for one in snapshots}


def counts_of(snapshot: ClusterSnapshot) -> dict[str, int]:
    every = count_all(Evaluator(snapshot))
    sizes = {"partitions": len(snapshot.partitions), "topics": snapshot.topic_count, "brokers": len(snapshot.brokers)}
    unknown = sum(count.unknown for count in every)
    return {**sizes, **{count.predicate.name: count.true for count in every}, "unknown": unknown}


def test_a_clock_that_went_back_and_the_end_of_a_month_are_told_as_of_single_snapshots(
    spark: SparkSession, tmp_path: Path
) -> None:
    epochs = (5, 9, 7, 9, 9, 9)
    selection = stored(
        [
            snapshot_of(
                [partition(topic_id="a", leader_epoch=epoch, isr=[1])],
                [{"broker": 1, "alive": True}],
                taken_at=MONTH_ENDS + timedelta(hours=hour - 3),
            )
            for hour, epoch in enumerate(epochs)
        ],
        tmp_path,
    )
    with folded(selection) as fold:
        assert fold is not None
        assert fold.partition_rows < len(epochs)
        found = run_audit(spark, fold, {"under-replicated"})
        (row,) = map(structs.asdict, found.audit.findings())
    assert (row["snapshots"], row["in_newest"], row["valid_to"]) == (6, True, None)
    assert ["leader epochs of 1 topic go back" in line for line in found.doubts] == [True]
