"""Coordinates groups: what the leader of a partition of __consumer_offsets does beside leading it.

kafka.coordinator.group.GroupCoordinator; GroupCoordinatorService since 4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kreplica.engine.rules import group_membership
from kreplica.engine.rules.coordinator_partition import OFFSETS_TOPIC, coordinator_partition
from kreplica.engine.rules.error_codes import ErrorCode
from kreplica.engine.simulator.classic_group import Assigned, Reply
from kreplica.engine.simulator.group_shard import Offsets, Shard

if TYPE_CHECKING:
    from kreplica.engine.simulator.broker import Broker
    from kreplica.engine.simulator.replica import Replica


def partition_of_group(group: str, partitions: int) -> str:
    """The partition whose leader coordinates the group, as ``__consumer_offsets-0``."""
    return f"{OFFSETS_TOPIC}-{coordinator_partition(group, partitions)}"


class GroupCoordinator:
    """A broker's group coordinator: finds the shard of a group, or says that it is not here.

    It hears from its broker of what it leads, as one of its ``listeners``.
    """

    __slots__ = ("_broker", "_partitions", "_shards")

    def __init__(self, broker: Broker, partitions: int) -> None:
        self._broker = broker
        self._partitions = partitions
        self._shards: dict[str, Shard] = {}

    # -- what the broker tells

    def broker_started(self, broker: Broker) -> None:
        """Nothing is led yet."""

    def broker_ended(self, _broker: Broker) -> None:
        """The process is gone, and what it knew with it."""
        self._shards = {}

    def leads(self, broker: Broker, replica: Replica) -> None:
        """The broker leads a partition in a new epoch."""
        if replica.topic == OFFSETS_TOPIC:
            self.resigned(broker, replica)
            self._shards[replica.partition] = Shard(broker, replica)

    def resigned(self, _broker: Broker, replica: Replica) -> None:
        """The broker leads a partition no more."""
        shard = self._shards.pop(replica.partition, None)
        if shard is not None:
            shard.close()

    # -- requests: the first argument is always the group

    def find(self, group: str, reply: Reply) -> None:
        """FindCoordinator: the broker that leads the group's partition as far as this one knows, -1 for nobody."""
        state = self._broker.image.get(partition_of_group(group, self._partitions))
        reply(-1 if state is None else state.leader_id)

    def shard(self, group: str) -> Shard | None:
        """The shard of a group, None if it is not here."""
        return self._shards.get(partition_of_group(group, self._partitions))

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
        is_member = member_id in shard.group(group).members
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


def coordinator_of(broker: Broker) -> GroupCoordinator:
    """The group coordinator of a broker; every broker of a setup with __consumer_offsets has one."""
    found: Any = next((one for one in broker.listeners if isinstance(one, GroupCoordinator)), None)
    assert isinstance(found, GroupCoordinator), f"{broker.name} coordinates no groups: there is no {OFFSETS_TOPIC}"
    return found
