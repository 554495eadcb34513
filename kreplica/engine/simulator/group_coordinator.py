"""Coordinates groups: what the leader of a partition of __consumer_offsets does beside leading it.

kafka.coordinator.group.GroupCoordinator; GroupCoordinatorService since 4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kreplica.engine.rules import group_membership
from kreplica.engine.rules.coordinator_partition import OFFSETS_TOPIC
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.simulator.classic_group import Assigned, Reply
from kreplica.engine.simulator.coordinator import Coordinator
from kreplica.engine.simulator.group_shard import Offsets, Shard

if TYPE_CHECKING:
    from kreplica.engine.simulator.replica import Replica


class GroupCoordinator(Coordinator[Shard]):
    """A broker's group coordinator: finds the shard of a group, or says that it is not here."""

    __slots__ = ()

    topic = OFFSETS_TOPIC

    def begin(self, replica: Replica) -> Shard:
        """Reads the partition's groups, and coordinates them."""
        return Shard(self.broker, replica)

    # -- requests: the first argument is always the group

    def find(self, group: str, reply: Reply) -> None:
        """FindCoordinator: the broker that leads the group's partition as far as this one knows, -1 for nobody."""
        state = self.broker.image.get(self.home(group))
        reply(-1 if state is None else state.leader_id)

    def join(
        self,
        group: str,
        client: str,
        member: tuple[str, str],
        timeouts: tuple[int, int],
        topics: tuple[str, ...],
        owned: tuple[str, ...],
        reply: Reply,
    ) -> None:
        """JoinGroup; ``member`` is the member id and the instance id, ``timeouts`` session and rebalance."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, group_membership.UNKNOWN_GENERATION, member[0], "", ())
        elif not shard.speaks(group, modern=False):
            reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, group_membership.UNKNOWN_GENERATION, member[0], "", ())
        else:
            shard.modern.pop(group, None)
            shard.group(group).join(client, *member, timeouts, topics, owned, reply)

    def sync(self, group: str, member: tuple[str, str], generation: int, assigned: Assigned, reply: Reply) -> None:
        """SyncGroup."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, ())
        else:
            shard.group(group).sync(*member, generation, assigned, reply)

    def heartbeat(self, group: str, member: tuple[str, str], generation: int, reply: Reply) -> None:
        """Heartbeat."""
        shard = self.shard(group)
        reply(ErrorCode.NOT_COORDINATOR if shard is None else shard.group(group).heartbeat(*member, generation))

    def consumer_heartbeat(
        self,
        group: str,
        member: tuple[str, str],
        epoch: int,
        rebalance: int,
        topics: tuple[str, ...],
        owned: tuple[str, ...],
        reply: Reply,
    ) -> None:
        """ConsumerGroupHeartbeat (KIP-848)."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR, epoch, ())
        elif not shard.speaks(group, modern=True):
            reply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, epoch, ())
        else:
            shard.modern_group(group).heartbeat(*member, epoch, rebalance, topics, owned, reply)

    def leave(self, group: str, member_id: str, reply: Reply) -> None:
        """LeaveGroup."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
            return
        is_member = shard.group(group).knows(member_id)
        shard.group(group).leave(member_id, "leaves")
        reply(ErrorCode.NONE if is_member else ErrorCode.UNKNOWN_MEMBER_ID)

    def commit(self, group: str, member: tuple[str, str], generation: int, offsets: Offsets, reply: Reply) -> None:
        """OffsetCommit."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
        else:
            shard.commit(group, *member, generation, offsets, reply)

    def commit_in_transaction(
        self, group: str, member_id: str, generation: int, producer: tuple[int, int], offsets: Offsets, reply: Reply
    ) -> None:
        """TxnOffsetCommit; ``producer`` is its id and epoch."""
        shard = self.shard(group)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
        else:
            shard.commit_in_transaction(group, member_id, generation, producer, offsets, reply)

    def fetch(self, group: str, partitions: tuple[str, ...], require_stable: bool, reply: Reply) -> None:
        """OffsetFetch."""
        shard = self.shard(group)
        if shard is None:
            reply(tuple((partition, ErrorCode.NOT_COORDINATOR, -1, -1) for partition in partitions))
        else:
            shard.fetch(group, partitions, require_stable, reply)
