"""Overtaken heartbeats as the models of a consumer group have them, played to a real coordinator of 4.3.1.

Members are ``plain/consumer.py``, as Kafka's client is written. Each of their steps is the model's next one: what they
send, what the coordinator answers, and what they have after it has to be the model's.

A session that ends while its client runs takes 45 s at the least. It is ended here by a heartbeat that leaves and that
the client does not know of: the coordinator does the same for both (GroupMetadataManager.consumerGroupFenceMember,
called by consumerGroupLeave and by consumerGroupFenceMemberOperation, the timer's). Targets are computed at each
heartbeat, as in 4.3 when its interval is over.
"""

from __future__ import annotations

from typing import Any

import pytest
from engine.overtaken_heartbeats import LATE, STALE, Played
from plain.consumer import Answer, Request
from real_clusters.consumer_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from real_clusters.coordinators import RealCoordinator

from kreplica.engine.explorer.models.coordinators.memberships.models import is_member
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.sandbox import Sandbox

pytestmark = pytest.mark.kafka

LEAVE = -1
PATIENT = 120_000
"""Rebalance timeout in milliseconds: one that no slow machine reaches."""
TOPIC = "t"
OVERTAKEN = {STALE: 1, LATE: 0}
"""The client whose heartbeat says that it has nothing: what it commits is refused."""


class Real(Played):
    """A group of a real coordinator."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        super().__init__()
        self.name = name
        self.coordinator = RealCoordinator(sandbox)
        self._topic = self._topic_id()

    def _topic_id(self) -> object:
        from kafka.protocol.metadata import MetadataRequest, MetadataResponse

        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=TOPIC)])
        return self.coordinator.exchange(1, request, MetadataResponse).topics[0].topic_id

    def let_go(self, client: int) -> None:
        self._send(ConsumerGroupHeartbeatRequest(group_id=self.name, member_id=str(client), member_epoch=LEAVE))

    def heartbeat(self, client: int, said: Request) -> Answer:
        epoch, owned, full = said
        named = ConsumerGroupHeartbeatRequest.TopicPartitions
        has = None if owned is None else [named(topic_id=self._topic, partitions=sorted(owned))] if owned else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.name,
            member_id=str(client),
            member_epoch=epoch,
            rebalance_timeout_ms=PATIENT if full else -1,
            subscribed_topic_names=[TOPIC] if full else None,
            topic_partitions=has,
        )
        answer = self._send(request)
        if answer.error_code:
            return ErrorCode(answer.error_code).name, 0, None
        if answer.assignment is None:
            return "", answer.member_epoch, None
        given = [number for one in answer.assignment.topic_partitions for number in one.partitions]
        return "", answer.member_epoch, frozenset(given)

    def commit(self, client: int, partition: int) -> str:
        """The error of a member's commit."""
        return self.coordinator.commit(self.name, str(client), self.clients[client].epoch, partition=partition)

    def _send(self, request: ConsumerGroupHeartbeatRequest) -> Any:
        return self.coordinator.send(self.name, request, ConsumerGroupHeartbeatResponse)


@pytest.mark.parametrize("steps", [STALE, LATE], ids=["session-over", "time-out"])
def test_a_real_coordinator_gives_a_partition_to_two_members(kraft_cluster: Sandbox, steps: str) -> None:
    kraft_cluster.create_topic(TOPIC, assignment=[[1, 2, 3]] * 2)
    group = Real(kraft_cluster, "stale" if steps is STALE else "late")
    last = group.play("consumer-group-4.3", steps)[-1].state
    assert all(is_member(last, client) for client in group.clients)
    first, second = (client.current[1] for client in group.clients.values())
    assert first & second
    for partition in sorted(first & second):
        assert {client: group.commit(client, partition) for client in group.clients} == {
            OVERTAKEN[steps]: "STALE_MEMBER_EPOCH",
            1 - OVERTAKEN[steps]: "NONE",
        }
