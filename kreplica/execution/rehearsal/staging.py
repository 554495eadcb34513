"""The stage of a rehearsal: a snapshot's brokers, and the moves of a plan that can begin, some of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kreplica.engine.setup import KAFKAS_OWN, BrokerSetup, ProducerSetup, Setup, topic_of
from kreplica.errors import UsageError
from kreplica.execution.moves.plans.plan import require_own_snapshot
from kreplica.execution.moves.plans.safety import controller_of, judge, obstacle
from kreplica.execution.moves.plans.stage import Stage as ChangeStage
from kreplica.execution.moves.plans.stage import check_change
from kreplica.execution.plan import partition_facts
from kreplica.execution.rehearsal.kinds import ChosenMove, MoveKind, choose, kinds_of
from kreplica.execution.rehearsal.stage import Stage
from kreplica.model.wording.words import are, counted
from kreplica.scenarios.own_cluster import cluster_to_play

if TYPE_CHECKING:
    from kreplica.engine.settings import Value
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.moves.plans.plan import ReplicaPlan
    from kreplica.execution.plan import PartitionFacts, PartitionKey
    from kreplica.model.snapshot import ClusterSnapshot

MOST_MOVES = 50
"""Most moves that are played: a run plays every fetch of every replica."""

APPLICATIONS = "internal."
"""Before the name of a topic of Kafka's own: nothing reads what the producer writes as the records of coordinators."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A stage, and what is said of it.

    Args:
        stage: Cluster and plan.
        chosen: The moves that are played, in the order of the plan.
        kinds: Kinds of each move of the plan that can begin.
        remarks: Differences from the real cluster, and what is left out.
        unknown: Facts that the outcome depends on and the snapshot does not hold.
    """

    stage: Stage
    chosen: tuple[ChosenMove, ...]
    kinds: Mapping[PartitionKey, tuple[MoveKind, ...]]
    remarks: tuple[str, ...]
    unknown: tuple[str, ...]


def stage_of(
    snapshot: ClusterSnapshot,
    plan: ReplicaPlan,
    settings: Mapping[str, Value],
    kafka_version: str | None = None,
    most: int = MOST_MOVES,
) -> Staged:
    """The stage of a plan.

    Args:
        snapshot: The cluster that it was made for.
        plan: The plan.
        settings: Settings of the cluster, topics and producers; they win over the snapshot's.
        kafka_version: Version whose rules apply; that of the brokers if None.
        most: Most moves that are played.

    Raises:
        UsageError: The plan was made for another cluster, nothing of it can begin, or Kafka's version has to be named.
    """
    require_own_snapshot(plan, snapshot)
    facts = plan.facts
    if not plan.changes and plan.changed_directories:
        why = "it only changes log directories, of which a broker has one here"
        raise UsageError("the plan has nothing to rehearse", why, "look at it by kreplica rebalance apply")
    reasons = {change.key: _why_not(snapshot, facts[change.key], change) for change in plan.changes}
    able = [change for change in plan.changes if not reasons[change.key]]
    reasons |= judge(snapshot, able, controller_of(snapshot), plan.margin)
    able = [change for change in able if not reasons[change.key]]
    if not able:
        why = next((f"{topic}-{number}, {reason}" for (topic, number), reason in reasons.items()), "it changes nothing")
        raise UsageError("no move of the plan can begin", why, "make a new plan")
    kinds = {change.key: kinds_of(snapshot, change) for change in able}
    chosen = choose(able, kinds, most)
    own = cluster_to_play(snapshot, [snapshot.partition(*one.change.key) for one in chosen], kafka_version)
    played = _part_of(snapshot, plan, [one.change for one in chosen])
    setup, names = _renamed(_with_brokers(own.scenario.setup, snapshot, played.brokers))
    remarks = (*own.remarks, *_left_out(reasons), *_not_chosen(len(chosen), len(able)), *_within_brokers(plan))
    stage = Stage(setup.with_settings(settings), own.version, played, names)
    return Staged(stage, chosen, kinds, remarks, own.unknown)


def _why_not(snapshot: ClusterSnapshot, facts: PartitionFacts, change: ReplicaChange) -> str:
    """Reason why a move cannot begin on this cluster as it is; empty if it can."""
    check = check_change(snapshot, facts, change)
    if check.stage is ChangeStage.AFTER:
        return "it has its new replicas already"
    if check.stage is not ChangeStage.BEFORE:
        return check.reason or "it is moving already"
    return obstacle(snapshot, change.from_replicas, change)


def _part_of(snapshot: ClusterSnapshot, plan: ReplicaPlan, changes: Sequence[ReplicaChange]) -> ReplicaPlan:
    """The plan with those changes alone; topics have no ids on the stage."""
    facts = (partition_facts(snapshot, change.key) for change in changes)
    return replace(
        plan,
        changes=tuple(changes),
        made_from=tuple(replace(one, topic_id=None) for one in facts),
        inverse=tuple(change.inverse() for change in reversed(changes)),
        certificate=None,
        changed_directories=(),
    )


def _with_brokers(setup: Setup, snapshot: ClusterSnapshot, brokers: Sequence[int]) -> Setup:
    """The setup with those brokers alone: others take no part."""
    known = {broker.id: broker for broker in setup.brokers}
    kept = tuple(known.get(one, BrokerSetup(one, snapshot.racks.get(one, ""))) for one in brokers)
    away = {f"broker-{one}" for one in known if one not in brokers}
    return replace(setup, brokers=kept, down=tuple(node for node in setup.down if node not in away))


def _renamed(setup: Setup) -> tuple[Setup, dict[str, str]]:
    """The setup with other names for Kafka's own topics, one producer and no readers; the topics by these names."""
    names = {
        f"{APPLICATIONS}{topic.name}": topic.name for topic in setup.topics if topic.name.startswith(KAFKAS_OWN)
    }  # as HistoryKeeper and the coordinators know them
    played = {name: other for other, name in names.items()}
    topics = tuple(replace(topic, name=played.get(topic.name, topic.name)) for topic in setup.topics)
    writers = (client for client in setup.clients if isinstance(client, ProducerSetup))
    return replace(setup, topics=topics, clients=tuple(_writing_to(one, played) for one in writers)), names


def _writing_to(producer: ProducerSetup, played: Mapping[str, str]) -> ProducerSetup:
    def partition(name: str) -> str:
        topic = topic_of(name)
        return f"{played.get(topic, topic)}-{name.rpartition('-')[2]}"

    return replace(producer, sends=tuple(replace(send, partition=partition(send.partition)) for send in producer.sends))


def _left_out(reasons: Mapping[PartitionKey, str]) -> list[str]:
    counts: dict[str, list[str]] = {}
    for (topic, number), reason in reasons.items():
        if reason:
            counts.setdefault(reason, []).append(f"{topic}-{number}")
    return [
        f"{some[0]}{f' and {len(some) - 1} more are' if len(some) > 1 else ' is'} not played: {reason}"
        for reason, some in counts.items()
    ]


def _within_brokers(plan: ReplicaPlan) -> list[str]:
    number = len(plan.changed_directories)
    if not number:
        return []
    return [f"{counted(number, 'change')} of log directories {are(number)} not played: a broker has one here"]


def _not_chosen(chosen: int, able: int) -> list[str]:
    return [f"{chosen} of {able} moves {are(chosen)} played, each kind among them"] if chosen < able else []
