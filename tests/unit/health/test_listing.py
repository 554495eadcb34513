"""Rows of describe: the facts of the snapshot, the predicates, and causes that the snapshot proves."""

from __future__ import annotations

from typing import Any

import numpy as np
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from plain import reference as plain_reference

from kreplica.health.listing import ROW_FIELDS, ROW_KINDS, partition_rows
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.tables.columns import BoolColumn, IntColumn, IntListColumn
from kreplica.model.tables.schema import Kind

FACTS = [
    "topic",
    "partition",
    "leader_epoch",
    "replicas",
    "isr",
    "elr",
    "last_known_elr",
    "adding",
    "removing",
    "offline_replicas",
    "min_isr",
]
JUDGED = [
    "under_replicated",
    "masked",
    "under_min_isr",
    "under_min_isr_broker",
    "at_min_isr",
    "unavailable",
    "offline",
    "reassigning",
]


@given(clusters())
def test_rows(cluster: Cluster) -> None:
    evaluator = Evaluator(cluster.snapshot())
    rows = partition_rows(evaluator, np.arange(len(cluster.partitions)))
    assert len(rows) == len(cluster.partitions)
    for row, source in zip(rows, cluster.partitions, strict=True):
        judged = plain_reference.predicates(source, cluster.brokers)
        non_preferred = judged["non_preferred"]
        missing = plain_reference.missing(source)
        assert_causes(row, source, cluster)
        assert {name: value for name, value in row.items() if name not in ("causes", "not_known")} == {
            **{name: source.get(name) for name in FACTS},
            **{name: judged[name] for name in JUDGED},
            "leader": None if source["leader"] == -1 else source["leader"],
            "replication_factor": plain_reference.replication_factor(source),
            "preferred": None if non_preferred is None else not non_preferred,
            "preferred_leader": source["replicas"][0] if source["replicas"] else None,
            "missing": missing,
        }
        assert tuple(row) == ROW_FIELDS


STATE_KINDS = {"broker-fenced", "broker-gone", "log-directory-offline", "replica-offline", "reassignment"}


def assert_causes(row: dict[str, Any], source: dict[str, Any], cluster: Cluster) -> None:
    """Every missing replica is explained or said not to be, and what brokers' states prove is told."""
    told = [cause["broker"] for cause in row["causes"]] + [open_["broker"] for open_ in row["not_known"]]
    assert sorted(told) == sorted(plain_reference.missing(source))
    expected = {
        broker: plain_reference.cause(broker, source, cluster.brokers, cluster.log_dirs)
        for broker in plain_reference.missing(source)
    }
    shown = {cause["broker"]: cause["kind"] for cause in row["causes"] if cause["kind"] in STATE_KINDS}
    assert shown == {broker: kind for broker, kind in expected.items() if kind}


def test_rows_are_those_asked_for_in_that_order() -> None:
    evaluator = Evaluator(snapshot_of([partition(number=number) for number in range(4)]))
    assert [row["partition"] for row in partition_rows(evaluator, np.array([2, 0]))] == [2, 0]
    assert partition_rows(evaluator, np.array([], dtype=np.intp)) == []


def test_kinds_are_those_of_the_columns() -> None:
    from kreplica.health.listing import PARTITION_FIELDS

    evaluator = Evaluator(snapshot_of([partition()]))
    kinds = {IntColumn: Kind.INT32, BoolColumn: Kind.BOOL, IntListColumn: Kind.INT_LIST}
    for name, expression in PARTITION_FIELDS.items():
        assert ROW_KINDS[name] is kinds[type(evaluator.column(expression))], name  # type: ignore[index]
