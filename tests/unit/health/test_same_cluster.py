"""A cluster under other names is the same: broker ids, the order of brokers and doubled topics change nothing."""

from __future__ import annotations

from typing import Any

from generated_clusters import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st

from kreplica.health.failing import judge_failure
from kreplica.health.findings import find
from kreplica.health.summary import count_all
from kreplica.model.evaluate import Evaluator

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


@given(st.data())
def test_another_failed_broker_is_never_milder(data: st.DataObject) -> None:
    """A partition that one failure leaves without a leader has none after that failure and another."""
    brokers = (1, 2, 3, 4)
    rows = []
    for number in range(data.draw(st.integers(1, 5))):
        replicas = data.draw(st.lists(st.sampled_from(brokers), unique=True, min_size=1))
        isr = data.draw(st.lists(st.sampled_from(replicas), unique=True, min_size=1))
        rows.append(partition("t", number, replicas=replicas, isr=isr, leader=isr[0], min_isr=1, elr=[]))
    alive = [{"broker": broker, "alive": True} for broker in brokers]
    snapshot = snapshot_of(rows, alive, source="zookeeper", controller=1)
    one, other = data.draw(st.permutations(brokers))[:2]

    def leaderless(*failed: int) -> list[bool]:
        leaders = judge_failure(snapshot, list(failed)).steps[-1].after.partitions["leader"].to_list()
        return [leader == -1 for leader in leaders]

    pairs = zip(leaderless(one), leaderless(one, other), strict=True)
    assert all(both or not alone for alone, both in pairs), (rows, one, other)
