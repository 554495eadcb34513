"""A finding of a fleet rule: what was wrong in a cluster, from when to when, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kreplica.health.rules import Severity


class Certainty(StrEnum):
    """Certainty of a finding."""

    PROVED = "proved"
    """Explained by nothing else that Kafka does."""
    LIKELY = "likely"
    """Explained otherwise only by events that seldom happen."""
    POSSIBLE = "possible"
    """Explained as well by something harmless that was not seen."""

    @property
    def rank(self) -> int:
        """1 for the least, 3 for the surest."""
        return _RANKS[self]


_RANKS = {Certainty.POSSIBLE: 1, Certainty.LIKELY: 2, Certainty.PROVED: 3}


@dataclass(frozen=True, slots=True)
class FleetFinding:
    """One broken rule in a cluster's history. Times are milliseconds since the epoch, of snapshots or of records.

    A state lasts: it is seen from ``valid_from`` to ``last_seen``, and ``valid_to`` says otherwise. An event has
    happened after ``begun_after`` and not after ``valid_from``; its three times are one.

    Args:
        cluster: The cluster's label.
        rule: Name of the rule.
        severity: How bad.
        certainty: How sure.
        begun_after_ms: The last moment before it that says otherwise: it began after that one, and not after
            valid_from. None where nothing before it tells.
        valid_from_ms: The first moment that shows it.
        last_seen_ms: The last moment that shows it.
        valid_to_ms: The first later moment that says otherwise; None if none does.
        snapshots: How many snapshots lie in it, and can tell.
        longest_interval_ms: Longest time between two snapshots that lie in it.
        in_newest: Whether the newest snapshot that can tell shows it.
        message: The finding in words.
        topic: Topic, partition, broker and group that it is about, each None where it is not about one.
        partition: See ``topic``.
        broker: See ``topic``.
        group: See ``topic``.
        evidence: The facts behind it, as JSON has them.
        exact: Whether a metadata log tells all of its time: its borders are those of records.
    """

    cluster: str
    rule: str
    severity: Severity
    certainty: Certainty
    begun_after_ms: int | None
    valid_from_ms: int
    last_seen_ms: int
    valid_to_ms: int | None
    snapshots: int
    longest_interval_ms: int
    in_newest: bool
    message: str
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    group: str | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)
    exact: bool = False

    @property
    def key(self) -> tuple[str | None, int | None, int | None, str | None]:
        """Topic, partition, broker and group."""
        return self.topic, self.partition, self.broker, self.group

    @property
    def is_event(self) -> bool:
        """True if it has happened and does not last."""
        return self.valid_from_ms == self.last_seen_ms == self.valid_to_ms


def finding_order(one: FleetFinding) -> tuple[object, ...]:
    """Sorts the most severe first, then by cluster, rule, key and time."""
    key = (one.topic or "", -1 if one.partition is None else one.partition)
    more = (-1 if one.broker is None else one.broker, one.group or "")
    return (-one.severity.rank, one.cluster, one.rule, *key, *more, one.valid_from_ms, one.message)
