"""Balance of leaders: both controllers' counts in closed form, the one that acts or why none does, and skew."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from clusters.generated import Cluster, clusters, partition, snapshot_of
from hypothesis import given
from hypothesis import strategies as st
from plain import reference as plain_reference

from kreplica.engine.rules.controller.balance import kraft_passes, zookeeper_balances
from kreplica.health.findings import find
from kreplica.health.imbalance import BrokerBalance, Imbalance, Measure, diagnosis, imbalance_of, spreads_of
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import CONFIGS, REPLICAS
from kreplica.model.tables.table import Table
from kreplica.planner.preferred_leaders import plan_elections

UP = [{"broker": broker, "alive": True, "rack": f"r{broker}"} for broker in (1, 2, 3)]


@given(clusters())
def test_counts_are_those_of_the_definitions(cluster: Cluster) -> None:
    snapshot = cluster.snapshot()
    found = imbalance_of(snapshot)
    with_replicas = [row for row in cluster.partitions if row["replicas"]]
    preferred = Counter(row["replicas"][0] for row in with_replicas)
    away = [row for row in with_replicas if row["leader"] is not None and row["leader"] != row["replicas"][0]]
    replicas = Counter(broker for row in cluster.partitions for broker in row["replicas"])
    leaders = Counter(row["leader"] for row in cluster.partitions)
    for broker in found.brokers:
        number = broker.broker
        assert broker.preferred_partitions == preferred[number]
        assert broker.non_preferred == sum(row["replicas"][0] == number for row in away)
        assert (broker.replicas, broker.leaders) == (replicas[number], leaders[number])
        assert broker.ratio == (broker.non_preferred / preferred[number] if preferred[number] else None)
    assert [(item.topic, item.partition) for item in found.partitions] == [
        (row["topic"], row["partition"]) for row in away
    ]
    elections = plan_elections(snapshot)
    assert [item.obstacle is None for item in found.partitions] == [item.electable for item in elections]
    judged = [plain_reference.predicates(row, cluster.brokers)["non_preferred"] for row in cluster.partitions]
    assert found.unknown == judged.count(None)


@given(clusters())
def test_the_rule_of_check_is_the_ratio_with_kafkas_default(cluster: Cluster) -> None:
    snapshot = cluster.snapshot()
    rule = {finding.broker for finding in find(snapshot) if finding.rule == "leader-imbalance"}
    assert rule == {
        one.broker
        for one in imbalance_of(snapshot).brokers
        if zookeeper_balances(one.non_preferred, one.preferred_partitions, 10)
    }


@given(st.integers(0, 300), st.integers(1, 300), st.integers(0, 100))
def test_the_ratio_is_compared_strictly(non_preferred: int, preferred: int, percentage: int) -> None:
    assert zookeeper_balances(non_preferred, preferred, percentage) is (non_preferred / preferred > percentage / 100)


def test_passes() -> None:
    assert [kraft_passes(count) for count in (0, 1, 1000, 1001, 2500)] == [0, 1, 1, 2, 3]


def led_by(leaders: list[int], first: int = 3, **facts: Any) -> list[dict[str, Any]]:
    """Partitions preferred on one broker, led by these; all replicas in sync."""
    rest = [broker for broker in (1, 2, 3) if broker != first]
    return [
        partition(number=number, replicas=[first, *rest], leader=leader, **facts)
        for number, leader in enumerate(leaders)
    ]


def judged(rows: list[dict[str, Any]], source: str, brokers: Any = UP, **settings: str) -> BrokerBalance:
    return one_of(imbalance_of(with_settings(rows, source, brokers, settings)), 3)


def with_settings(
    rows: list[dict[str, Any]], source: str, brokers: Any, settings: dict[str, str], controller: int = 1
) -> ClusterSnapshot:
    features = {"metadata.version": 25} if source == "kraft" else {}
    configs = [
        {
            "entity_type": "broker",
            "entity": "1",
            "name": name.replace("_", "."),
            "value": value,
            "origin": "broker-static",
        }
        for name, value in settings.items()
    ]
    sources = {"kraft": "kafka", "zookeeper": "zookeeper", "text": "describe-text"}
    table = Table.from_rows(CONFIGS, configs)
    return snapshot_of(rows, brokers, source=sources[source], features=features, configs=table, controller=controller)


def one_of(found: Imbalance, broker: int) -> BrokerBalance:
    return next(one for one in found.brokers if one.broker == broker)


AWAY = partition(leader=2)
MOVING_OUT = partition(replicas=[3, 1, 2], isr=[1, 2], leader=1, adding=[3], removing=[2])
MOVING_IN = partition(replicas=[3, 1, 2], isr=[1, 2, 3], leader=3, adding=[3], removing=[2])
ADDED_BEHIND = partition(replicas=[1, 2, 3], isr=[1, 2], leader=2, adding=[3])


@pytest.mark.parametrize(
    ("row", "kraft", "zookeeper", "text"),
    [
        (partition(), 0, 0, 0),
        (AWAY, 1, 1, 1),
        (AWAY | {"leader": -1}, 1, 1, 1),
        (MOVING_OUT, 1, 0, None),
        (MOVING_IN, 0, 1, None),
        (ADDED_BEHIND, 1, 1, 1),
        (AWAY | {"adding": None}, 1, None, None),
        (AWAY | {"leader": None, "adding": None}, 0, 0, 0),
    ],
)
def test_the_metric_of_each_controller(row: Any, kraft: int, zookeeper: int | None, text: int | None) -> None:
    """ControllerContext.hasPreferredLeader; a 3.9.2 and a 4.3.1 broker told 0 and 1 of MOVING_OUT."""
    sources = {"kraft": kraft, "zookeeper": zookeeper, "text": text}
    assert {name: imbalance_of(with_settings([row], name, UP, {})).metric for name in sources} == sources


TENTH, MORE = led_by([1, *[3] * 9]), led_by([1, 2, *[3] * 8])
DEAD = [*UP[:2], {"broker": 3, "alive": False}]
OFF = {"auto_leader_rebalance_enable": "false"}


@pytest.mark.parametrize(
    ("rows", "source", "brokers", "settings", "acts", "reason"),
    [
        (TENTH, "kraft", UP, {}, True, "elects 1 within 300 s"),
        (TENTH, "zookeeper", UP, {}, False, "10.0% is not above 10%"),
        (
            TENTH,
            "text",
            UP,
            {},
            None,
            "10.0% is not above 10%: a ZooKeeper controller would not act, a KRaft one would",
        ),
        (MORE, "zookeeper", UP, {}, True, "20.0% is above 10%: elects 2 within 300 s"),
        (MORE, "text", UP, {}, True, "20.0% is above 10%: elects 2 within 300 s"),
        (MORE, "zookeeper", UP, {"leader_imbalance_per_broker_percentage": "20"}, False, "20.0% is not above 20%"),
        (MORE, "kraft", UP, {"leader_imbalance_check_interval_seconds": "60"}, True, "elects 2 within 60 s"),
        (MORE, "kraft", UP, OFF, False, "auto.leader.rebalance.enable is false"),
        (MORE, "kraft", DEAD, {}, False, "none of these can be elected now"),
        (MORE, "kraft", DEAD, OFF, False, "none of these can be elected now"),
        (led_by([3]), "kraft", UP, {}, False, "leads all it is preferred for"),
    ],
)
def test_whether_the_controller_acts(
    rows: Any, source: str, brokers: Any, settings: dict[str, str], acts: bool | None, reason: str
) -> None:
    found = judged(rows, source, brokers, **settings)
    assert (found.controller_would_act, found.reason) == (acts, reason)


def test_settings_are_the_zookeeper_controllers_own() -> None:
    rows = [
        {"entity_type": "broker", "entity": str(broker), "name": "leader.imbalance.per.broker.percentage",
         "value": str(broker * 7), "origin": "broker-static"}
        for broker in (1, 2)
    ]  # fmt: skip
    snapshot = with_settings(MORE, "zookeeper", UP, {}, controller=2)
    balancing = imbalance_of(
        ClusterSnapshot(**{**fields(snapshot), "configs": Table.from_rows(CONFIGS, rows)})
    ).balancing
    assert (balancing.percentage, balancing.disagreeing) == (14, ())
    assert balancing.origins["leader.imbalance.per.broker.percentage"] == "broker-static"
    assert balancing.origins["auto.leader.rebalance.enable"] == "not read"
    in_kraft = with_settings(MORE, "kraft", UP, {})
    balancing = imbalance_of(
        ClusterSnapshot(**{**fields(in_kraft), "configs": Table.from_rows(CONFIGS, rows)})
    ).balancing
    assert balancing.disagreeing == ("leader.imbalance.per.broker.percentage",)


def fields(snapshot: ClusterSnapshot) -> dict[str, Any]:
    return {name: getattr(snapshot, name) for name in ClusterSnapshot.__dataclass_fields__}


def brokers(**values: list[int | None]) -> list[BrokerBalance]:
    count = len(next(iter(values.values())))
    columns = {
        name: values.get(name, [10] * count) for name in ("preferred_partitions", "leaders", "replicas", "bytes")
    }
    return [
        BrokerBalance(
            broker=number, rack=None, alive=True, non_preferred=0, ratio=0.0, electable=0, controller_would_act=False,
            reason="", **{name: column[number] for name, column in columns.items()},  # type: ignore[arg-type]
        )
        for number in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "away", "skewed", "words"),
    [
        (brokers(leaders=[10, 10, 10]), 0, [], None),
        (brokers(leaders=[11, 10, 9]), 2, [], None),
        (brokers(leaders=[20, 10, 0]), 9, [Measure.LEADERS], "uneven only because preferred replicas are not leading"),
        (brokers(leaders=[20, 10, 0], preferred_partitions=[20, 10, 0]), 0, [Measure.LEADERS, Measure.PREFERRED],
         "the assignment is skewed"),
        (brokers(replicas=[50, 30, 10]), 0, [Measure.REPLICAS], "replica counts are uneven"),
        (brokers(bytes=[900, 10, 10]), 0, [Measure.BYTES], "counts are even, bytes are not"),
        (brokers(bytes=[900, None, 10]), 0, [], None),
        (brokers(leaders=[1, 0, 0], preferred_partitions=[1, 0, 0]), 0, [], None),
        (brokers(leaders=[7]), 0, [], None),
    ],
)  # fmt: skip
def test_what_is_skewed(rows: list[BrokerBalance], away: int, skewed: list[Measure], words: str | None) -> None:
    spreads = spreads_of(rows)
    assert [measure for measure, spread in spreads.items() if spread.skewed] == skewed
    found = diagnosis(spreads, away)
    assert found is None if words is None else str(found).startswith(words)


def test_a_dead_broker_holds_nothing_that_could_be_even() -> None:
    rows = led_by([1, 2, 1, 2])
    assert Measure.LEADERS in spreads_of(imbalance_of(snapshot_of(rows, DEAD)).brokers)
    assert not spreads_of(imbalance_of(snapshot_of(rows, DEAD)).brokers)[Measure.LEADERS].skewed
    assert spreads_of(imbalance_of(snapshot_of(rows, UP)).brokers)[Measure.LEADERS].least == (0, 3)


def test_bytes_are_those_of_the_partitions_looked_at() -> None:
    stored = [
        ("orders", 0, 1, 100, False),
        ("orders", 0, 2, 90, False),
        ("orders", 0, 2, 5, True),
        ("gone", 0, 2, 7, False),
    ]
    table = Table.from_rows(
        REPLICAS,
        [
            dict(zip(("topic", "partition", "broker", "size", "future"), row, strict=True)) | {"log_dir": "/d"}
            for row in stored
        ],
    )
    dirs = [{"broker": broker, "path": "/d"} for broker in (1, 2, 3)]
    found = imbalance_of(snapshot_of([partition()], UP, dirs, replicas=table))
    assert [one.bytes for one in found.brokers] == [100, 90, 0]
    assert [one.bytes for one in imbalance_of(snapshot_of([partition()], UP)).brokers] == [None, None, None]
