"""Partitions that need an election, and those of them that can have one."""

from __future__ import annotations

import pytest
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from plain import reference as plain_reference

from kreplica.planner.preferred_leaders import plan_elections


def can_be_elected(row: plain_reference.Row, brokers: plain_reference.Brokers) -> bool:
    """PartitionChangeBuilder.isValidNewLeader, as far as the facts go; Election.leaderForPreferredReplica."""
    preferred = row["replicas"][0]
    states = {item["broker"]: item["alive"] for item in brokers}
    alive = states.get(preferred, False) if states else None
    in_sync = preferred in row["isr"] or (not row["isr"] and preferred in (row["elr"] or []))
    if alive is False or preferred in (row["offline_replicas"] or []) or not in_sync:
        return False
    return alive is True or row["leader"] != -1


@given(clusters())
def test_the_plan_is_what_the_controller_could_do(cluster: Cluster) -> None:
    elections = plan_elections(cluster.snapshot())
    away = [row for row in cluster.partitions if plain_reference.predicates(row, cluster.brokers)["non_preferred"]]
    assert [(item.topic, item.partition) for item in elections] == [(row["topic"], row["partition"]) for row in away]
    for election, row in zip(elections, away, strict=True):
        assert election.preferred == row["replicas"][0]
        assert election.leader == (None if row["leader"] == -1 else row["leader"])
        assert election.electable is can_be_elected(row, cluster.brokers), row


BROKERS = [{"broker": 1, "alive": True}, {"broker": 2, "alive": False}, {"broker": 3}]


@pytest.mark.parametrize(
    ("fields", "electable", "reason"),
    [
        ({"leader": 2}, True, "in sync and alive"),
        ({"replicas": [3, 1]}, True, "in sync"),
        ({"replicas": [2, 1]}, False, "broker 2 is not alive"),
        ({"replicas": [7, 1]}, False, "broker 7 is not alive"),
        ({"leader": 2, "offline_replicas": [1]}, False, "the replica on broker 1 is offline"),
        ({"leader": 2, "isr": [2]}, False, "the replica on broker 1 is not in sync"),
        ({"leader": 2, "isr": [2], "elr": [1]}, False, "the replica on broker 1 is not in sync"),
        ({"leader": -1, "isr": [], "elr": [1]}, True, "in sync and alive"),
        ({"leader": -1, "replicas": [3], "isr": [], "elr": [3]}, False, "no leader, so broker 3 is hardly alive"),
        ({"leader": -1, "replicas": [3], "isr": [], "elr": []}, False, "the replica on broker 3 is not in sync"),
    ],
)
def test_reasons(fields: dict[str, object], electable: bool, reason: str) -> None:
    (election,) = plan_elections(snapshot_of([partition(**fields)], BROKERS))
    assert (election.electable, election.reason) == (electable, reason)


def test_led_by_the_preferred_leader_or_by_one_not_known_needs_nothing() -> None:
    rows = [partition(number=0), partition(number=1, leader=None), partition(number=2, replicas=[], isr=[])]
    assert plan_elections(snapshot_of(rows, BROKERS)) == ()
