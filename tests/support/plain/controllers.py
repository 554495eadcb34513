"""One partition under Kafka's controllers, restated with lists as their sources are written: slow and plain.

KRaft: PartitionChangeBuilder of 4.1 with useLastKnownLeaderInBalancedRecovery, its default. ZooKeeper: 3.9.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

NONE = -1


@dataclass(frozen=True)
class Partition:
    """Broker ids in lists."""

    replicas: list[int]
    isr: list[int]
    leader: int
    elr: list[int]
    last_known_elr: list[int]


class PartitionChange:
    """One build() of PartitionChangeBuilder."""

    def __init__(
        self,
        partition: Partition,
        acceptable: Collection[int],
        min_isr: int,
        *,
        elr_enabled: bool,
        election: str,
        target_isr: list[int],
        unclean_shutdown: Collection[int] = (),
    ) -> None:
        self.partition, self.acceptable, self.min_isr = partition, acceptable, min_isr
        self.elr_enabled, self.election, self.unclean_shutdown = elr_enabled, election, unclean_shutdown
        self.target_isr, self.target_elr = list(target_isr), list(partition.elr)
        self.record: dict[str, object] = {}

    def is_valid_new_leader(self, replica: int) -> bool:
        eligible = replica in self.target_isr or (not self.target_isr and replica in self.target_elr)
        return eligible and replica in self.acceptable

    def can_elect_last_known_leader(self) -> bool:
        known = self.partition.last_known_elr
        if not self.elr_enabled or self.target_elr or self.target_isr or len(known) != 1:
            return False
        return known[0] in self.acceptable

    def elect_leader(self) -> tuple[int, bool]:
        current, replicas = self.partition.leader, self.partition.replicas
        if self.election == "PREFERRED" and self.is_valid_new_leader(replicas[0]):
            return replicas[0], False
        if self.is_valid_new_leader(current):
            return current, False
        for replica in replicas:
            if self.is_valid_new_leader(replica):
                return replica, False
        if self.can_elect_last_known_leader():
            return self.partition.last_known_elr[0], True
        if self.election == "UNCLEAN":
            for replica in replicas:
                if replica in self.acceptable:
                    return replica, True
        return NONE, False

    def build(self) -> Partition:
        self.populate_elr()
        node, unclean = self.elect_leader()
        if node != self.partition.leader:
            if node in self.target_elr:
                self.target_isr = [node]
                self.target_elr = [one for one in self.target_elr if one != node]
            self.record["leader"] = node
            if unclean:
                self.record["isr"] = [node]
        if "isr" in self.record or not self.elr_enabled:
            self.target_elr = []
        changed = set(self.target_isr) != set(self.partition.isr)
        if "isr" not in self.record and (self.target_isr or self.elr_enabled) and changed:
            self.record["isr"] = self.target_isr
        self.update_last_known_leader()
        return replace(self.partition, **self.record, elr=self.target_elr)  # type: ignore[arg-type]

    def populate_elr(self) -> None:
        if not self.elr_enabled:
            return
        if len(self.target_isr) >= self.min_isr:
            self.target_elr = []
            return
        candidates = {*self.target_elr, *self.partition.isr}
        lossy = self.unclean_shutdown
        self.target_elr = [one for one in candidates if one not in self.target_isr and one not in lossy]

    def update_last_known_leader(self) -> None:
        """PartitionChangeBuilder.maybeUpdateLastKnownLeader of 4.1 to 4.3."""
        if not self.elr_enabled:
            return
        known, leader = self.partition.last_known_elr, self.partition.leader
        new_leader = self.record.get("leader")
        if new_leader == NONE and not known:
            self.record["last_known_elr"] = [leader]
        elif new_leader is not None and new_leader != NONE and known:
            self.record["last_known_elr"] = []


def kraft_broker_stops(
    partition: Partition, broker: int, active: Collection[int], min_isr: int, *, elr_enabled: bool, unclean: bool
) -> Partition:
    """ReplicationControlManager.handleBrokerFenced and the like: for each partition with the broker in the ISR."""
    if broker not in partition.isr:
        return partition
    return _without(partition, broker, active, min_isr, elr_enabled=elr_enabled, unclean=unclean)


def kraft_broker_shut_down_uncleanly(
    partition: Partition, broker: int, active: Collection[int], min_isr: int, *, unclean: bool
) -> Partition:
    """ReplicationControlManager.handleBrokerUncleanShutdown, with ELR: for each partition with it in the ISR or ELR."""
    if broker not in partition.isr and broker not in partition.elr:
        return partition
    return _without(partition, broker, active, min_isr, elr_enabled=True, unclean=unclean, unclean_shutdown=[broker])


def _without(
    partition: Partition,
    broker: int,
    active: Collection[int],
    min_isr: int,
    *,
    elr_enabled: bool,
    unclean: bool,
    unclean_shutdown: Collection[int] = (),
) -> Partition:
    """ReplicationControlManager.generateLeaderAndIsrUpdates for a broker to remove."""
    return PartitionChange(
        partition,
        [one for one in active if one != broker],
        min_isr,
        elr_enabled=elr_enabled,
        election="UNCLEAN" if unclean else "ONLINE",
        target_isr=[one for one in partition.isr if one != broker],
        unclean_shutdown=unclean_shutdown,
    ).build()


class ZooKeeperController:
    """KafkaController, with one partition and the brokers it knows."""

    def __init__(self, partition: Partition, live: Collection[int], *, unclean: bool) -> None:
        self.replicas, self.isr, self.leader = list(partition.replicas), list(partition.isr), partition.leader
        self.live, self.shutting_down, self.unclean = set(live), set[int](), unclean

    def controlled_shutdown(self, broker: int) -> None:
        self.shutting_down.add(broker)
        if len(self.replicas) <= 1:
            return
        if self.leader != broker:
            self.remove_replica_from_isr(broker)
            return
        for one in self.replicas:
            if one in self.live and one in self.isr and one not in self.shutting_down:
                self.leader = one
                self.isr = [member for member in self.isr if member not in self.shutting_down]
                return

    def broker_failure(self, broker: int) -> None:
        self.live.discard(broker)
        if self.leader not in self.live:
            self.elect_for_offline()
        self.remove_replica_from_isr(broker)

    def elect_for_offline(self) -> None:
        in_sync = [one for one in self.replicas if one in self.live and one in self.isr]
        unclean = [one for one in self.replicas if one in self.live] if self.unclean else []
        for leader in [*in_sync, *unclean][:1]:
            self.isr = [one for one in self.isr if one in self.live] if leader in self.isr else [leader]
            self.leader = leader

    def remove_replica_from_isr(self, broker: int) -> None:
        if broker not in self.isr:
            return
        if self.leader == broker:
            self.leader = NONE
        if len(self.isr) > 1:
            self.isr = [one for one in self.isr if one != broker]
