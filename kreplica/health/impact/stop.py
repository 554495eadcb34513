"""Judgement of stopping brokers: the impact on their partitions and on the controller quorum.

Safe means that nothing gets worse and that nothing that is bad already waits for these brokers: a partition that is
under min ISR, or without a leader, and has a replica on one of them counts against it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kreplica.engine.projection.failure import StoppedBrokers, stop_brokers
from kreplica.health.quorum import Quorum, quorum_without
from kreplica.model import predicates as known
from kreplica.model.columns import Column, Indices, Mask
from kreplica.model.evaluate import Evaluator
from kreplica.model.expressions import Expression
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode

RF_ONE = "rf-one"
"""Accepts any effect on partitions with one replica; the rule of that name finds them."""


OUT_OF_SYNC = "out of sync already"


class Effect(StrEnum):
    """Effects of stopping brokers on a partition, or on the cluster."""

    UNDER_MIN_ISR = "under_min_isr"
    UNAVAILABLE = "unavailable"
    LAST_IN_SYNC = "last_in_sync"
    QUORUM_LOST = "quorum_lost"


PREDICATES: dict[Effect, Expression] = {
    Effect.UNDER_MIN_ISR: known.UNDER_MIN_ISR_BROKER.expression,
    Effect.UNAVAILABLE: known.UNAVAILABLE.expression,
}
"""Effects that are predicates, true afterwards."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Effects that the user accepts.

    Args:
        rf_one: Effects on partitions with one replica.
        topics: Effects on topics whose whole name matches; None for none.
    """

    rf_one: bool = False
    topics: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Consequence:
    """One effect on one partition; on none for ``quorum_lost``.

    Args:
        topic: Topic, None for the quorum.
        partition: Partition, None for the quorum.
        effect: The effect.
        already: True if it is so already.
        accepted: Option that accepted it: ``rf-one`` or ``topic``; None if nothing did.
        reason: Why there is no room for the stop.
        waiting_helps: Whether replicas that come back would make room.
        out_of_sync: Replicas that are out of sync already, where these are the reason.
        leader: Leader now, None for none.
        leader_after: Leader afterwards, None for none.
        replicas: The assignment.
        isr: In sync now.
        isr_after: In sync afterwards.
        min_isr: min.insync.replicas, None where not known.
    """

    topic: str | None
    partition: int | None
    effect: Effect
    already: bool
    accepted: str | None
    reason: str
    waiting_helps: bool
    out_of_sync: Sequence[int] = ()
    leader: int | None = None
    leader_after: int | None = None
    replicas: Sequence[int] | None = None
    isr: Sequence[int] | None = None
    isr_after: Sequence[int] | None = None
    min_isr: int | None = None


@dataclass(frozen=True, slots=True)
class StopJudgement:
    """Effects of stopping some brokers.

    Args:
        brokers: Those asked about that are up.
        down: Those asked about that are down already: stopping them changes no partition.
        partitions: Number of partitions with a replica on the brokers that are up.
        consequences: Partitions in order of topic and partition, the quorum first.
        quorum: None with ZooKeeper, and where not known.
        at_min_isr: Partitions that would be exactly at min ISR and are not now: one more failure and writes fail.
        unknown: What cannot be known and could make the stop unsafe, one clause each.
    """

    brokers: tuple[int, ...]
    down: tuple[int, ...]
    partitions: int
    consequences: tuple[Consequence, ...]
    quorum: Quorum | None
    at_min_isr: int
    unknown: tuple[str, ...]

    @property
    def against(self) -> tuple[Consequence, ...]:
        """The consequences that nobody accepted."""
        return tuple(item for item in self.consequences if item.accepted is None)


def judge_stop(snapshot: ClusterSnapshot, brokers: Collection[int], accepted: Accepted) -> StopJudgement:
    """Judges stopping brokers together.

    Args:
        snapshot: The cluster, with topics' min.insync.replicas and with the quorum.
        brokers: Ids of brokers, or of controllers that are none.
        accepted: What does not count against the stop.
    """
    nodes = sorted(set(brokers))
    controllers = {node for node in nodes if _only_controller(snapshot, node)}
    down = tuple(node for node in nodes if snapshot.is_alive(node) is False and node not in controllers)
    up = tuple(node for node in nodes if node not in down)
    stopped = stop_brokers(snapshot, up)
    quorum = quorum_without(snapshot, nodes)
    return StopJudgement(
        brokers=up,
        down=down,
        partitions=len(stopped.rows),
        consequences=(*_of_quorum(quorum, up), *_of_partitions(stopped, up, accepted)),
        quorum=quorum,
        at_min_isr=_newly_at_min_isr(stopped),
        unknown=(*_unknown_quorum(snapshot, quorum), *_unknown_partitions(stopped, accepted)),
    )


def _only_controller(snapshot: ClusterSnapshot, node: int) -> bool:
    return node in snapshot.quorum["node"].to_list() and node not in snapshot.brokers["broker"].to_list()


def _of_quorum(quorum: Quorum | None, brokers: Sequence[int]) -> Iterator[Consequence]:
    """Reports a lost majority: no leader can then be elected in place of any broker, voter or not."""
    if quorum is not None and quorum.lost and (quorum.stopping or brokers):
        already = quorum.up < quorum.needed
        reason = f"{quorum.up_after} of {len(quorum.voters)} voters would be up, {quorum.needed} are needed"
        room = len(quorum.voters) - len(quorum.stopping) >= quorum.needed
        yield Consequence(None, None, Effect.QUORUM_LOST, already, None, reason, waiting_helps=room)


def _of_partitions(stopped: StoppedBrokers, brokers: Sequence[int], accepted: Accepted) -> list[Consequence]:
    before, after = Evaluator(stopped.before), Evaluator(stopped.after)
    listing = _Listing(stopped, before, after, brokers, accepted)
    found = []
    for effect, expression in PREDICATES.items():
        held = before.boolean(expression).is_true()
        found += listing.of(effect, after.boolean(expression).is_true(), held)
    nobody = before.boolean(known.OFFLINE.expression).is_true()
    found += listing.of(Effect.LAST_IN_SYNC, stopped.last_in_sync, nobody)
    order = {effect: number for number, effect in enumerate(Effect)}
    return sorted(found, key=lambda item: (item.topic or "", item.partition or 0, order[item.effect]))


class _Listing:
    """Makes consequences from rows; facts are looked up once for all effects."""

    def __init__(
        self,
        stopped: StoppedBrokers,
        before: Evaluator,
        after: Evaluator,
        brokers: Sequence[int],
        accepted: Accepted,
    ) -> None:
        self._before, self._after = before, after
        self._stopping = set(brokers)
        self._accepted = accepted
        self._one_replica = before.boolean(known.ONE_REPLICA).is_true()
        self._snapshots = stopped.before, stopped.after

    def of(self, effect: Effect, holds: Mask, held: Mask) -> list[Consequence]:
        """Consequences of the rows for which the effect holds; ``held`` says where it does already."""
        rows = np.flatnonzero(holds)
        facts = zip(*self._facts(rows), held[rows].tolist(), self._one_replica[rows].tolist(), strict=True)
        return [self._consequence(effect, *fact) for fact in facts]

    def _facts(self, rows: Indices) -> list[list[object]]:
        before, after = self._snapshots
        columns: list[Column] = [before.strings("topic"), before.integers("partition"), before.integers("leader")]
        columns += [after.integers("leader"), before.lists("replicas"), before.lists("isr"), after.lists("isr")]
        columns += [before.integers("min_isr"), self._before.list(known.MISSING)]
        return [list(column.take(rows).to_list()) for column in columns]

    def _consequence(  # noqa: PLR0913
        self, effect: Effect, topic: str, partition: int, leader: int | None, leader_after: int | None,
        replicas: list[int], isr: list[int], isr_after: list[int], min_isr: int | None, missing: list[int],
        already: bool, one_replica: bool,
    ) -> Consequence:  # fmt: skip
        reason, waiting_helps, out_of_sync = self._reason(
            effect, replicas, missing, min_isr or 1, one_replica=one_replica
        )
        return Consequence(
            topic, partition, effect, already, self._acceptance(topic, one_replica=one_replica), reason, waiting_helps,
            out_of_sync, None if leader == -1 else leader, None if leader_after == -1 else leader_after,
            replicas, isr, isr_after, min_isr,
        )  # fmt: skip

    def _acceptance(self, topic: str, *, one_replica: bool) -> str | None:
        if one_replica and self._accepted.rf_one:
            return RF_ONE
        pattern = self._accepted.topics
        return "topic" if pattern is not None and pattern.fullmatch(topic) else None

    def _reason(
        self, effect: Effect, replicas: list[int], missing: list[int], min_isr: int, *, one_replica: bool
    ) -> tuple[str, bool, Sequence[int]]:
        """Why there is no room, whether replicas coming back would make enough, and which replicas these are."""
        staying = [broker for broker in replicas if broker not in self._stopping]
        waiting_helps = len(staying) >= min_isr
        if len(staying) >= (min_isr if effect is Effect.UNDER_MIN_ISR else 1):
            brokers = ", ".join(map(str, sorted(missing)))
            return f"{OUT_OF_SYNC}: broker{'s' * (len(missing) > 1)} {brokers}", waiting_helps, missing
        if one_replica:
            return "one replica only", False, ()
        if not staying:
            return "every replica is on these brokers", False, ()
        return f"min.insync.replicas {min_isr} of {len(replicas)} replicas leaves no room", False, ()


def _newly_at_min_isr(stopped: StoppedBrokers) -> int:
    before, after = (
        Evaluator(one).boolean(known.AT_MIN_ISR.expression).is_true() for one in (stopped.before, stopped.after)
    )
    return int((after & ~before).sum())


def _unknown_quorum(snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    if quorum is None and snapshot.mode is not MetadataMode.ZOOKEEPER:
        yield "the controller quorum is not known, so whether it keeps its majority is not either"


def _unknown_partitions(stopped: StoppedBrokers, accepted: Accepted) -> Iterator[str]:
    after = Evaluator(stopped.after)
    counted = ~taken_into_account(stopped.before, accepted)
    unknown = after.boolean(known.UNDER_MIN_ISR_BROKER.expression).is_null() & counted
    if unknown.any():
        yield f"min.insync.replicas or the leader of {int(unknown.sum())} partitions on these brokers is not known"
    doubtful = after.boolean(known.UNAVAILABLE.expression).is_null() & ~unknown & counted
    if doubtful.any():
        yield f"whether the next leaders of {int(doubtful.sum())} partitions are alive is not known"


def taken_into_account(snapshot: ClusterSnapshot, accepted: Accepted) -> Mask:
    """Partitions the user asked to ignore."""
    topics = snapshot.strings("topic")
    pattern = accepted.topics
    matching = [pattern is not None and pattern.fullmatch(name) is not None for name in topics.dictionary]
    taken = np.array([*matching, False], dtype=np.bool_)[topics.codes]
    one_replica = Evaluator(snapshot).boolean(known.ONE_REPLICA).is_true()
    return taken | one_replica if accepted.rf_one else taken
