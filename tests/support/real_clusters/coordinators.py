"""Real brokers and the coordinators among them, asked over the wire; each request has a connection of its own."""

from __future__ import annotations

from typing import Any, Final

from waiting import until

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.sandbox import Sandbox
from real_clusters.moves import connection_to

GROUP: Final = 0
TRANSACTION: Final = 1
"""Kind of a key: FindCoordinatorRequest.CoordinatorType."""


def exchange(sandbox: Sandbox, broker: int, request: Any, response: Any, newest: int | None = None) -> Any:
    """A broker's answer, by the newest version of the request that it knows, or by ``newest`` at the most."""
    with connection_to(sandbox, broker) as connection:
        return connection.send(request, response, newest=newest)


def coordinator_of(sandbox: Sandbox, key: str, key_type: int) -> int:
    """The broker that coordinates the group or the transactional id; the first question makes the internal topic."""
    from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

    request, homes = FindCoordinatorRequest(key=key, key_type=key_type), list[int]()

    def found() -> bool:
        # from version 4 on several are asked for at once
        answer = exchange(sandbox, 1, request, FindCoordinatorResponse, newest=3)
        homes.append(answer.node_id)
        return bool(answer.error_code == 0)

    until(found, f"a coordinator of {key}")
    return homes[-1]


class RealCoordinator:
    """The coordinators of a cluster's groups. ``ids`` are the member ids of who is told by a name of the test."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.ids: dict[str, str] = {}
        self._sandbox = sandbox
        self._homes: dict[str, int] = {}

    def send(self, group: str, request: Any, response: Any, newest: int | None = None) -> Any:
        """Asks the group's coordinator."""
        if group not in self._homes:
            until(lambda: self._find(group), f"the coordinator of {group} to have loaded its partition")
        return self.exchange(self._homes[group], request, response, newest)

    def exchange(self, broker: int, request: Any, response: Any, newest: int | None = None) -> Any:
        """Asks one broker."""
        return exchange(self._sandbox, broker, request, response, newest)

    def _find(self, group: str) -> bool:
        self._homes[group] = coordinator_of(self._sandbox, group, GROUP)
        if self.heartbeat(group, "stranger", 1) != "UNKNOWN_MEMBER_ID":
            del self._homes[group]
        return group in self._homes

    def heartbeat(self, group: str, name: str, generation: int, instance: str | None = None) -> str:
        """A heartbeat of the classic protocol."""
        from kafka.protocol.consumer.group import HeartbeatRequest, HeartbeatResponse

        member = self.ids.get(name, name)
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member, group_instance_id=instance
        )
        return ErrorCode(self.send(group, request, HeartbeatResponse).error_code).name

    def commit(self, group: str, name: str, generation: int, instance: str | None = None, *, partition: int = 0) -> str:
        """Commits offset 7 of a partition of topic t; ``generation`` is a member epoch where the group has those."""
        from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetCommitResponse

        topic = OffsetCommitRequest.OffsetCommitRequestTopic
        place = topic.OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=7, committed_leader_epoch=-1, committed_metadata=""
        )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=self.ids.get(name, name),
            group_instance_id=instance,
            topics=[topic(name="t", partitions=[place])],
        )
        answer = self.send(group, request, OffsetCommitResponse, newest=9)  # from 10 on topics are told by id
        return ErrorCode(answer.topics[0].partitions[0].error_code).name
