"""Predicates over arrays are what Kafka's tools and the definitions say, row by row, unknown facts included."""

from __future__ import annotations

import pytest
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from plain import reference as plain_reference

from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.expressions import RacksOf
from kreplica.model.predicates.partitions import (
    EFFECTIVE_MIN_ISR,
    EFFECTIVE_RACKS,
    MISSING,
    PREDICATES,
    REPLICAS,
    REPLICATION_FACTOR,
    predicate,
)


@given(clusters())
def test_every_predicate_is_what_kafka_s_sources_say(cluster: Cluster) -> None:
    evaluator, brokers = Evaluator(cluster.snapshot()), cluster.brokers
    found = {item.name: evaluator.boolean(item.expression).to_list() for item in PREDICATES}
    for number, row in enumerate(cluster.partitions):
        judged = {name: column[number] for name, column in found.items()}
        assert judged == plain_reference.predicates(row, brokers), row


@given(clusters())
def test_replication_factor_missing_and_racks(cluster: Cluster) -> None:
    evaluator, brokers = Evaluator(cluster.snapshot()), cluster.brokers
    factors = evaluator.integer(REPLICATION_FACTOR).to_list()
    missing, possible = evaluator.list(MISSING).to_list(), evaluator.integer(EFFECTIVE_RACKS).to_list()
    minima, racks = evaluator.integer(EFFECTIVE_MIN_ISR).to_list(), evaluator.integer(RacksOf(REPLICAS)).to_list()
    for number, row in enumerate(cluster.partitions):
        assert factors[number] == plain_reference.replication_factor(row)
        assert missing[number] == plain_reference.missing(row)
        assert racks[number] == plain_reference.racks_of(row, cluster.brokers)
        assert possible[number] == plain_reference.possible_racks(row, brokers)
        assert minima[number] == (None if row["min_isr"] is None else min(row["min_isr"], len(row["replicas"])))


def judge(name: str, **fields: object) -> bool | None:
    brokers = [{"broker": broker, "alive": broker != 3} for broker in (1, 2, 3, 4)]
    snapshot = snapshot_of([partition(**fields)], brokers)
    return Evaluator(snapshot).boolean(predicate(name).expression)[0]


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        # The example of the definitions: original {1,2}, adding 4, ISR {1,4}: no rule of Kafka's sees that 2 is out.
        ("masked", {"replicas": [1, 2, 4], "adding": [4], "isr": [1, 4]}, True),
        ("under_replicated", {"replicas": [1, 2, 4], "adding": [4], "isr": [1, 4]}, False),
        ("under_replicated_before_2_5", {"replicas": [1, 2, 4], "adding": [4], "isr": [1, 4]}, True),
        ("masked", {"replicas": [1, 2, 4], "adding": [4], "isr": [1, 2]}, False),
        ("masked", {"replicas": [1, 2, 4], "adding": [4], "isr": [1]}, False),
        ("masked", {"replicas": [1, 2, 4, 5], "adding": [4, 5], "isr": [1, 2, 4]}, False),
        ("masked", {"replicas": [1, 2, 3], "adding": [9], "removing": [3], "isr": [1, 9]}, True),
        ("masked", {"replicas": [1, 2, 3], "adding": [9], "removing": [], "isr": [1, 2, 9]}, False),
        ("under_replicated", {"replicas": [1, 2, 4], "adding": [4], "isr": [1]}, True),
        # A reassignment that ended between two requests is ignored (TopicCommand.isReassignmentInProgress).
        ("under_replicated", {"replicas": [1, 2, 3], "adding": [4], "removing": [2, 3], "isr": [1, 2]}, False),
        ("under_replicated", {"replicas": [1, 2, 3], "adding": [4], "removing": [], "isr": [1, 2]}, True),
        # Kafka's tool counts a leaderless partition, the metric on the leader's broker cannot.
        ("under_replicated", {"leader": -1, "isr": [1]}, True),
        ("under_replicated_metric", {"leader": -1, "isr": [1]}, False),
        ("under_min_isr", {"leader": -1, "isr": [1, 2, 3]}, True),
        ("under_min_isr_broker", {"leader": -1, "isr": []}, False),
        # KAFKA-15583: a single replica under min.insync.replicas 2 takes acks=all writes; Kafka's tool still lists it.
        ("under_min_isr", {"replicas": [1], "isr": [1], "min_isr": 2}, True),
        ("under_min_isr_broker", {"replicas": [1], "isr": [1], "min_isr": 2}, False),
        ("unavailable", {"leader": 3}, True),
        ("offline", {"leader": 3}, False),
        ("unavailable", {"leader": 9}, True),
        ("non_preferred", {"leader": -1}, True),
        ("at_min_isr", {"isr": [1, 2]}, True),
        ("at_min_isr", {"isr": [1, 2], "min_isr": None}, None),
    ],
)
def test_known_cases(name: str, fields: dict[str, object], expected: bool | None) -> None:
    assert judge(name, **fields) is expected


def test_names_are_unique_and_found() -> None:
    assert len({item.name for item in PREDICATES}) == len(PREDICATES)
    assert all(predicate(item.name) is item for item in PREDICATES)
    with pytest.raises(KeyError):
        predicate("broken")
