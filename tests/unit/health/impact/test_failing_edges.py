"""Effects of a failure at the edges: nobody left to elect, broker 0, leaders that are not known, copies elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.engine.projection.changes import Changes
from kreplica.health.impact.fail import QUORUM_NOT_KNOWN, FailureJudgement, controller_left, judge_failure
from kreplica.health.impact.vocabulary import Impact
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import QUORUM, REPLICAS
from kreplica.model.tables.table import Table

ZOOKEEPER = {"source": "zookeeper", "controller": 1}


def cluster(*rows: dict[str, Any], dead: tuple[int, ...] = (), ids: tuple[int, ...] = (1, 2, 3)) -> ClusterSnapshot:
    """A cluster in ZooKeeper mode."""
    numbered = [{**row, "partition": number} for number, row in enumerate(rows)]
    brokers = [{"broker": broker, "alive": broker not in dead, "rack": f"r{broker}"} for broker in ids]
    return snapshot_of(numbered, brokers, **ZOOKEEPER)


def leaders(judgement: FailureJudgement) -> dict[int, tuple[int, int]]:
    return {one.broker: (one.before, one.after) for one in judgement.leaders}


@pytest.mark.parametrize(
    ("gone", "dead", "left"),
    [((1,), (), True), ((1, 2), (), True), ((1, 2), (3,), False), ((1, 2, 3), (), False), ((), (1, 2, 3), False)],
)
def test_in_zookeeper_mode_any_live_broker_may_be_the_controller(
    gone: tuple[int, ...], dead: tuple[int, ...], left: bool
) -> None:
    """KafkaController.elect: whoever lives and creates /controller first."""
    assert controller_left(cluster(partition(), dead=dead), gone, None) is left


def test_where_no_broker_is_listed_a_controller_is_taken_for_granted() -> None:
    assert controller_left(snapshot_of([partition()], **ZOOKEEPER), (1,), None)


def test_a_quorum_is_asked_for_in_kraft_mode_alone() -> None:
    assert judge_failure(cluster(partition()), [1]).unknown == ()
    kraft = replace(cluster(partition()), source="kafka", features={"metadata.version": 25})
    assert judge_failure(kraft, [1]).unknown == (QUORUM_NOT_KNOWN,)
    voter = {"node": 2, "voter": True, "leader": True, "last_fetch_ms": 10**6}
    assert judge_failure(replace(kraft, quorum=Table.from_rows(QUORUM, [voter])), [1]).unknown == ()


def test_broker_0_is_a_broker() -> None:
    rows = (partition(replicas=[0, 1], isr=[0, 1], leader=0, min_isr=1), partition(replicas=[1, 0], isr=[1], min_isr=1))
    snapshot = cluster(*rows, ids=(0, 1))
    assert leaders(judge_failure(snapshot, [1])) == {0: (1, 1), 1: (1, 0)}
    unclean = judge_failure(snapshot, [1], changes=Changes(unclean=True))
    assert leaders(unclean) == {0: (1, 2), 1: (1, 0)}
    assert unclean.steps[0].places(Impact.UNCLEAN_LEADER).tolist() == [1]


def test_a_leader_that_is_not_known_is_counted_nowhere_and_is_no_other() -> None:
    judgement = judge_failure(cluster(partition(leader=None), partition(leader=2)), [1])
    assert leaders(judgement) == {1: (0, 0), 2: (1, 1), 3: (0, 0)}
    assert judgement.count(Impact.NEW_LEADER) == 0


def test_where_no_broker_is_listed_leaders_before_and_after_are_counted() -> None:
    row = partition(replicas=[9, 1], isr=[9, 1], leader=9, min_isr=1)
    nobody = partition(number=1, replicas=[9], isr=[9], leader=-1)
    assert leaders(judge_failure(snapshot_of([row, nobody], **ZOOKEEPER), [9])) == {1: (0, 1), 9: (1, 0)}


def test_a_leader_that_stays_is_no_unclean_one_whatever_the_isr_says() -> None:
    """A listing may be read while an election is under way."""
    judgement = judge_failure(cluster(partition(leader=1, isr=[2], min_isr=1)), [3])
    assert judgement.count(Impact.UNCLEAN_LEADER) == 0


def test_where_copies_are_is_asked_of_the_broker_whose_disk_fails() -> None:
    snapshot = cluster(partition(), partition(), partition(replicas=[2, 3], isr=[2, 3], leader=2))
    copies = [
        {"topic": "orders", "partition": number, "broker": broker, "log_dir": path, "size": 1, "future": False}
        for number, broker, path in ((0, 1, "/a"), (0, 2, "/a"), (1, 2, "/a"), (2, 2, "/b"))
    ]
    snapshot = replace(snapshot, replicas=Table.from_rows(REPLICAS, copies))
    told = judge_failure(snapshot, [], disks=((1, "/a"),)).unknown
    assert told == ("where broker 1 keeps 1 of its partitions is not known",)


def test_a_changed_min_isr_mends_even_where_another_broker_leads_afterwards() -> None:
    row = partition(isr=[1, 2], min_isr=3)
    judgement = judge_failure(cluster(row, partition(), dead=(3,)), [1], changes=Changes(min_isr=1))
    assert judgement.steps[0].mended(Impact.UNDER_MIN_ISR).tolist() == [0]
