"""Kinds of moves, and the moves of a plan that are played: some of each kind, the largest first. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.execution.moves.plans.change import ReplicaChange
    from kreplica.execution.plan import PartitionKey
    from kreplica.model.snapshot import ClusterSnapshot


class MoveKind(StrEnum):
    """Kinds of moves; the first six exclude each other, a move may be of several of the others."""

    ADDS = "adds"
    REMOVES = "removes"
    REPLACES_ONE = "replaces-one"
    REPLACES_SEVERAL = "replaces-several"
    REPLACES_ALL = "replaces-all"
    ORDER = "order"
    FACTOR_UP = "factor-up"
    FACTOR_DOWN = "factor-down"
    LEADER = "leader"
    ONE_REPLICA = "one-replica"
    MIN_ISR_IS_RF = "min-isr-is-rf"
    MIN_ISR_1 = "min-isr-1"
    UNCLEAN = "unclean"
    OUT_OF_SYNC = "out-of-sync"
    OTHER_RACKS = "other-racks"
    INTERNAL = "internal"


KIND_WORDS: Mapping[MoveKind, str] = {
    MoveKind.ADDS: "only adds replicas",
    MoveKind.REMOVES: "only removes replicas",
    MoveKind.REPLACES_ONE: "replaces one replica",
    MoveKind.REPLACES_SEVERAL: "replaces several replicas, and keeps some",
    MoveKind.REPLACES_ALL: "replaces all replicas",
    MoveKind.ORDER: "changes the order alone",
    MoveKind.FACTOR_UP: "raises the replication factor",
    MoveKind.FACTOR_DOWN: "lowers the replication factor",
    MoveKind.LEADER: "changes the preferred leader",
    MoveKind.ONE_REPLICA: "has one replica before or afterwards",
    MoveKind.MIN_ISR_IS_RF: "has a min.insync.replicas as high as its replicas",
    MoveKind.MIN_ISR_1: "has a min.insync.replicas of 1 and several replicas",
    MoveKind.UNCLEAN: "has unclean leader elections enabled",
    MoveKind.OUT_OF_SYNC: "has a replica out of sync",
    MoveKind.OTHER_RACKS: "has replicas in other racks afterwards",
    MoveKind.INTERNAL: "is of Kafka's own topics",
}
"""Kinds in words, of which a partition is the subject."""


@dataclass(frozen=True, slots=True)
class ChosenMove:
    """A move that is played.

    Args:
        change: The move.
        kinds: Its kinds, in their order.
        chosen_for: The kind of which it was chosen.
    """

    change: ReplicaChange
    kinds: tuple[MoveKind, ...]
    chosen_for: MoveKind


def kinds_of(snapshot: ClusterSnapshot, change: ReplicaChange) -> tuple[MoveKind, ...]:
    """Kinds of a move, in their order.

    Args:
        snapshot: A cluster that has its partition.
        change: The move.
    """
    row = snapshot.partition(*change.key)
    before, after = change.from_replicas, change.to_replicas
    min_isr, fewest = row["min_isr"], min(len(before), len(after))
    racks = [sorted(snapshot.racks.get(broker, "") for broker in replicas) for replicas in (before, after)]
    isr = row["isr"]
    assert isinstance(isr, list | tuple), isr
    held = {
        _shape(change): True,
        MoveKind.FACTOR_UP: len(after) > len(before),
        MoveKind.FACTOR_DOWN: len(after) < len(before),
        MoveKind.LEADER: before[0] != after[0],
        MoveKind.ONE_REPLICA: fewest == 1,
        MoveKind.MIN_ISR_IS_RF: isinstance(min_isr, int) and min_isr >= fewest > 1,
        MoveKind.MIN_ISR_1: min_isr == 1 < fewest,
        MoveKind.UNCLEAN: row["unclean_leader_election"] is True,
        MoveKind.OUT_OF_SYNC: not set(before) <= set(isr),
        MoveKind.OTHER_RACKS: racks[0] != racks[1],
        MoveKind.INTERNAL: row["internal"] is True,
    }
    return tuple(kind for kind in MoveKind if held.get(kind))


def _shape(change: ReplicaChange) -> MoveKind:
    adding, removing = change.adding, change.removing
    if not adding:
        return MoveKind.REMOVES if removing else MoveKind.ORDER
    if not removing:
        return MoveKind.ADDS
    if len(removing) == len(change.from_replicas):
        return MoveKind.REPLACES_ALL
    return MoveKind.REPLACES_ONE if len(adding) == len(removing) == 1 else MoveKind.REPLACES_SEVERAL


def choose(
    changes: Sequence[ReplicaChange], kinds: Mapping[PartitionKey, Sequence[MoveKind]], most: int
) -> tuple[ChosenMove, ...]:
    """Moves that are played, in the order of the plan: of each kind in turn the largest, the rarest kind first.

    Args:
        changes: The plan's, in order.
        kinds: Kinds of each.
        most: Most moves that are played; with as many as there are kinds each kind is.
    """
    of_kind = {kind: [one for one in changes if kind in kinds[one.key]] for kind in MoveKind}
    rarest = sorted((kind for kind in MoveKind if of_kind[kind]), key=lambda kind: len(of_kind[kind]))
    waiting = {kind: sorted(of_kind[kind], key=_largest_first, reverse=True) for kind in rarest}
    chosen: dict[PartitionKey, MoveKind] = {}
    while len(chosen) < most and any(waiting.values()):
        for kind in rarest:
            _next(waiting[kind], chosen)
            if not waiting[kind] or len(chosen) == most:
                continue
            chosen[waiting[kind].pop().key] = kind
    return tuple(ChosenMove(one, tuple(kinds[one.key]), chosen[one.key]) for one in changes if one.key in chosen)


def _next(waiting: list[ReplicaChange], chosen: Mapping[PartitionKey, MoveKind]) -> None:
    """Drops those that were chosen of another kind meanwhile."""
    while waiting and waiting[-1].key in chosen:
        waiting.pop()


def _largest_first(change: ReplicaChange) -> tuple[int, PartitionKey]:
    return -(change.size or 0), change.key
