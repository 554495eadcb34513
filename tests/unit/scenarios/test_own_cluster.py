"""The cluster of a snapshot, played: what is taken from it, what is said of the rest, and what a real one did."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kreplica.engine.checkers.outcome import observe
from kreplica.engine.checkers.partition_outcomes import partition_outcomes
from kreplica.engine.checkers.strong_isr import ControllerIsr
from kreplica.engine.fault_plan import At, Crash, Plan, Step
from kreplica.engine.setup import SECOND
from kreplica.engine.versions.features import with_features
from kreplica.engine.versions.supported import ControllerKind, version_named
from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.scenarios.own_cluster import MOST_PARTITIONS, OwnCluster, known_version, own_cluster
from kreplica.scenarios.playing import play
from kreplica.sources.dumps.describe import read_describe_text
from kreplica.sources.dumps.dump import read_dump
from kreplica.sources.dumps.text import DumpText

GOLDEN = Path(__file__).parents[2] / "golden"
ELR = "eligible.leader.replicas.version"
State = tuple[int, frozenset[int], frozenset[int]]


def recorded(cluster: str, state: str) -> ClusterSnapshot:
    spec = importlib.util.spec_from_file_location("make_sample", GOLDEN / "make_sample.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    found = maker.recorded_snapshot(cluster, state)
    assert isinstance(found, ClusterSnapshot)
    return found


def states_of(snapshot: ClusterSnapshot) -> dict[str, tuple[State, tuple[int, ...]]]:
    """Leader, ISR, ELR, and the replicas, by partition."""
    return {
        f"{row['topic']}-{row['partition']}": (
            (row["leader"], frozenset(row["isr"]), frozenset(row["elr"] or ())),
            tuple(row["replicas"]),
        )
        for row in snapshot.partitions.rows()
    }


def last_states(own: OwnCluster, before: Mapping[str, tuple[State, tuple[int, ...]]], plan: Plan) -> dict[str, State]:
    """As the controller, or ZooKeeper, has them at the end."""
    version = version_named(own.version)
    written = ControllerIsr(version.controller is ControllerKind.ZOOKEEPER)
    _, events = observe(own.scenario.setup, plan, version)
    for event in events:
        written(event)
    played = [name for topic in own.scenario.setup.topics for name in topic.partitions]
    changed = {name: (written.leaders[name], *map(frozenset, written.states[name])) for name in written.states}
    return {name: changed.get(name, before[name][0]) for name in played}  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "version"), [("kafka-4.3.1", None), ("kafka-3.9.2", "3.9")])
def test_a_broker_that_dies_leaves_what_it_left_in_the_real_cluster(cluster: str, version: str | None) -> None:
    """Between two recordings broker 3, in KRaft a voter too, was killed: who led real partitions then?"""
    healthy = recorded(cluster, "1-healthy")
    before, after = states_of(healthy), states_of(recorded(cluster, "2-broker-killed"))
    own = own_cluster(healthy, kafka_version=version, most=200)
    voter = (Step(At(20 * SECOND), Crash("controller-3003")),) if version is None else ()
    played = last_states(own, before, (Step(At(20 * SECOND), Crash("broker-3")), *voter))
    same = [name for name in played if name in after and after[name][1] == before[name][1]]
    assert len(same) >= 30
    assert {name: played[name] for name in same} == {name: after[name][0] for name in same}


@pytest.mark.one_python
def test_what_is_down_is_down_and_says_which_partitions_take_no_writes() -> None:
    """As Kafka's own tool said of the sample: these are without a leader or under min ISR there."""
    sample = read_dump("sample")
    own = own_cluster(sample, "audit.log|single-copy|two-copies|orders")
    assert own.scenario.setup.down == ("broker-3", "controller-3003")
    run = play(own.scenario, own.version)
    harmed = {one.partition for one in partition_outcomes(own.scenario.setup, run.outcome) if one.is_harmed}
    folder = GOLDEN / "kafka-4.3.1" / "2-broker-killed"
    listed = set[str]()
    for name in ("unavailable", "under-min-isr"):
        text = (folder / f"topics-{name}-partitions.txt").read_text().partition("\n[stderr]")[0]
        rows = read_describe_text(DumpText("listing", text, sample.taken_at)).partitions.rows()
        listed |= {f"{row['topic']}-{row['partition']}" for row in rows}
    # single-copy has fewer replicas than min.insync.replicas, which since 3.7 refuses nothing (KAFKA-15583)
    played = {name for topic in own.scenario.setup.topics for name in topic.partitions}
    led_alone = {"single-copy-1", "single-copy-2"} - {name for name in harmed if name.startswith("single-copy")}
    assert harmed == (listed & played) - led_alone
    assert run.outcome.histories.lost == ()


def test_what_is_taken_from_a_snapshot() -> None:
    own = own_cluster(read_dump("sample-healthy"), "orders|audit.log")
    setup = own.scenario.setup
    assert own.version == "4.3"
    assert {(broker.id, broker.rack) for broker in setup.brokers} == {(1, "r1"), (2, "r2"), (3, "r3")}
    assert setup.settings == {ELR: 1, "transaction.version": 2, "group.version": 1, "metadata.version": "4.3-IV0"}
    audit = next(topic for topic in setup.topics if topic.name == "audit.log")
    described = read_dump(str(GOLDEN / "kafka-4.3.1" / "1-healthy" / "topics-describe.txt"))
    for number, replicas in enumerate(audit.assignment):
        row = described.partition("audit.log", number)
        assert list(replicas) == row["replicas"]
        assert audit.start_of(number).leader == row["leader"]
        assert set(audit.start_of(number).isr) == set(row["isr"])  # type: ignore[call-overload]
    assert audit.settings["min.insync.replicas"] == 3
    assert (setup.controllers, setup.down, own.unknown) == (3, (), ())


def test_no_more_than_a_limit_is_played_and_that_is_said() -> None:
    own = own_cluster(read_dump("sample-healthy"))
    names = [name for topic in own.scenario.setup.topics for name in topic.partitions]
    assert len(names) == MOST_PARTITIONS
    assert len({name.rpartition("-")[0] for name in names}) == 17, "of every topic one before a second of any"
    assert "20 of 37 partitions are played, no more at once; --topic names others" in own.remarks
    assert "110 partitions of Kafka's own topics are left out" in own.remarks


def test_features_that_are_not_finalized_are_off() -> None:
    """An upgraded 4.3: what nobody has raised is at level 0, as Kafka takes it."""
    upgraded = replace(read_dump("sample-healthy"), features={"metadata.version": 21})
    brokers = [{**row, "version": "4.3.1"} for row in upgraded.brokers.rows()]
    own = own_cluster(replace(upgraded, brokers=Table.from_rows(BROKERS, brokers)), "orders")
    assert own.version == "4.3"
    rules = with_features(version_named(own.version), own.scenario.setup.settings)
    assert (rules.elr, rules.transaction_version, rules.group_version) == (False, 1, 0)


TEXT = "Topic: t\tPartition: {}\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"


def described(partitions: int = 1) -> ClusterSnapshot:
    text = "".join(TEXT.format(number) for number in range(partitions))
    return read_describe_text(DumpText("t.txt", text, read_dump("sample").taken_at))


def test_what_a_text_does_not_tell_is_said() -> None:
    with pytest.raises(UsageError, match="does not tell Kafka's version"):
        own_cluster(described())
    own = own_cluster(described(), kafka_version="4.1")
    told = " ".join((*own.unknown, *own.remarks))
    for word in ("features are not known", "min.insync.replicas is not known", "unclean.leader.election.enable is not"):
        assert word in told
    assert "which brokers are up is not known" in told
    assert not any("features" in one for one in own_cluster(described(), kafka_version="3.9").unknown)


def test_a_leader_that_is_not_known_is_the_first_in_sync() -> None:
    rows = [{**row, "leader": None, "isr": [2]} for row in described().partitions.rows()]
    own = own_cluster(replace(described(), partitions=Table.from_rows(PARTITIONS, rows)), kafka_version="3.9")
    assert own.scenario.setup.topics[0].start_of(0).leader == 2
    assert own.unknown[0] == "who leads is not known, of 1 of the partitions played: the first in sync is played"


def test_a_metadata_version_older_than_the_engine_plays_is_that_of_the_release() -> None:
    old = replace(described(), features={"metadata.version": 4})
    own = own_cluster(old)
    assert (own.version, "metadata.version" in own.scenario.setup.settings) == ("3.3-kraft", False)
    assert play(own.scenario, own.version).outcome.histories.acknowledged == 27


def test_nothing_to_play() -> None:
    empty = replace(described(), partitions=Table.empty(PARTITIONS))
    with pytest.raises(UsageError, match="has no partition to play"):
        own_cluster(empty, kafka_version="4.1")
    with pytest.raises(UsageError, match="no topic matches"):
        own_cluster(described(), "nope", "4.1")


@pytest.mark.parametrize(
    ("features", "versions", "protocol", "told"),
    [
        ({"metadata.version": 21}, (), None, "3.9-kraft"),
        ({"metadata.version": 7}, (), None, "3.3-kraft"),
        ({"metadata.version": 27}, (), None, "4.1"),
        ({"metadata.version": 21}, ("4.1.0", "4.0.1"), None, "4.0"),
        ({}, ("3.9.2", "2.8.1"), None, "2.8"),
        ({}, ("0.10.2.1",), None, "0.10.2"),
        ({}, (), "3.9-IV0", "3.9"),
        ({}, (), None, None),
    ],
)
def test_the_version(
    features: dict[str, int], versions: tuple[str, ...], protocol: str | None, told: str | None
) -> None:
    brokers = [{"broker": number, "version": version} for number, version in enumerate(versions, 1)]
    row = {"entity_type": "broker", "entity": "1", "name": "inter.broker.protocol.version", "origin": "broker-static"}
    configs = [] if protocol is None else [{**row, "value": protocol}]
    snapshot = replace(
        described(),
        features=features,
        brokers=Table.from_rows(BROKERS, brokers),
        configs=Table.from_rows(CONFIGS, configs),
    )
    assert known_version(snapshot) == told


def test_settings_of_brokers_are_theirs() -> None:
    names = {"replica.lag.time.max.ms": ("15000", "15000"), "auto.leader.rebalance.enable": ("true", "false")}
    rows = [
        {"entity_type": "broker", "entity": str(broker), "name": name, "value": values[broker - 1], "origin": "default"}
        for name, values in names.items()
        for broker in (1, 2)
    ]
    rows.append({**rows[0], "entity": "2", "name": "broker.session.timeout.ms", "value": "soon"})
    own = own_cluster(replace(described(), configs=Table.from_rows(CONFIGS, rows)), kafka_version="3.9")
    assert own.scenario.setup.settings == {"replica.lag.time.max.ms": 15000}
    assert [dict(broker.settings) for broker in own.scenario.setup.brokers] == [
        {"auto.leader.rebalance.enable": True},
        {"auto.leader.rebalance.enable": False},
    ]
    assert any("broker 2: broker.session.timeout.ms=soon cannot be set" in one for one in own.remarks)


@pytest.mark.parametrize("topics", ["__transaction_state", "__consumer_offsets|__share_group_state"])
def test_kafkas_own_topics_are_not_played(topics: str) -> None:
    with pytest.raises(UsageError, match="no partition to play; Kafka's own topics begin with __"):
        own_cluster(read_dump("sample-healthy"), topics)
    own = own_cluster(read_dump("sample-healthy"), f"{topics}|orders")
    assert {topic.name for topic in own.scenario.setup.topics} == {"orders"}
    assert any("partitions of Kafka's own topics are left out" in remark for remark in own.remarks)
