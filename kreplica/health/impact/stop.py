"""Judgement of stopping brokers: the impact on their partitions and on the controller quorum.

Safe means that nothing gets worse and that nothing that is bad already waits for these brokers: a partition that is
under min ISR, or without a leader, and has a replica on one of them counts against it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.engine.projection.failure import StoppedBrokers, stop_brokers
from kreplica.health.impact.vocabulary import (
    PREDICATES,
    STOP_IMPACTS,
    Impact,
    PartitionImpact,
    held_in,
    is_null,
    is_true,
    quorum_not_known,
)
from kreplica.health.quorum import Quorum, quorum_without
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Column, Indices, Mask
from kreplica.model.wording.words import are, counted, named

RF_ONE = "rf-one"
"""Accepts any impact on partitions with one replica; the rule of that name finds them."""


OUT_OF_SYNC = "out of sync already"


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
class StopJudgement:
    """Effects of stopping some brokers.

    Args:
        brokers: Those asked about that are up.
        down: Those asked about that are down already: stopping them changes no partition.
        partitions: Number of partitions with a replica on the brokers that are up.
        impacts: Partitions in order of topic and partition, the quorum first.
        quorum: None with ZooKeeper, and where not known.
        at_min_isr: Partitions that would be exactly at min ISR and are not now: one more failure and writes fail.
        unknown: What cannot be known and could make the stop unsafe, one clause each.
    """

    brokers: tuple[int, ...]
    down: tuple[int, ...]
    partitions: int
    impacts: tuple[PartitionImpact, ...]
    quorum: Quorum | None
    at_min_isr: int
    unknown: tuple[str, ...]

    @property
    def against(self) -> tuple[PartitionImpact, ...]:
        """The impacts that nobody accepted."""
        return tuple(item for item in self.impacts if item.accepted is None)


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
        impacts=(*_of_quorum(quorum, up), *_of_partitions(stopped, up, accepted)),
        quorum=quorum,
        at_min_isr=_newly_at_min_isr(stopped),
        unknown=(*_unknown_quorum(snapshot, quorum), *_unknown_partitions(stopped, accepted)),
    )


def _only_controller(snapshot: ClusterSnapshot, node: int) -> bool:
    return node in snapshot.quorum["node"].to_list() and node not in snapshot.brokers["broker"].to_list()


def _of_quorum(quorum: Quorum | None, brokers: Sequence[int]) -> Iterator[PartitionImpact]:
    """Reports a lost majority: no leader can then be elected in place of any broker, voter or not."""
    if quorum is not None and quorum.lost and (quorum.stopping or brokers):
        already = quorum.up < quorum.needed
        voters = counted(len(quorum.voters), "voter")
        reason = f"{quorum.up_after} of {voters} would be up, {quorum.needed} {are(quorum.needed)} needed"
        room = len(quorum.voters) - len(quorum.stopping) >= quorum.needed
        yield PartitionImpact(None, None, Impact.QUORUM_LOST, already, None, reason, waiting_helps=room)


def _of_partitions(stopped: StoppedBrokers, brokers: Sequence[int], accepted: Accepted) -> list[PartitionImpact]:
    listing = _Listing(stopped, brokers, accepted)
    found = []
    held, holds = held_in(stopped.before), held_in(stopped.after)
    for impact in PREDICATES:
        found += listing.of(impact, holds[impact], held[impact])
    found += listing.of(Impact.LAST_IN_SYNC, stopped.last_in_sync, is_true(stopped.before, known.OFFLINE))
    order = {impact: number for number, impact in enumerate(STOP_IMPACTS)}
    return sorted(found, key=lambda item: (item.topic or "", item.partition or 0, order[item.effect]))


class _Listing:
    """Makes impacts from rows; facts are looked up once for all impacts."""

    def __init__(self, stopped: StoppedBrokers, brokers: Sequence[int], accepted: Accepted) -> None:
        self._before = Evaluator(stopped.before)
        self._stopping = set(brokers)
        self._accepted = accepted
        self._one_replica = self._before.boolean(known.ONE_REPLICA).is_true()
        self._snapshots = stopped.before, stopped.after

    def of(self, impact: Impact, holds: Mask, held: Mask) -> list[PartitionImpact]:
        """Impacts on the rows for which it holds; ``held`` says where it does already."""
        rows = np.flatnonzero(holds)
        facts = zip(*self._facts(rows), held[rows].tolist(), self._one_replica[rows].tolist(), strict=True)
        return [self._impact(impact, *fact) for fact in facts]

    def _facts(self, rows: Indices) -> list[list[object]]:
        before, after = self._snapshots
        columns: list[Column] = [before.strings("topic"), before.integers("partition"), before.integers("leader")]
        columns += [after.integers("leader"), before.lists("replicas"), before.lists("isr"), after.lists("isr")]
        columns += [before.integers("min_isr"), self._before.list(known.MISSING)]
        return [list(column.take(rows).to_list()) for column in columns]

    def _impact(  # noqa: PLR0913
        self, impact: Impact, topic: str, partition: int, leader: int | None, leader_after: int | None,
        replicas: list[int], isr: list[int], isr_after: list[int], min_isr: int | None, missing: list[int],
        already: bool, one_replica: bool,
    ) -> PartitionImpact:  # fmt: skip
        reason, waiting_helps, out_of_sync = self._reason(
            impact, replicas, missing, min_isr or 1, one_replica=one_replica
        )
        return PartitionImpact(
            topic, partition, impact, already, self._acceptance(topic, one_replica=one_replica), reason, waiting_helps,
            out_of_sync, None if leader == -1 else leader, None if leader_after == -1 else leader_after,
            replicas, isr, isr_after, min_isr,
        )  # fmt: skip

    def _acceptance(self, topic: str, *, one_replica: bool) -> str | None:
        if one_replica and self._accepted.rf_one:
            return RF_ONE
        pattern = self._accepted.topics
        return "topic" if pattern is not None and pattern.fullmatch(topic) else None

    def _reason(
        self, impact: Impact, replicas: list[int], missing: list[int], min_isr: int, *, one_replica: bool
    ) -> tuple[str, bool, Sequence[int]]:
        """Why there is no room, whether replicas coming back would make enough, and which replicas these are."""
        staying = [broker for broker in replicas if broker not in self._stopping]
        waiting_helps = len(staying) >= min_isr
        if len(staying) >= (min_isr if impact is Impact.UNDER_MIN_ISR else 1):
            return f"{OUT_OF_SYNC}: {named('broker', sorted(missing))}", waiting_helps, missing
        if one_replica:
            return "one replica only", False, ()
        if not staying:
            return "every replica is on these brokers", False, ()
        return f"min.insync.replicas {min_isr} of {len(replicas)} replicas leaves no room", False, ()


def _newly_at_min_isr(stopped: StoppedBrokers) -> int:
    return int((is_true(stopped.after, known.AT_MIN_ISR) & ~is_true(stopped.before, known.AT_MIN_ISR)).sum())


def _unknown_quorum(snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    if quorum_not_known(snapshot, quorum):
        yield "the controller quorum is not known, so whether it keeps its majority is not either"


def _unknown_partitions(stopped: StoppedBrokers, accepted: Accepted) -> Iterator[str]:
    judged = ~taken_into_account(stopped.before, accepted)
    unknown = is_null(stopped.after, known.UNDER_MIN_ISR_BROKER) & judged
    if unknown.any():
        partitions = counted(int(unknown.sum()), "partition")
        yield f"min.insync.replicas or the leader of {partitions} on these brokers is not known"
    doubtful = is_null(stopped.after, known.UNAVAILABLE) & ~unknown & judged
    if doubtful.any():
        partitions = counted(int(doubtful.sum()), "partition")
        yield f"whether the next leaders of {partitions} are alive is not known"


def taken_into_account(snapshot: ClusterSnapshot, accepted: Accepted) -> Mask:
    """Partitions the user asked to ignore."""
    topics = snapshot.strings("topic")
    pattern = accepted.topics
    matching = [pattern is not None and pattern.fullmatch(name) is not None for name in topics.dictionary]
    taken = np.array([*matching, False], dtype=np.bool_)[topics.codes]
    one_replica = Evaluator(snapshot).boolean(known.ONE_REPLICA).is_true()
    return taken | one_replica if accepted.rf_one else taken
