"""Throttles: rates and lists that are set, put back and taken away. tests/kafka does the same on real brokers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from loopback.answering_broker import AnsweringBroker
from loopback.settings_broker import (
    APPEND,
    BROKER,
    CLUSTER_AUTHORIZATION_FAILED,
    DELETE,
    SET,
    SUBTRACT,
    TOPIC,
    SettingsBroker,
)

from kreplica.config.handle import ClusterHandle
from kreplica.control import throttle
from kreplica.control.settings import (
    ENTITIES_A_REQUEST,
    LONGEST_VALUE,
    EntityType,
    Operation,
    SettingChange,
    alter_settings,
)
from kreplica.control.throttle import ListResult, extend_lists, set_rates, shrink_lists
from kreplica.errors import ChangeRefusedError, UnreachableError
from kreplica.model.throttles import DIRECTORY_RATE, FOLLOWER_LIST, FOLLOWER_RATE, LEADER_LIST, LEADER_RATE
from kreplica.sources.kafka.connections.messages import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    IncrementalAlterConfigsRequest,
)
from kreplica.sources.kafka.throttles import Throttles, read_throttles


@dataclass
class Cluster:
    """Brokers 1 and 2 in ZooKeeper mode, and what they have stored."""

    one: SettingsBroker
    two: SettingsBroker
    stored: dict[tuple[int, str], dict[str, str]]

    @property
    def handle(self) -> ClusterHandle:
        return ClusterHandle("test", self.one.address, timeout=20)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    stored: dict[tuple[int, str], dict[str, str]] = {}
    one, two = SettingsBroker(1, stored), SettingsBroker(2, stored)
    one.others[2], two.others[1] = two, one
    yield Cluster(one, two, stored)
    one.close()
    two.close()


def test_rates_are_read_with_their_origin(cluster: Cluster) -> None:
    cluster.stored |= {
        (BROKER, ""): {LEADER_RATE: "900", "log.retention.ms": "5"},
        (BROKER, "2"): {LEADER_RATE: "700", DIRECTORY_RATE: "60", "num.io.threads": "4"},
        (TOPIC, "a"): {LEADER_LIST: "0:1", "retention.ms": "3"},
        (TOPIC, "b"): {FOLLOWER_LIST: ""},
    }
    found = read_throttles(cluster.handle, [1, 2, 3], ["a", "b", "c"])
    assert {key: (row.value, row.origin) for key, row in found.rates.items()} == {
        (1, LEADER_RATE): ("900", "cluster-dynamic"),
        (2, LEADER_RATE): ("700", "broker-dynamic"),
        (2, DIRECTORY_RATE): ("60", "broker-dynamic"),
    }
    assert found.own_rate(1, LEADER_RATE) is None, "the cluster's default holds: deleting brings it back"
    assert found.own_rate(2, LEADER_RATE) == "700"
    assert found.own_rate(2, FOLLOWER_RATE) is None
    assert found.defaults == {LEADER_RATE: "900"}
    assert found.lists == {("a", LEADER_LIST): "0:1", ("b", FOLLOWER_LIST): ""}, "an own list may be empty"
    assert [*found.unread] == [3]
    assert found.unread[3].endswith("says that broker 3 is not alive")


def test_what_may_not_be_read_is_no_absence(cluster: Cluster) -> None:
    cluster.two.refused[BROKER, "2"] = CLUSTER_AUTHORIZATION_FAILED
    assert "DescribeConfigs on the cluster" in read_throttles(cluster.handle, [1, 2], []).unread[2]
    cluster.one.refused[TOPIC, "a"] = 29
    with pytest.raises(UnreachableError, match="DescribeConfigs on the topics") as caught:
        read_throttles(cluster.handle, [], ["a"])
    assert "min.insync.replicas" not in str(caught.value), "nobody asked for it"
    cluster.one.refused = {(BROKER, ""): CLUSTER_AUTHORIZATION_FAILED}
    with pytest.raises(UnreachableError, match="DescribeConfigs on the cluster"):
        read_throttles(cluster.handle, [], [])


def test_each_broker_changes_its_own_rates(cluster: Cluster) -> None:
    cluster.stored[BROKER, "2"] = {FOLLOWER_RATE: "5"}
    rates = {(1, LEADER_RATE): 100, (2, FOLLOWER_RATE): None, (2, LEADER_RATE): 200, (3, LEADER_RATE): 300}
    found = set_rates(cluster.handle, rates)
    assert cluster.one.changes == [{(BROKER, "1"): [(LEADER_RATE, SET, "100")]}]
    assert cluster.two.changes == [{(BROKER, "2"): [(FOLLOWER_RATE, DELETE, None), (LEADER_RATE, SET, "200")]}]
    assert {key: one.error for key, one in found.items()} == dict.fromkeys(rates, "") | {(3, LEADER_RATE): "unanswered"}
    assert not found[3, LEADER_RATE].made
    assert cluster.stored == {(BROKER, "1"): {LEADER_RATE: "100"}, (BROKER, "2"): {LEADER_RATE: "200"}}


def test_a_refusal_names_the_permission_and_fails_its_broker_only(cluster: Cluster) -> None:
    cluster.two.refused[BROKER, "2"] = CLUSTER_AUTHORIZATION_FAILED
    found = set_rates(cluster.handle, {(1, LEADER_RATE): 100, (2, LEADER_RATE): 100})
    assert found[1, LEADER_RATE].made
    assert found[2, LEADER_RATE].error == "CLUSTER_AUTHORIZATION_FAILED"
    assert found[2, LEADER_RATE].message.startswith("the credentials need AlterConfigs on the cluster: kafka-acls")


def test_a_list_gets_the_entries_that_it_lacks(cluster: Cluster) -> None:
    cluster.stored[TOPIC, "a"] = {LEADER_LIST: "0:1,1:2"}
    entries = {("a", LEADER_LIST): [(0, 1), (2, 10), (2, 9)], ("b", FOLLOWER_LIST): [(0, 3)]}
    found = extend_lists(cluster.handle, entries)
    assert found == {
        ("a", LEADER_LIST): ListResult(frozenset({(2, 9), (2, 10)})),
        ("b", FOLLOWER_LIST): ListResult(frozenset({(0, 3)})),
    }
    assert cluster.one.changes == [
        {(TOPIC, "a"): [(LEADER_LIST, APPEND, "2:9,2:10")], (TOPIC, "b"): [(FOLLOWER_LIST, APPEND, "0:3")]}
    ]
    assert extend_lists(cluster.handle, entries) == dict.fromkeys(entries, ListResult()), "all of them are there"
    assert len(cluster.one.changes) == 1


def test_an_operators_star_is_left_alone(cluster: Cluster) -> None:
    cluster.stored[TOPIC, "a"] = {LEADER_LIST: "*"}
    key = "a", LEADER_LIST
    assert extend_lists(cluster.handle, {key: [(0, 1)]}) == {key: ListResult(every=True)}
    assert shrink_lists(cluster.handle, {key: [(0, 1)]}) == {key: ListResult(every=True)}
    assert cluster.one.changes == []
    assert cluster.stored[TOPIC, "a"] == {LEADER_LIST: "*"}


def test_entries_are_taken_out_and_an_empty_list_is_deleted(cluster: Cluster) -> None:
    cluster.stored[TOPIC, "a"] = {LEADER_LIST: "0:1,1:2", FOLLOWER_LIST: "0:3"}
    found = shrink_lists(
        cluster.handle,
        {("a", LEADER_LIST): [(1, 2), (7, 7)], ("a", FOLLOWER_LIST): [(0, 3)], ("gone", LEADER_LIST): [(0, 1)]},
    )
    assert found == {
        ("a", LEADER_LIST): ListResult(frozenset({(1, 2)})),
        ("a", FOLLOWER_LIST): ListResult(frozenset({(0, 3)})),
        ("gone", LEADER_LIST): ListResult(),
    }
    assert cluster.stored[TOPIC, "a"] == {LEADER_LIST: "0:1"}
    operations = [operation for one in cluster.one.changes for _, operation, _ in one[TOPIC, "a"]]
    assert operations == [SUBTRACT, SUBTRACT, DELETE]


def test_a_list_that_would_get_too_long_is_left_as_it_is(cluster: Cluster) -> None:
    entry = len("1000:1,")
    fits = [(number, 1) for number in range(1000, 1000 + (LONGEST_VALUE + 1) // entry)]
    cluster.stored[TOPIC, "a"] = {LEADER_LIST: ",".join(f"{number}:1" for number, _ in fits[1:])}
    key = "a", LEADER_LIST
    found = extend_lists(cluster.handle, {key: [*fits, (9999, 1)], ("b", LEADER_LIST): [(0, 1)]})
    assert found[key] == ListResult(error="too-long", message="Kafka takes 32767 bytes")
    assert found["b", LEADER_LIST].changed == {(0, 1)}
    assert extend_lists(cluster.handle, {key: fits}) == {key: ListResult(frozenset(fits[:1]))}
    assert LONGEST_VALUE - entry < len(cluster.stored[TOPIC, "a"][LEADER_LIST]) <= LONGEST_VALUE


def test_a_value_that_is_too_long_is_not_sent_nor_the_others_of_its_topic(cluster: Cluster) -> None:
    changes = [
        SettingChange(EntityType.TOPIC, "a", LEADER_LIST, Operation.SET, "é" * (LONGEST_VALUE // 2 + 1)),
        SettingChange(EntityType.TOPIC, "a", FOLLOWER_LIST, Operation.SET, "0:1"),
        SettingChange(EntityType.TOPIC, "b", LEADER_LIST, Operation.SET, "*"),
    ]
    assert [one.error for one in alter_settings(cluster.handle, changes)] == ["too-long", "too-long", ""]
    assert cluster.stored == {(TOPIC, "b"): {LEADER_LIST: "*"}}


def test_topics_go_in_pieces_and_the_clusters_default_with_them(cluster: Cluster) -> None:
    changes = [
        SettingChange(EntityType.TOPIC, f"t{number}", LEADER_LIST, Operation.SET, "*")
        for number in range(ENTITIES_A_REQUEST)
    ]
    changes.append(SettingChange(EntityType.BROKER_DEFAULT, "", LEADER_RATE, Operation.SET, "5"))
    assert all(one.made for one in alter_settings(cluster.handle, changes))
    assert [len(one) for one in cluster.one.changes] == [ENTITIES_A_REQUEST, 1]
    assert cluster.stored[BROKER, ""] == {LEADER_RATE: "5"}
    assert alter_settings(cluster.handle, []) == ()


def test_a_read_only_context_is_not_changed() -> None:
    with pytest.raises(ChangeRefusedError, match="read_only"):
        set_rates(ClusterHandle("c", "localhost:1", read_only=True), {(1, LEADER_RATE): 5})


def test_rates_of_a_broker_that_is_down_go_through_the_active_controller_on_request(cluster: Cluster) -> None:
    active, other = SettingsBroker(9, cluster.stored), SettingsBroker(8, cluster.stored)
    broker = KraftBroker(1, cluster.stored, {8: other.port, 9: active.port}, 9)
    here = ClusterHandle("test", broker.address, timeout=20)
    assert set_rates(here, {(2, LEADER_RATE): 5})[2, LEADER_RATE].error == "unanswered"
    assert active.changes == []
    assert set_rates(here, {(2, LEADER_RATE): 5}, through_controllers=True)[2, LEADER_RATE].made
    assert active.changes == [{(BROKER, "2"): [(LEADER_RATE, SET, "5")]}]
    assert other.changes == []
    broker.leader = 7
    found = set_rates(here, {(2, LEADER_RATE): 5}, through_controllers=True)[2, LEADER_RATE]
    assert found.message.endswith("does not tell the address of the active controller")
    for one in (active, other, broker):
        one.close()


class KraftBroker(SettingsBroker):
    """A broker in KRaft that tells the controllers' ports and which one is active."""

    def __init__(
        self, node: int, stored: dict[tuple[int, str], dict[str, str]], controllers: dict[int, int], leader: int
    ) -> None:
        self.controllers, self.leader = controllers, leader
        super().__init__(node, stored, {"metadata.version": 1})
        self._answers[DescribeQuorumRequest.API_KEY] = (DescribeQuorumRequest, self._quorum)

    def _quorum(self, _: object) -> object:
        kind = DescribeQuorumResponse
        data = kind.TopicData.PartitionData(
            partition_index=0, error_code=0, leader_id=self.leader, current_voters=[], observers=[]
        )
        nodes = [
            kind.Node(node_id=node, listeners=[kind.Node.Listener(name="C", host="127.0.0.1", port=port)])
            for node, port in self.controllers.items()
        ]
        topic = kind.TopicData(topic_name="__cluster_metadata", partitions=[data])
        return kind(error_code=0, topics=[topic], nodes=nodes)


def test_a_silent_broker_costs_the_others_nothing(cluster: Cluster) -> None:
    silent, old = AnsweringBroker({IncrementalAlterConfigsRequest: lambda _: None}), AnsweringBroker({})
    cluster.one.others |= {3: silent, 4: old}  # type: ignore[dict-item]
    here = ClusterHandle("test", cluster.one.address, timeout=1)
    found = set_rates(here, {(broker, LEADER_RATE): 5 for broker in (3, 4, 2, 1)})
    silent.close()
    old.close()
    assert [one.error for one in found.values()] == ["unanswered", "UNSUPPORTED_VERSION", "", ""]
    assert found[3, LEADER_RATE].message == f"{silent.address}: no answer within 1 s"
    assert found[4, LEADER_RATE].message == f"{old.address}: does not know the request IncrementalAlterConfigs"


def test_a_broker_that_closes_the_connection_is_not_said_to_want_credentials(cluster: Cluster) -> None:
    """Another has answered with the same ones: it is the request that it does not bear."""

    def closes(_: object) -> None:
        raise OSError

    closing = AnsweringBroker({IncrementalAlterConfigsRequest: closes})
    cluster.one.others[3] = closing  # type: ignore[assignment]
    found = set_rates(cluster.handle, {(3, LEADER_RATE): 5})[3, LEADER_RATE]
    closing.close()
    assert found.message == f"{closing.address}: closed the connection"


def test_a_list_that_is_shown_empty_a_moment_late_is_deleted(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real broker tells the entries that were just taken away once more; the list would stay, empty."""
    cluster.stored[TOPIC, "a"] = {LEADER_LIST: "0:1"}
    before, reads = dict(cluster.stored[TOPIC, "a"]), [0]
    monkeypatch.setattr(throttle, "PAUSE_SECONDS", 0.0)

    def late(*arguments: Any) -> Throttles:
        reads[0] += 1
        found = read_throttles(*arguments)
        return replace(found, lists={("a", LEADER_LIST): before[LEADER_LIST]}) if reads[0] in (2, 3) else found

    monkeypatch.setattr(throttle, "read_throttles", late)
    assert shrink_lists(cluster.handle, {("a", LEADER_LIST): [(0, 1)]})["a", LEADER_LIST].changed == {(0, 1)}
    assert cluster.stored[TOPIC, "a"] == {}
