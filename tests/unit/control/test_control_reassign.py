"""Orders of replicas: what the controller is asked, and what its answers mean. tests/kafka asks real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest
from loopback.answering_broker import AnsweringBroker, LateBroker

from kreplica.config.handle import ClusterHandle
from kreplica.control import reassign
from kreplica.control.reassign import BATCH, PartitionKey, ReassignmentResult, alter_reassignments, reorder_replicas
from kreplica.errors import AuthenticationError, ChangeRefusedError, UnreachableError
from kreplica.sources.kafka.connections.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kreplica.sources.kafka.reassignments import Move, read_ongoing

Orders = dict[PartitionKey, tuple[int, ...]]
Answer = Callable[[Any], Any]
Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse

# org.apache.kafka.common.protocol.Errors
NONE = 0
CLUSTER_AUTHORIZATION_FAILED = 31
INVALID_REPLICA_ASSIGNMENT = 39
NOT_CONTROLLER = 41
NO_REASSIGNMENT_IN_PROGRESS = 85

ORDER: Orders = {("orders", 0): (2, 1)}


class Controller(AnsweringBroker):
    """Broker 1 of a cluster in ZooKeeper mode, whose controller it is.

    Args:
        answer: To AlterPartitionReassignments; None for a broker older than 2.4.
        topics: Replicas of each partition, by topic.
        moves: Adding and removing of partitions that move.
        newest: As of AnsweringBroker.
    """

    def __init__(
        self,
        answer: Answer | None,
        topics: Mapping[str, Mapping[int, list[int]]] | None = None,
        moves: Mapping[PartitionKey, tuple[list[int], list[int]]] | None = None,
        newest: Mapping[type[Any], int] | None = None,
    ) -> None:
        answers: dict[type[Any], Answer] = {MetadataRequest: self._metadata}
        if answer is not None:
            answers |= {AlterPartitionReassignmentsRequest: answer, ListPartitionReassignmentsRequest: self._listed}
        self.topics, self.moves, self.refusal = topics or {}, moves or {}, NONE
        self.successor: Controller | None = None
        super().__init__(answers, newest=newest)

    def _metadata(self, request: Any) -> Any:
        nodes = {1: self} if self.successor is None else {1: self, 2: self.successor}
        kind = MetadataResponse.MetadataResponseBroker
        here = [kind(node_id=node, host="127.0.0.1", port=broker.port) for node, broker in nodes.items()]
        asked = [topic.name for topic in request.topics or ()]
        topics = [self._topic(name, self.topics[name]) for name in asked if name in self.topics]
        return MetadataResponse(brokers=here, cluster_id="c", controller_id=max(nodes), topics=topics)

    @staticmethod
    def _topic(name: str, partitions: Mapping[int, list[int]]) -> Any:
        kind = MetadataResponse.MetadataResponseTopic
        rows = [
            kind.MetadataResponsePartition(
                partition_index=number,
                leader_id=replicas[0],
                replica_nodes=replicas,
                isr_nodes=replicas,
                offline_replicas=[],
            )
            for number, replicas in partitions.items()
        ]
        return kind(name=name, topic_id=UUID(int=7), partitions=rows)

    def _listed(self, request: Any) -> Any:
        kind = ListPartitionReassignmentsResponse.OngoingTopicReassignment
        wanted = (
            None
            if request.topics is None
            else {(topic.name, partition) for topic in request.topics for partition in topic.partition_indexes}
        )
        topics = [
            kind(
                name=topic,
                partitions=[
                    kind.OngoingPartitionReassignment(
                        partition_index=partition,
                        replicas=self.topics[topic][partition],
                        adding_replicas=adding,
                        removing_replicas=removing,
                    )
                ],
            )
            for (topic, partition), (adding, removing) in self.moves.items()
            if wanted is None or (topic, partition) in wanted
        ]
        return ListPartitionReassignmentsResponse(error_code=self.refusal, error_message=None, topics=topics)

    @property
    def orders(self) -> list[Any]:
        """The orders that it was asked for, request by request."""
        return [one for one in self.asked if isinstance(one, AlterPartitionReassignmentsRequest)]


def answer(error: int = NONE, **topics: list[tuple[int, int, str | None]]) -> Answer:
    """An answer about partitions: number, error and message of each."""
    partition = Topic.ReassignablePartitionResponse
    found = [
        Topic(
            name=name,
            partitions=[partition(partition_index=n, error_code=code, error_message=text) for n, code, text in rows],
        )
        for name, rows in topics.items()
    ]
    return lambda _: AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=error, error_message=None, responses=found
    )


def handle(*brokers: AnsweringBroker) -> ClusterHandle:
    return ClusterHandle("test", ",".join(one.address for one in brokers), timeout=20)


def test_every_partition_is_asked_for_and_each_has_its_answer() -> None:
    orders: Orders = {("orders", 0): (2, 1), ("audit", 0): (3, 1), ("orders", 1): (1, 3, 2), ("orders", 2): (1, 2)}
    refused = (1, INVALID_REPLICA_ASSIGNMENT, "no broker 3")
    controller = Controller(answer(orders=[(0, NONE, None), refused], audit=[(0, INVALID_REPLICA_ASSIGNMENT, None)]))
    found = reorder_replicas(handle(controller), orders)
    controller.close()
    (request,) = controller.orders
    asked = [((topic.name, one.partition_index), one.replicas) for topic in request.topics for one in topic.partitions]
    assert sorted(asked) == sorted((key, list(replicas)) for key, replicas in orders.items())
    assert len({topic.name for topic in request.topics}) == len(request.topics)
    assert found == {
        ("orders", 0): "",
        ("orders", 1): "INVALID_REPLICA_ASSIGNMENT: no broker 3",
        ("orders", 2): "the controller's answer leaves it out",
        ("audit", 0): "INVALID_REPLICA_ASSIGNMENT",
    }


@pytest.mark.parametrize(
    ("error", "name", "fix"),
    [
        (CLUSTER_AUTHORIZATION_FAILED, "CLUSTER_AUTHORIZATION_FAILED", "the credentials need Alter on the cluster"),
        (NOT_CONTROLLER, "NOT_CONTROLLER", ""),
    ],
)
def test_permissions_are_named_where_they_are_lacking_only(
    error: int, name: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reassign, "_PAUSE_SECONDS", 0.01)
    controller = Controller(answer(error))
    with pytest.raises(ChangeRefusedError, match=name) as caught:
        reorder_replicas(handle(controller), ORDER)
    controller.close()
    assert caught.value.fix.startswith(fix)
    assert bool(caught.value.fix) == bool(fix)


def test_a_server_that_answers_too_late_is_left() -> None:
    """Another has been asked meanwhile: nobody will use the connection to it."""
    late, controller = LateBroker(), Controller(answer(orders=[(0, NONE, None)]))
    found = reorder_replicas(handle(late, controller), ORDER)
    assert not late.left.is_set()
    late.speaks.set()
    assert late.left.wait(10)
    late.close()
    controller.close()
    assert found == {("orders", 0): ""}


def accepted(request: Any) -> Any:
    """An answer that accepts all that is asked for."""
    rows = {topic.name: [(one.partition_index, NONE, None) for one in topic.partitions] for topic in request.topics}
    return answer(**rows)(request)


def test_a_move_names_its_replicas_and_a_cancellation_names_none() -> None:
    controller = Controller(answer(orders=[(0, NONE, None), (1, NO_REASSIGNMENT_IN_PROGRESS, "it does not move")]))
    found = alter_reassignments(handle(controller), {("orders", 1): None, ("orders", 0): (3, 1)})
    controller.close()
    (request,) = controller.orders
    assert {one.partition_index: one.replicas for one in request.topics[0].partitions} == {0: [3, 1], 1: None}
    assert request.allow_replication_factor_change is False, "Kafka's own default is to allow it"
    refused = ReassignmentResult("orders", 1, "NO_REASSIGNMENT_IN_PROGRESS", "it does not move")
    assert found == (refused, ReassignmentResult("orders", 0))
    assert [one.accepted for one in found] == [False, True]
    assert str(refused) == "NO_REASSIGNMENT_IN_PROGRESS: it does not move"


def test_another_number_of_replicas_is_allowed_on_request_and_older_controllers_are_asked_without() -> None:
    controller = Controller(accepted)
    alter_reassignments(handle(controller), ORDER, change_replication_factor=True)
    controller.close()
    assert controller.orders[0].allow_replication_factor_change is True
    older = Controller(accepted, newest={AlterPartitionReassignmentsRequest: 0})
    assert alter_reassignments(handle(older), ORDER) == (ReassignmentResult("orders", 0),)
    older.close()


def test_many_partitions_go_in_pieces_and_none_goes_after_one_that_failed() -> None:
    def second_fails(request: Any) -> Any:
        return accepted(request) if len(controller.orders) == 1 else answer(CLUSTER_AUTHORIZATION_FAILED)(request)

    controller = Controller(second_fails)
    wanted: Orders = {("orders", number): (2, 1) for number in range(2 * BATCH + 1)}
    found = alter_reassignments(handle(controller), wanted)
    controller.close()
    assert [len(one.topics[0].partitions) for one in controller.orders] == [BATCH, BATCH]
    assert [one.partition for one in found] == [*range(2 * BATCH + 1)]
    assert [one.error for one in found] == [""] * BATCH + ["change-refused"] * BATCH + ["not-asked"]
    assert "CLUSTER_AUTHORIZATION_FAILED" in found[BATCH].message


def test_only_partitions_that_are_as_expected_are_asked_for() -> None:
    topics = {"orders": {0: [1, 2], 1: [2, 3], 2: [3, 1, 2], 3: [2, 1]}}
    controller = Controller(accepted, topics, moves={("orders", 2): ([3], [2])})
    expected = {
        ("orders", 0): Move([1, 2], [], []),
        ("orders", 1): Move([3, 2], [], []),  # another order
        ("orders", 2): Move([3, 1, 2], [], []),  # it moves
        ("orders", 9): Move([1, 2], [], []),  # it is gone
    }
    wanted: Orders = dict.fromkeys([*expected, ("orders", 3)], (1, 3))
    found = {one.partition: one for one in alter_reassignments(handle(controller), wanted, expected=expected)}
    alter_reassignments(handle(controller), {("orders", 9): (1, 3)}, expected=expected)
    controller.close()
    (request,) = controller.orders
    assert [one.partition_index for one in request.topics[0].partitions] == [0, 3], "nobody is asked for nothing"
    assert {number: one.error for number, one in found.items()} == {
        0: "", 3: "", 1: "changed", 2: "changed", 9: "changed"
    }  # fmt: skip
    assert found[1].message == "it has the replicas [2, 3]"
    assert found[2].message == "it has the replicas [3, 1, 2], adding [3], removing [2]"
    assert found[9].message == "there is no such partition any more"


def test_a_controller_that_is_none_any_more_has_done_nothing_and_its_successor_is_asked() -> None:
    successor = Controller(accepted)

    def resigned(request: Any) -> Any:
        former.successor = successor
        return answer(NOT_CONTROLLER)(request)

    former = Controller(resigned)
    assert alter_reassignments(handle(former), ORDER) == (ReassignmentResult("orders", 0),)
    former.close()
    successor.close()
    assert len(former.orders) == len(successor.orders) == 1


def test_brokers_before_2_4_are_refused_with_the_reason() -> None:
    old = Controller(None)
    with pytest.raises(ChangeRefusedError, match="AlterPartitionReassignments") as caught:
        alter_reassignments(handle(old), ORDER)
    assert caught.value.fix == "it needs Kafka 2.4"
    with pytest.raises(UnreachableError, match=r"ListPartitionReassignments; it needs Kafka 2\.4"):
        read_ongoing(handle(old))
    old.close()


def test_reassignments_that_go_on_are_those_of_the_controller() -> None:
    topics = {"orders": {0: [3, 1, 2], 1: [2, 1, 3]}}
    moves = {("orders", 0): ([3], [2]), ("orders", 1): ([], [3])}
    successor, former = Controller(accepted, topics, moves), Controller(accepted)
    former.successor = successor
    both = {("orders", 0): Move([3, 1, 2], [3], [2]), ("orders", 1): Move([2, 1, 3], [], [3])}
    assert read_ongoing(handle(former)) == both
    assert read_ongoing(handle(former), [("orders", 1), ("orders", 2)]) == {("orders", 1): both["orders", 1]}
    assert read_ongoing(handle(former), []) == {}
    assert len([one for one in successor.asked if isinstance(one, ListPartitionReassignmentsRequest)]) == 2
    successor.refusal = CLUSTER_AUTHORIZATION_FAILED
    with pytest.raises(AuthenticationError, match="the credentials need Describe on the cluster"):
        read_ongoing(handle(former))
    former.close()
    successor.close()


def test_a_controller_that_does_not_tell_what_moves_is_asked_for_nothing() -> None:
    controller = Controller(accepted, {"orders": {0: [1, 2]}})
    controller.refusal = CLUSTER_AUTHORIZATION_FAILED
    with pytest.raises(UnreachableError, match="nothing was asked for"):
        alter_reassignments(handle(controller), ORDER, expected={("orders", 0): Move([1, 2], [], [])})
    controller.close()
    assert controller.orders == []
