"""A metadata log's states as the engine's rules take them, and the facts that decided on them at an offset.

What a controller reads from its own server.properties is not in the log: min.insync.replicas and
unclean.leader.election.enable where neither the topic nor the cluster's default has them. Every value that explains
all changes since the quorum's leader was elected is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kreplica.engine.rules.replication.high_watermark import effective_min_isr
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.simulator.broker.partition_state import PartitionState as EngineState
from kreplica.engine.simulator.kraft.decisions import Circumstances
from kreplica.engine.traces.kraft import Brokers
from kreplica.engine.versions.version import Version
from kreplica.formats.metadata_log.directories import is_online
from kreplica.formats.metadata_log.image import (
    BROKER_RESOURCE,
    RECOVERING,
    TOPIC_RESOURCE,
    BrokerState,
    MetadataImage,
    PartitionState,
    Topic,
)
from kreplica.model.settings import MIN_ISR, UNCLEAN


class Unwritten(NamedTuple):
    """Settings of a controller that its log does not have."""

    min_isr: int
    unclean: bool


MOST_MIN_ISR = 8
"""Largest min.insync.replicas that is tried where the log has none; no partition has more replicas as a rule."""

ANY_UNWRITTEN = frozenset(
    Unwritten(number, unclean) for number in range(1, MOST_MIN_ISR + 1) for unclean in (False, True)
)


def engine_state(name: str, state: PartitionState) -> EngineState:
    """A partition as the engine has it; brokers of ISR and ELR without a replica come behind the others."""
    replicas = tuple(state.replicas)
    sets = (*state.isr, *state.elr, *state.last_known_elr)
    former = tuple(broker for broker in dict.fromkeys(sets) if broker not in replicas)
    places = {broker: 1 << place for place, broker in enumerate((*replicas, *former))}
    return EngineState(
        name,
        replicas,
        leader=replicas.index(state.leader) if state.leader in replicas else NO_LEADER,
        leader_epoch=state.leader_epoch,
        isr=sum(places[broker] for broker in {*state.isr}),
        partition_epoch=state.partition_epoch,
        elr=sum(places[broker] for broker in {*state.elr}),
        last_known_elr=sum(places[broker] for broker in {*state.last_known_elr}),
        recovering=state.recovery_state == RECOVERING,
        adding=tuple(state.adding),
        removing=tuple(state.removing),
        former=former,
    )


def brokers_of(image: MetadataImage) -> Brokers:
    """The brokers as a controller with this state knows them."""
    known = image.brokers.items()
    return Brokers(
        tuple(image.brokers),
        tuple(broker for broker, state in known if state.fenced),
        tuple(broker for broker, state in known if state.shutting_down),
    )


class PartitionFacts(NamedTuple):
    """Facts that decided on one partition at an offset, but for what the log does not say.

    Args:
        may_lead: Brokers that may lead it.
        min_isr: min.insync.replicas as the log has it; None where it does not.
        unclean: unclean.leader.election.enable as the log has it; None where it does not.
        first_replicas: Number of replicas of the topic's first partition.
        version: Rules of the release, with the features of the cluster.
    """

    may_lead: tuple[int, ...]
    min_isr: int | None
    unclean: bool | None
    first_replicas: int
    version: Version

    def circumstances(self, possible: frozenset[Unwritten]) -> Iterator[tuple[Circumstances, list[Unwritten]]]:
        """Each different set of facts that the settings outside the log make possible, with those that make it."""
        found: dict[Circumstances, list[Unwritten]] = {}
        for one in sorted(possible):
            found.setdefault(self._with(one), []).append(one)
        yield from found.items()

    def _with(self, unwritten: Unwritten) -> Circumstances:
        version = self.version
        min_isr = unwritten.min_isr if self.min_isr is None else self.min_isr
        unclean = unwritten.unclean if self.unclean is None else self.unclean
        return Circumstances(
            may_lead=self.may_lead,
            min_isr=effective_min_isr(min_isr, self.first_replicas) if version.elr else 1,
            elr_enabled=version.elr,
            unclean_enabled=unclean and version.unclean_setting_obeyed,
            awaited=version.moves_wait_for,
            rises_on_isr_shrink=version.epoch_rises_on_shrink,
            last_leader_must_be_back=version.last_leader_must_be_back,
            last_leader_noted_at_once=version.last_leader_noted_at_once,
        )


def facts_of(
    image: MetadataImage, version: Version, topic: Topic, number: int, state: PartitionState
) -> PartitionFacts:
    """The facts that decided on a partition before its state changed.

    Args:
        image: The cluster.
        version: The release's rules.
        topic: Its topic.
        number: Its index.
        state: The partition before the change: the image may have it as it is afterwards.
    """
    first = state if number == 0 else topic.partitions.get(0, state)
    min_isr, unclean = _setting(image.configs, topic.name, MIN_ISR), _setting(image.configs, topic.name, UNCLEAN)
    return PartitionFacts(
        may_lead=may_lead(image.brokers, state),
        min_isr=int(min_isr) if min_isr is not None and min_isr.isdecimal() else None,
        unclean=None if unclean is None else unclean.lower() == "true",
        first_replicas=len(first.replicas),
        version=version,
    )


def may_lead(brokers: Mapping[int, BrokerState], state: PartitionState) -> tuple[int, ...]:
    """Brokers of a partition that are active and whose log directory with it is online.

    ReplicationControlManager.LeaderAcceptor.
    """
    placed = dict(zip(state.replicas, state.directories, strict=False))
    return tuple(
        broker
        for broker, known in brokers.items()
        if not known.fenced and not known.shutting_down and is_online(known, placed.get(broker))
    )


def _setting(configs: Mapping[tuple[int, str], Mapping[str, str]], topic: str, name: str) -> str | None:
    """A topic's own setting, or the default of all brokers."""
    for resource in ((TOPIC_RESOURCE, topic), (BROKER_RESOURCE, "")):
        value = configs.get(resource, {}).get(name)
        if value is not None:
            return value
    return None
