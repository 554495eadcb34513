"""Answers that a broker gives only where something is amiss: silence, refusals, a leader without an address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from loopback.answering_broker import AnsweringBroker, Answers, answering_broker

from kreplica.config.handle import ClusterHandle
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.sources import Facet
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import Address, BrokerFailure
from kreplica.sources.kafka.connections.messages import (
    DescribeAclsRequest,
    DescribeAclsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kreplica.sources.kafka.layout import hidden_topics, read_layout
from kreplica.sources.kafka.snapshot import read_live
from kreplica.system.deadline import Deadline

# org.apache.kafka.common.protocol.Errors
NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
TOPIC_AUTHORIZATION_FAILED = 29
CLUSTER_AUTHORIZATION_FAILED = 31
REQUEST_TIMED_OUT = 7
INVALID_TOPIC_EXCEPTION = 17
LISTENER_NOT_FOUND = 72

BROKER = 4
"""org.apache.kafka.common.config.ConfigResource.Type"""

Topic = MetadataResponse.MetadataResponseTopic
Described = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic


def partition(number: int, *, error: int = NONE, leader: int = 1, isr: tuple[int, ...] = (1, 2)) -> Any:
    """One partition of a Metadata answer, on brokers 1 and 2."""
    return Topic.MetadataResponsePartition(
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=4,
        replica_nodes=[1, 2],
        isr_nodes=list(isr),
        offline_replicas=[],
    )


def topic(name: str, *partitions: Any, error: int = NONE) -> Any:
    return Topic(error_code=error, name=name, is_internal=False, partitions=list(partitions))


def metadata(*topics: Any, ports: dict[int, int] | None = None) -> Callable[[Any], Any]:
    """A Metadata answer; ``ports`` of brokers on loopback."""
    listed = [
        MetadataResponse.MetadataResponseBroker(node_id=node, host="127.0.0.1", port=port)
        for node, port in (ports or {}).items()
    ]
    return lambda _: MetadataResponse(brokers=listed, cluster_id="c", controller_id=1, topics=list(topics))


def described(number: int) -> Any:
    return Described.DescribeTopicPartitionsResponsePartition(
        error_code=NONE,
        partition_index=number,
        leader_id=2,
        leader_epoch=9,
        replica_nodes=[1, 2],
        isr_nodes=[2],
        eligible_leader_replicas=[1],
        last_known_elr=[],
        offline_replicas=[1],
    )


def page(request: Any, numbers: list[int], following: tuple[str, int] | None) -> Any:
    cursor = None
    if following is not None:
        cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=following[0], partition_index=following[1])
    name = request.topics[0].name
    found = Described(error_code=NONE, name=name, is_internal=False, partitions=[described(one) for one in numbers])
    return DescribeTopicPartitionsResponse(topics=[found], next_cursor=cursor)


def connected(broker: AnsweringBroker) -> BrokerConnection:
    return BrokerConnection(Address("127.0.0.1", broker.port), {"client_id": "test"}, Deadline(10))


def test_a_leader_without_an_address_is_not_known() -> None:
    """MetadataCache.getPartitionMetadata answers LISTENER_NOT_FOUND and no leader where one listener lacks it."""
    hidden = partition(0, error=LISTENER_NOT_FOUND, leader=-1, isr=(2,))
    without = partition(1, error=LEADER_NOT_AVAILABLE, leader=-1, isr=(2,))
    answers: Answers = {
        MetadataRequest: metadata(topic("t", hidden, without)),
        DescribeTopicPartitionsRequest: lambda request: page(request, [0], None),
    }
    with answering_broker(answers) as broker, connected(broker) as connection:
        layout = read_layout(connection)
    assert [row.leader for row in layout.partitions] == [None, -1]
    (gap,) = layout.gaps
    assert (gap.kind, gap.count) == ("failed-request", 1)
    # The rest of its state is that of the later answer, and the leader that this one may name is not taken from it.
    assert (layout.partitions[0].leader_epoch, layout.partitions[0].elr) == (9, [1])


def test_only_not_authorised_makes_a_topic_hidden() -> None:
    refusals = {
        "private": TOPIC_AUTHORIZATION_FAILED,
        "gone": UNKNOWN_TOPIC_OR_PARTITION,
        "new": LEADER_NOT_AVAILABLE,
        "bad": INVALID_TOPIC_EXCEPTION,
        "other": CLUSTER_AUTHORIZATION_FAILED,
        "seen": NONE,
    }
    answers: Answers = {MetadataRequest: metadata(*(topic(name, error=code) for name, code in refusals.items()))}
    with answering_broker(answers) as broker, connected(broker) as connection:
        assert hidden_topics(connection, refusals) == ["private"]
        (asked,) = broker.asked
    assert asked.allow_auto_topic_creation is False


def test_pages_are_turned_until_the_cursor_ends() -> None:
    following = {None: ([0, 1], ("t", 2)), 2: ([2, 3], ("t", 4)), 4: ([4], None)}

    def turn(request: Any) -> Any:
        return page(request, *following[request.cursor and request.cursor.partition_index])

    answers: Answers = {
        MetadataRequest: metadata(topic("t", *(partition(number, isr=(2,)) for number in range(5)))),
        DescribeTopicPartitionsRequest: turn,
    }
    with answering_broker(answers) as broker, connected(broker) as connection:
        rows = read_layout(connection).partitions
        pages = [one for one in broker.asked if isinstance(one, DescribeTopicPartitionsRequest)]
    assert [(row.leader, row.elr) for row in rows] == [(2, [1])] * 5
    assert [one.cursor and one.cursor.partition_index for one in pages] == [None, 2, 4]


def test_a_cursor_that_does_not_move_on_ends_the_reading() -> None:
    answers: Answers = {
        MetadataRequest: metadata(topic("t", partition(0, isr=(2,)), partition(1, isr=(2,)))),
        DescribeTopicPartitionsRequest: lambda request: page(request, [0], ("t", 1)),
    }
    with answering_broker(answers) as broker, connected(broker) as connection:
        with pytest.raises(BrokerFailure, match="DescribeTopicPartitions repeats a page"):
            read_layout(connection)
        assert len(broker.asked) == 3, "the metadata, the first page, and the same one again"


def test_pages_of_several_topics_may_stop_at_partitions_of_one_number() -> None:
    """The same number in another topic is another place."""
    following = {None: ("a", ("b", 0)), "b": ("b", ("c", 0)), "c": ("c", None)}

    def turn(request: Any) -> Any:
        name, cursor = following[request.cursor and request.cursor.topic_name]
        answer = page(request, [0], cursor)
        answer.topics[0].name = name
        return answer

    answers: Answers = {
        MetadataRequest: metadata(*(topic(name, partition(0, isr=(2,))) for name in "abc")),
        DescribeTopicPartitionsRequest: turn,
    }
    with answering_broker(answers) as broker, connected(broker) as connection:
        assert [row.elr for row in read_layout(connection).partitions] == [[1]] * 3


def settled(_: Any) -> Any:
    return ListPartitionReassignmentsResponse(error_code=NONE, error_message=None, topics=[])


def directories(_: Any) -> Any:
    one = DescribeLogDirsResponse.DescribeLogDirsResult(error_code=NONE, log_dir="/d", topics=[])
    return DescribeLogDirsResponse(error_code=NONE, results=[one])


def never(_: Any) -> None:
    return None


def read_two(
    first: Answers, second: Answers, timeout: float = 5.0, *, other_id: int = 2, facets: Facet = Facet.LOG_DIRS
) -> ClusterSnapshot:
    """Reads a cluster of two brokers; the first one is asked about the whole cluster and is its controller."""
    with answering_broker(second) as other:
        ports: dict[int, int] = {other_id: other.port}

        def cluster(request: Any) -> Any:
            return metadata(topic("t", partition(0)), ports=ports)(request)

        with answering_broker({MetadataRequest: cluster, **first}) as broker:
            ports[1] = broker.port
            return read_live(ClusterHandle("test", broker.address, timeout=timeout), facets)


def told(snapshot: ClusterSnapshot) -> list[tuple[str, int, str]]:
    return [(gap.kind, gap.count, gap.message) for gap in snapshot.gaps]


WELL: Answers = {DescribeLogDirsRequest: directories, ListPartitionReassignmentsRequest: settled}


def test_brokers_that_all_answer_leave_no_gap() -> None:
    silent = [gap for gap in read_two(WELL, WELL).gaps if gap.kind == "silent-brokers"]
    assert silent == []


@pytest.mark.parametrize("silent", [2, 0])
def test_a_broker_that_does_not_answer_is_told(silent: int) -> None:
    snapshot = read_two(WELL, {DescribeLogDirsRequest: never}, timeout=1.0, other_id=silent)
    assert ("silent-brokers", 1, f"broker {silent} did not answer within 1 s") in told(snapshot)
    assert [row["broker"] for row in snapshot.log_dirs.rows()] == [1], "what came from the other is kept"


def test_several_that_do_not_answer_are_one_gap_with_their_number() -> None:
    first = {**WELL, DescribeLogDirsRequest: never}
    snapshot = read_two(first, {DescribeLogDirsRequest: never}, timeout=1.0)
    assert ("silent-brokers", 2, "brokers 1, 2 did not answer within 1 s") in told(snapshot)


def test_a_controller_that_does_not_answer_is_told() -> None:
    snapshot = read_two({**WELL, ListPartitionReassignmentsRequest: never}, WELL, timeout=1.0)
    message = "reassignments could not be read from the controller: no answer within 1 s"
    assert Gap("silent-brokers", message, 1) in snapshot.gaps
    assert snapshot.partition("t", 0)["adding"] is None


def test_a_move_that_ended_between_the_answers_is_read_again() -> None:
    """The first answer has the replicas of both its sides, and the list of moves has it no more."""
    ports: dict[int, int] = {}
    moving, moved = partition(0), partition(0, isr=(1, 3))
    moving.replica_nodes, moved.replica_nodes = [1, 3, 2], [1, 3]
    coming = iter([moving])

    def cluster(request: Any) -> Any:
        return metadata(topic("t", next(coming, moved)), ports=ports)(request)

    with answering_broker({MetadataRequest: cluster, **WELL}) as broker:
        ports[1] = broker.port
        row = read_live(ClusterHandle("test", broker.address, timeout=5.0), Facet.PARTITIONS).partition("t", 0)
    assert (row["replicas"], row["isr"]) == ([1, 3], [1, 3])


def test_a_broker_that_cannot_be_asked_is_told_with_the_reason() -> None:
    """It knows no request that is asked of each broker, and closes the connection."""

    def refuse(_: Any) -> Any:
        raise ConnectionResetError

    snapshot = read_two(WELL, {DescribeLogDirsRequest: refuse})
    (gap,) = [gap for gap in snapshot.gaps if gap.kind == "silent-brokers"]
    assert gap.count == 1
    assert gap.message.startswith("broker 2 could not be asked: 127.0.0.1:")
    assert "closed the connection" in gap.message


@pytest.mark.parametrize(
    ("code", "name", "advice"),
    [
        (CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_AUTHORIZATION_FAILED", True),
        (REQUEST_TIMED_OUT, "REQUEST_TIMED_OUT", False),
    ],
)
def test_permissions_are_asked_for_only_where_they_lack(code: int, name: str, advice: bool) -> None:
    def refused(_: Any) -> Any:
        return ListPartitionReassignmentsResponse(error_code=code, error_message=None, topics=[])

    snapshot = read_two({**WELL, ListPartitionReassignmentsRequest: refused}, WELL)
    (gap,) = [gap for gap in snapshot.gaps if gap.message.startswith("reassignments could not be read")]
    assert gap.kind == "failed-request"
    assert name in gap.message
    assert ("Describe" in gap.message) is advice


def settings(error: int = NONE) -> Callable[[Any], Any]:
    """What a broker says of the settings that it is asked for."""
    setting = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
    one = setting(
        name="num.io.threads",
        value="16",
        read_only=False,
        config_source=4,  # STATIC_BROKER_CONFIG of DescribeConfigsResponse.ConfigSource
        is_sensitive=False,
        synonyms=[],
    )

    def answer(request: Any) -> Any:
        results = [
            DescribeConfigsResponse.DescribeConfigsResult(
                error_code=error,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[] if error or resource.resource_type != BROKER or not resource.resource_name else [one],
            )
            for resource in request.resources
        ]
        return DescribeConfigsResponse(results=results)

    return answer


def test_each_brokers_settings_are_its_own_and_a_refusal_is_told() -> None:
    first, second = ({**WELL, DescribeConfigsRequest: settings(code)} for code in (NONE, CLUSTER_AUTHORIZATION_FAILED))
    snapshot = read_two(first, second, facets=Facet.BROKER_CONFIGS)
    assert [(row["entity"], row["name"], row["value"], row["origin"]) for row in snapshot.configs.rows()] == [
        ("1", "num.io.threads", "16", "broker-static")
    ]
    (gap,) = [gap for gap in snapshot.gaps if gap.message.startswith("settings of broker 2 could not be read")]
    assert gap.kind == "failed-request"
    assert "DescribeConfigs" in gap.message


def test_a_fenced_broker_is_not_alive_and_not_asked() -> None:
    def registered(_: Any) -> Any:
        one = DescribeClusterResponse.DescribeClusterBroker
        rows = [one(broker_id=1, host="h", port=1, is_fenced=False), one(broker_id=2, host="h", port=2, is_fenced=True)]
        return DescribeClusterResponse(error_code=NONE, endpoint_type=1, cluster_id="c", controller_id=1, brokers=rows)

    answers: Answers = {MetadataRequest: metadata(), DescribeClusterRequest: registered}
    with answering_broker(answers) as broker, connected(broker) as connection:
        layout = read_layout(connection)
    assert [(one.broker, one.alive, one.fenced) for one in layout.brokers] == [(1, True, False), (2, False, True)]


@pytest.mark.parametrize(
    ("fenced", "unseen"),
    [
        ((), None),
        ((3,), "broker 3 is down"),
        ((3, 4), "brokers 3, 4 are down"),
        (None, "this Kafka lists no brokers that are down"),
    ],
)
def test_topics_may_be_hidden_on_brokers_that_nobody_could_ask(
    fenced: tuple[int, ...] | None, unseen: str | None
) -> None:
    """They may hold the only files of one, and the lists that say who may describe it cannot be read."""
    ports: dict[int, int] = {}

    def registered(_: Any) -> Any:
        one = DescribeClusterResponse.DescribeClusterBroker
        rows = [one(broker_id=1, host="127.0.0.1", port=ports[1], is_fenced=False)]
        rows += [one(broker_id=node, host="127.0.0.1", port=1, is_fenced=True) for node in fenced or ()]
        return DescribeClusterResponse(error_code=NONE, endpoint_type=1, cluster_id="c", controller_id=1, brokers=rows)

    def cluster(request: Any) -> Any:
        return metadata(topic("t", partition(0)), ports=ports)(request)

    def refused(_: Any) -> Any:
        return DescribeAclsResponse(error_code=CLUSTER_AUTHORIZATION_FAILED, error_message=None, resources=[])

    answers = {
        **WELL,
        MetadataRequest: cluster,
        DescribeAclsRequest: refused,
        **({} if fenced is None else {DescribeClusterRequest: registered}),
    }
    with answering_broker(answers) as broker:
        ports[1] = broker.port
        snapshot = read_live(ClusterHandle("test", broker.address, timeout=5.0), Facet.LOG_DIRS)
    hidden = [gap.message for gap in snapshot.gaps if gap.kind == "hidden-topics"]
    why = "and access control lists could not be read, CLUSTER_AUTHORIZATION_FAILED"
    assert hidden == ([] if unseen is None else [f"hidden topics cannot be ruled out: {unseen}, {why}"])
