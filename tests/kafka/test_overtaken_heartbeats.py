"""What the models of a consumer group say of heartbeats that are overtaken, played to a real coordinator of 4.3.1.

Members are ``plain/consumer.py``, as Kafka's client is written. Each of their steps is the model's next one: what they
send, what the coordinator answers, and what they have after it has to be the model's.

A session that ends while its client runs takes 45 s at the least. It is ended here by a heartbeat that leaves and that
the client does not know of: the coordinator does the same for both (GroupMetadataManager.consumerGroupFenceMember,
called by consumerGroupLeave and by consumerGroupFenceMemberOperation, the timer's). Targets are computed at each
heartbeat, as in 4.3 when its interval is over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from engine.overtaken_heartbeats import FAULTS, LATE, STALE, way
from plain.consumer import Answer, Client, Request
from real_clusters.consumer_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from real_clusters.coordinators import RealCoordinator

from kreplica.engine.explorer.model import Taken
from kreplica.engine.explorer.models.coordinators.memberships.models import is_member
from kreplica.engine.explorer.models.coordinators.memberships.state import (
    ANSWERED,
    FENCED,
    NONE,
    MembershipBounds,
    MembershipState,
    epoch_of,
    has,
    kind_of,
    partitions_of,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import members
from kreplica.sandbox import Sandbox

pytestmark = pytest.mark.kafka

LEAVE = -1
PATIENT = 120_000
"""Rebalance timeout in milliseconds: one that no slow machine reaches."""
TOPIC = "t"
OVERTAKEN = {STALE: 1, LATE: 0}
"""The client whose heartbeat says that it has nothing: what it commits is refused."""


class Group:
    """A group of a real coordinator, and two consumers that are its members."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self.name = name
        self.real = RealCoordinator(sandbox)
        self.clients = {0: Client(), 1: Client()}
        self.late: dict[int, Request] = {}
        self._topic = self._topic_id()

    def _topic_id(self) -> object:
        from kafka.protocol.metadata import MetadataRequest, MetadataResponse

        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=TOPIC)])
        return self.real.exchange(1, request, MetadataResponse).topics[0].topic_id

    def take(self, action: str, place: int) -> None:
        """Takes a step of the model."""
        self.clients[place] = self._after(action, place, self.clients[place])

    def _after(self, action: str, place: int, client: Client) -> Client:
        if action == "serve":
            assert client.request is not None
            answer = self._heartbeat(place, client.request)
            return replace(client, request=None, answer=answer)
        if action == "serve-late":
            self._heartbeat(place, self.late.pop(place))
            return client
        if action == "expire":
            self._send(ConsumerGroupHeartbeatRequest(group_id=self.name, member_id=str(place), member_epoch=LEAVE))
            return client
        if action == "time-out":
            assert client.request is not None
            self.late[place] = client.request
            return client.timed_out()
        if action == "hear":
            assert client.answer is not None
            return client.heard(client.answer)
        after = {"heartbeat": client.heartbeat, "reconcile": client.begun, "take-over": client.taken_over}[action]()
        assert after is not None
        return after

    def _heartbeat(self, client: int, said: Request) -> Answer:
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
        return self.real.commit(self.name, str(client), self.clients[client].epoch, partition=partition)

    def _send(self, request: ConsumerGroupHeartbeatRequest) -> Any:
        return self.real.send(self.name, request, ConsumerGroupHeartbeatResponse)


def partitions(number: int) -> frozenset[int] | None:
    return None if number == NONE else frozenset(members(number))


def answered(number: int) -> Answer:
    """An answer of the model."""
    kinds = {ANSWERED: "", FENCED: "FENCED_MEMBER_EPOCH"}
    error = kinds.get(kind_of(number), "UNKNOWN_MEMBER_ID")
    return error, epoch_of(number), partitions(partitions_of(number))


def holds(client: Client, state: MembershipState, place: int) -> None:
    """Asserts that a consumer is where the model has it."""
    asked = state.request[place]
    request = (epoch_of(asked), partitions(partitions_of(asked)), kind_of(asked) == 1) if asked else None
    assert client.request == request
    assert client.answer == (answered(state.answer[place]) if state.answer[place] else None)
    assert (client.epoch, client.current[1]) == (state.epoch[place], frozenset(members(has(state, place))))


@pytest.mark.parametrize("steps", [STALE, LATE], ids=["session-over", "time-out"])
def test_a_real_coordinator_gives_a_partition_to_two_members(kraft_cluster: Sandbox, steps: str) -> None:
    kraft_cluster.create_topic(TOPIC, assignment=[[1, 2, 3]] * 2)
    group = Group(kraft_cluster, "stale" if steps is STALE else "late")
    taken: list[Taken[Any]] = way("consumer-group-4.3", MembershipBounds(2, 2, *FAULTS[steps]), steps)
    for step in taken:
        group.take(step.action.name, step.chosen[0])
        for place, client in group.clients.items():
            holds(client, step.state, place)
    first, second = (client.current[1] for client in group.clients.values())
    assert first & second
    last = taken[-1].state
    assert all(is_member(last, client) for client in group.clients)
    for partition in sorted(first & second):
        assert {client: group.commit(client, partition) for client in group.clients} == {
            OVERTAKEN[steps]: "STALE_MEMBER_EPOCH",
            1 - OVERTAKEN[steps]: "NONE",
        }
