"""Orders of replicas: what the controller is asked, and what its answers mean. tests/kafka asks real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from answering_broker import AnsweringBroker, Answers, LateBroker

from kreplica.config.handle import ClusterHandle
from kreplica.control.reassign import PartitionKey, reorder_replicas
from kreplica.errors import ChangeRefusedError
from kreplica.sources.kafka.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)

Orders = dict[PartitionKey, tuple[int, ...]]
Answer = Callable[[Any], Any]
Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse

# org.apache.kafka.common.protocol.Errors
NONE = 0
CLUSTER_AUTHORIZATION_FAILED = 31
INVALID_REPLICA_ASSIGNMENT = 39
NOT_CONTROLLER = 41

ORDER: Orders = {("orders", 0): (2, 1)}


class Controller(AnsweringBroker):
    """Broker 1 of a cluster in ZooKeeper mode, whose controller it is."""

    def __init__(self, answer: Answer) -> None:
        answers: Answers = {MetadataRequest: self._metadata, AlterPartitionReassignmentsRequest: answer}
        super().__init__(answers)

    def _metadata(self, _: Any) -> Any:
        here = MetadataResponse.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)
        return MetadataResponse(brokers=[here], cluster_id="c", controller_id=1, topics=[])

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
def test_permissions_are_named_where_they_are_lacking_only(error: int, name: str, fix: str) -> None:
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
