"""A cluster under other names is the same: broker ids, the order of brokers and doubled topics change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.health.findings import find
from kreplica.health.impact.fail import judge_failure
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, Impact
from kreplica.health.listing import count_all
from kreplica.model.predicates.evaluate import Evaluator

LISTS = ("replicas", "isr", "adding", "removing", "elr", "offline_replicas")


def counted(cluster: Cluster) -> dict[str, tuple[int, int]]:
    """How many partitions each predicate holds for, and for how many it is not known."""
    return {each.predicate.name: (each.true, each.unknown) for each in count_all(Evaluator(cluster.snapshot()))}


def found(cluster: Cluster) -> list[tuple[Any, ...]]:
    """Rule and place of every finding on a partition."""
    findings = find(cluster.snapshot())
    return sorted((one.rule, one.topic, one.partition) for one in findings if one.partition is not None)


def renumbered(cluster: Cluster) -> Cluster:
    """The same with every broker id 1000 - id: the order of the ids is turned about, too."""

    def other(broker: Any) -> Any:
        return broker if broker is None or broker < 0 else 1000 - broker

    def row(partition: dict[str, Any]) -> dict[str, Any]:
        lists = {name: partition[name] and [other(broker) for broker in partition[name]] for name in LISTS}
        return partition | lists | {"leader": other(partition["leader"])}

    def of_brokers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(({**each, "broker": other(each["broker"])} for each in rows), key=lambda each: each["broker"])

    return Cluster(
        [row(each) for each in cluster.partitions], of_brokers(cluster.brokers), of_brokers(cluster.log_dirs)
    )


@given(clusters())
def test_ids_of_brokers_change_nothing(cluster: Cluster) -> None:
    assert counted(renumbered(cluster)) == counted(cluster)
    assert found(renumbered(cluster)) == found(cluster)


@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_brokers_changes_nothing(cluster: Cluster, chance: Any) -> None:
    shuffled = Cluster(cluster.partitions, chance.sample(cluster.brokers, len(cluster.brokers)), cluster.log_dirs)
    assert counted(shuffled) == counted(cluster)
    assert found(shuffled) == found(cluster)


@given(clusters())
def test_doubled_topics_double_every_count(cluster: Cluster) -> None:
    again = [row | {"topic": f"{row['topic']}-2"} for row in cluster.partitions]
    rows = sorted([*cluster.partitions, *again], key=lambda row: (row["topic"], row["partition"]))
    doubled = counted(Cluster(rows, cluster.brokers, cluster.log_dirs))
    assert doubled == {name: (2 * true, 2 * unknown) for name, (true, unknown) in counted(cluster).items()}


@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_partitions_changes_nothing(cluster: Cluster, chance: Any) -> None:
    shuffled = Cluster(chance.sample(cluster.partitions, len(cluster.partitions)), cluster.brokers, cluster.log_dirs)
    assert counted(shuffled) == counted(cluster)
    assert find(shuffled.snapshot()) == find(cluster.snapshot())


BROKERS = (1, 2, 3, 4)
NO_FEATURE = {"source": "zookeeper"}
WITHOUT_ELR = {"source": "kafka", "features": {"metadata.version": 25}}
WITH_ELR = {"source": "kafka", "features": {"metadata.version": 25, "eligible.leader.replicas.version": 1}}


@st.composite
def whole_partitions(draw: st.DrawFn, *, elr: bool) -> list[dict[str, Any]]:
    """Partitions as a controller writes them: the leader is in the ISR; eligible ones outside it fill up to min ISR."""
    rows = []
    for number in range(draw(st.integers(1, 5))):
        replicas = draw(st.lists(st.sampled_from(BROKERS), unique=True, min_size=1))
        isr = draw(st.lists(st.sampled_from(replicas), unique=True, min_size=1))
        least = draw(st.integers(1, len(replicas)))
        others = [broker for broker in replicas if broker not in isr][: max(0, least - len(isr))]
        unclean = draw(st.booleans())
        facts = {"leader": isr[0], "min_isr": least, "elr": others if elr else [], "last_known_elr": []}
        rows.append(partition("t", number, replicas=replicas, isr=isr, unclean_leader_election=unclean, **facts))
    return rows


@pytest.mark.parametrize(
    "facts", [NO_FEATURE, WITHOUT_ELR, WITH_ELR], ids=["zookeeper", "kraft", "kraft with eligible leader replicas"]
)
@given(st.data())
def test_another_failed_broker_is_never_milder(facts: dict[str, Any], data: st.DataObject) -> None:
    """A partition that one failure leaves without a leader has none after that failure and another; one that loses
    records in the one way loses them in the other, or has no leader at all.
    """
    rows = data.draw(whole_partitions(elr=facts is WITH_ELR))
    alive = [{"broker": broker, "alive": True} for broker in BROKERS]
    snapshot = snapshot_of(rows, alive, controller=1, **facts)
    one, other = data.draw(st.permutations(BROKERS))[:2]

    def after(*failed: int) -> dict[int, tuple[bool, bool]]:
        step = judge_failure(snapshot, list(failed)).steps[-1]
        leaders = step.after.partitions["leader"].to_list()
        unclean = step.impacts == FAILURE_IMPACTS.index(Impact.UNCLEAN_LEADER)
        assert len(leaders) == len(unclean)
        return {
            number: (leader == -1, bool(lost))
            for number, leader, lost in zip(step.after.partitions["partition"].to_list(), leaders, unclean, strict=True)
        }

    alone, both = after(one), after(one, other)
    for number, (leaderless, unclean) in alone.items():
        assert both[number][0] or not leaderless, (rows, one, other, number)
        assert any(both[number]) or not unclean, (rows, one, other, number)
