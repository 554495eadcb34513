"""State of a partition as the controller decides it and reports it to brokers."""

from __future__ import annotations

from typing import NamedTuple

from kreplica.engine.rules.controller.unclean_election import recovering_after
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains, everybody
from kreplica.engine.setup import PartitionStart


class PartitionState(NamedTuple):
    """Leader, ISR and epochs of a partition. Sets of replicas are bitmasks over the indexes in ``replicas``.

    Args:
        partition: ``topic-0``.
        replicas: Broker ids, the preferred leader first.
        leader: Index of the leader, NO_LEADER for none.
        leader_epoch: Rises with every leader.
        isr: In-sync replicas.
        partition_epoch: Rises with every change (KRaft); the znode's version in ZooKeeper mode.
        elr: Eligible leader replicas (KIP-966).
        last_known_elr: The last leader, once ISR and ELR are empty.
        recovering: Whether the leader came by an unclean election and has not recovered.
        adding, removing: Broker ids, while a reassignment runs.
        isr_order: Broker ids as the znode lists the ISR, in versions that elect by that; empty elsewhere.
        former: Brokers in the ELR that lost their replica when a reassignment ended or was cancelled under min ISR
            (KRaft): their indexes come behind those of ``replicas``. None of them can lead.
    """

    partition: str
    replicas: tuple[int, ...]
    leader: int = NO_LEADER
    leader_epoch: int = 0
    isr: int = 0
    partition_epoch: int = 0
    elr: int = 0
    last_known_elr: int = 0
    recovering: bool = False
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    isr_order: tuple[int, ...] = ()
    former: tuple[int, ...] = ()

    @classmethod
    def at_start(cls, partition: str, replicas: tuple[int, ...], start: PartitionStart) -> PartitionState:
        """The state that a run begins with."""
        state = cls(
            partition, replicas, former=tuple(broker for broker in dict.fromkeys(start.elr) if broker not in replicas)
        )
        return state._replace(
            leader=replicas.index(start.leader) if start.leader in replicas else NO_LEADER,
            isr=state.places(start.isr),
            elr=state.indexes(start.elr),
        )

    @property
    def leader_id(self) -> int:
        """Broker id of the leader, NO_LEADER for none."""
        return self.replicas[self.leader] if self.leader >= 0 else NO_LEADER

    @property
    def everybody(self) -> int:
        """The set of all its replicas."""
        return everybody(len(self.replicas))

    def ids(self, replicas: int) -> tuple[int, ...]:
        """The broker ids of a set, in the order of the assignment."""
        return tuple(broker for place, broker in enumerate(self.replicas) if contains(replicas, place))

    def on(self, replicas: tuple[int, ...]) -> PartitionState:
        """The same state for another assignment; brokers without a replica there are left out."""
        other = self._replace(replicas=replicas, former=())
        return other._replace(
            leader=replicas.index(self.leader_id) if self.leader_id in replicas else NO_LEADER,
            isr=other.places(self.ids(self.isr)),
            elr=other.places(self.ids(self.elr)),
            last_known_elr=other.places(self.ids(self.last_known_elr)),
        )

    def moved_to(self, replicas: tuple[int, ...]) -> PartitionState:
        """As ``on``, but brokers of ISR and ELR that lose their replica stay in them, at indexes behind the others.

        PartitionChangeBuilder.maybePopulateTargetElr takes them for the ELR, replicas or not.
        """
        isr, elr = self.members(self.isr), self.members(self.elr)
        former = tuple(broker for broker in dict.fromkeys((*isr, *elr)) if broker not in replicas)
        other = self.on(replicas)._replace(former=former)
        return other._replace(isr=other.indexes(isr), elr=other.indexes(elr))

    def index_of(self, broker: int) -> int:
        """The index of a broker's replica, or of the broker as a former one; NO_LEADER if it is neither."""
        everyone = (*self.replicas, *self.former)
        return everyone.index(broker) if broker in everyone else NO_LEADER

    def members(self, replicas: int) -> tuple[int, ...]:
        """The broker ids of a set, former brokers among them."""
        everyone = (*self.replicas, *self.former)
        return tuple(broker for place, broker in enumerate(everyone) if contains(replicas, place))

    def indexes(self, brokers: tuple[int, ...]) -> int:
        """The set of brokers that have a replica, or are former ones; others count for nothing."""
        places = {self.index_of(broker) for broker in brokers} - {NO_LEADER}
        return sum(1 << place for place in places)

    def listed_isr(self) -> tuple[int, ...]:
        """The broker ids of the ISR as a znode lists them: joining brokers go last, where that order is kept."""
        members = self.ids(self.isr)
        kept = tuple(broker for broker in self.isr_order if broker in members)
        return (*kept, *(broker for broker in members if broker not in kept))

    def places_in_isr_order(self) -> tuple[int, ...]:
        """The indexes of the ISR's members in the order of the znode."""
        return tuple(self.replicas.index(broker) for broker in self.listed_isr())

    def decided(self, leader: int, isr: int, elr: int, last_known_elr: int, target_isr: int) -> PartitionState:
        """The state after a controller's decision, as ``isr.kraft_change`` returns it.

        A leader is elected uncleanly if it is not in the ISR that shall be, nor in the ELR where that ISR is empty
        (PartitionChangeBuilder.isValidNewLeader).

        Args:
            leader, isr, elr, last_known_elr: The decision.
            target_isr: The ISR that it was to make.
        """
        valid = target_isr or self.isr | self.elr
        unclean = leader not in (NO_LEADER, self.leader) and not contains(valid, leader)
        recovering = recovering_after(unclean, self.recovering, False)
        new = self._replace(leader=leader, isr=isr, elr=elr, last_known_elr=last_known_elr, recovering=recovering)
        return new.without_former() if self.former else new

    def without_former(self) -> PartitionState:
        """The state without former brokers that have left the ELR."""
        eligible = self.members(self.elr)
        other = self._replace(former=tuple(broker for broker in self.former if broker in eligible))
        return other._replace(elr=other.indexes(eligible))

    def places(self, brokers: tuple[int, ...]) -> int:
        """The set of those of the brokers that have a replica."""
        return sum(1 << place for place, broker in enumerate(self.replicas) if broker in brokers)
