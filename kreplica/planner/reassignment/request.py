"""Request: the reasons to move replicas, in the order given, with what they may touch and how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ReasonKind(StrEnum):
    """Reasons to move replicas."""

    REPAIR = "repair"
    RACK_AWARE = "rack-aware"
    DRAIN = "drain"
    ADD = "add"
    REPLICATION_FACTOR = "replication-factor"
    BALANCE = "balance"
    RELIEVE = "relieve"


class Measure(StrEnum):
    """Loads of brokers that a balance makes equal."""

    COUNT = "count"
    TOPIC = "topic"
    LEADERS = "leaders"
    BYTES = "bytes"
    WEIGHTS = "weights"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason to move replicas.

    Args:
        kind: The reason.
        brokers: Brokers to repair, to drain, to add or to relieve.
        dead_for: Seconds that brokers have been down at least that are repaired, in place of their names.
        measure: The load that a balance makes equal.
        replication_factor: The wanted number of replicas of each partition in scope.
        directory: Log directory to relieve, None for the whole broker.
        to_used: Share of the disk that may be used afterwards, 0 to 1, where a broker is relieved.
    """

    kind: ReasonKind
    brokers: tuple[int, ...] = ()
    measure: Measure | None = None
    replication_factor: int | None = None
    directory: str | None = None
    to_used: float | None = None
    dead_for: float | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """Reasons in the order given, their scope and their limits.

    Args:
        reasons: Why replicas are to move; the first counts most.
        to: Brokers that may receive replicas; empty for every one.
        excluded_brokers: Brokers that receive nothing and keep what they have; means are taken without them.
        topics: Expression over topic names as of ``--topic``; None for all. A balance is that of these topics.
        excluded_topics: Expression over the names of topics that are left out.
        max_moves: Most replicas that are added.
        max_bytes: Most bytes that are copied.
        max_leader_changes: Most partitions that change their preferred leader.
        max_disk_used: Greatest share of a log directory's volume in use, 0 to 1; None where it does not matter.
        weights: A load of each partition for a balance by weights.
        seed: Decides between what is equally good.
        prove: Solve moves and bytes exactly, which needs the extra ``plan``.
    """

    reasons: tuple[Reason, ...]
    to: tuple[int, ...] = ()
    excluded_brokers: tuple[int, ...] = ()
    topics: str | None = None
    excluded_topics: str | None = None
    max_moves: int | None = None
    max_bytes: int | None = None
    max_leader_changes: int | None = None
    max_disk_used: float | None = None
    weights: Mapping[tuple[str, int], int] = field(default_factory=dict)
    seed: int = 0
    prove: bool = False

    def brokers_of(self, *kinds: ReasonKind) -> tuple[int, ...]:
        """Brokers that reasons of these kinds name, in order of ids."""
        return tuple(sorted({broker for reason in self.reasons if reason.kind in kinds for broker in reason.brokers}))

    def has(self, kind: ReasonKind) -> bool:
        """True if one of the reasons is of that kind."""
        return any(reason.kind is kind for reason in self.reasons)

    def balances(self, measure: Measure) -> bool:
        """True if one of the reasons is to balance that load."""
        return any(reason.kind is ReasonKind.BALANCE and reason.measure is measure for reason in self.reasons)

    @property
    def dead_for(self) -> float | None:
        """Seconds that brokers have to be down to be repaired, None where they are named."""
        return next((reason.dead_for for reason in self.reasons if reason.dead_for is not None), None)

    @property
    def replication_factor(self) -> int | None:
        """The wanted number of replicas, None where it stays as it is."""
        wanted = [reason.replication_factor for reason in self.reasons if reason.replication_factor is not None]
        return wanted[-1] if wanted else None
