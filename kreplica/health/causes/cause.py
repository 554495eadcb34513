"""Causes that can keep a replica out of the ISR, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class CauseKind(Enum):
    """Kinds of causes that keep a replica out of the ISR; the values are fixed names in JSON."""

    BROKER_GONE = "broker-gone"
    BROKER_FENCED = "broker-fenced"
    LOG_DIRECTORY_OFFLINE = "log-directory-offline"
    REPLICA_OFFLINE = "replica-offline"
    REASSIGNMENT = "reassignment"
    NO_LEADER = "no-leader"
    THROTTLE = "throttle"
    BROKER_OUT = "broker-out"
    SLOW_LEADER = "slow-leader"
    SLOW_FOLLOWER = "slow-follower"
    LEADER_TO_FOLLOWER = "leader-to-follower"


KINDS: tuple[CauseKind, ...] = tuple(CauseKind)
"""Kinds by their code: their position here."""

UNKNOWN = -1
"""The code of a replica whose cause the facts do not single out."""

LEADER_MATTERS = frozenset({CauseKind.THROTTLE, CauseKind.SLOW_LEADER, CauseKind.LEADER_TO_FOLLOWER})
"""Kinds that also concern the leader, so that a row names it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of one missing replica.

    Args:
        kind: What keeps it out.
        broker: The missing replica's broker.
        leader: The leader it follows, where the kind also concerns the leader.
        since: When the broker was last heard of, ISO 8601; None if not known.
        evidence: The facts behind it by name.
    """

    kind: CauseKind
    broker: int
    leader: int | None = None
    since: str | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)

    def as_row(self) -> dict[str, object]:
        """The form of the ``causes`` field; what is not known has no key."""
        row: dict[str, object] = {"kind": self.kind.value, "broker": self.broker}
        if self.leader is not None:
            row["leader"] = self.leader
        if self.since is not None:
            row["since"] = self.since
        return row | ({"evidence": dict(self.evidence)} if self.evidence else {})


@dataclass(frozen=True, slots=True)
class NotKnown:
    """A missing replica whose cause the facts do not single out.

    Args:
        broker: Its broker.
        leader: The leader it follows; None if there is none or it is not known.
        candidates: Kinds that the facts do not rule out.
        read: What to read next.
    """

    broker: int
    leader: int | None
    candidates: tuple[CauseKind, ...]
    read: str

    def as_row(self) -> dict[str, object]:
        """The form of the ``not_known`` field."""
        return {
            "broker": self.broker,
            "leader": self.leader,
            "candidates": [kind.value for kind in self.candidates],
            "read": self.read,
        }
