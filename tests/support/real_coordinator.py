"""A real broker's group coordinator, asked over the wire; each request has a connection of its own."""

from __future__ import annotations

from typing import Any

from moves import connection_to
from waiting import until

from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.sandbox import Sandbox


class RealCoordinator:
    """The coordinators of a cluster's groups. ``ids`` are the member ids of who is told by a name of the test."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.ids: dict[str, str] = {}
        self._sandbox = sandbox
        self._homes: dict[str, int] = {}

    def send(self, group: str, request: Any, response: Any, newest: int | None = None) -> Any:
        """Asks the group's coordinator."""
        if group not in self._homes:
            until(lambda: self._find(group), f"a coordinator of {group}")
        return self.exchange(self._homes[group], request, response, newest)

    def exchange(self, broker: int, request: Any, response: Any, newest: int | None = None) -> Any:
        """Asks one broker."""
        with connection_to(self._sandbox, broker) as connection:
            return connection.send(request, response, newest=newest)

    def _find(self, group: str) -> bool:
        from kafka.protocol.metadata import FindCoordinatorRequest, FindCoordinatorResponse

        asked = FindCoordinatorRequest(key=group, key_type=0)
        found = self.exchange(1, asked, FindCoordinatorResponse, newest=3)
        if found.error_code:
            return False
        self._homes[group] = found.node_id
        if self.heartbeat(group, "stranger", 1) != "UNKNOWN_MEMBER_ID":  # it has yet to load its partition
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

    def commit(self, group: str, name: str, generation: int, instance: str | None = None) -> str:
        """Commits offset 7 of partition 0 of topic t; ``generation`` is a member epoch where the group has those."""
        from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetCommitResponse

        topic = OffsetCommitRequest.OffsetCommitRequestTopic
        place = topic.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=7, committed_leader_epoch=-1, committed_metadata=""
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
