"""An incident: one cause, from when to when, and the findings behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.incidents.ids import id_of
from kreplica.fleet.incidents.packed import Summary, packed
from kreplica.health.causes.cause import CauseKind
from kreplica.health.rules import Severity


class IncidentKind(StrEnum):
    """Kinds of causes over time, beside those that describe names for a moment and the names of fleet rules."""

    BROKER_DOWN = "broker-down"
    RACK_DOWN = "rack-down"
    NETWORK_HALF = "network-half"
    BROKERS_DOWN = "brokers-down"
    FULL_DISK = "full-disk"
    LOG_DIRECTORY_OFFLINE = "log-directory-offline"
    SETTING = "setting"
    CONTROLLER_MOVED = "controller-moved"
    ROLLING_RESTART = "rolling-restart"
    REASSIGNMENT = "reassignment"


PLANNED = frozenset({IncidentKind.ROLLING_RESTART.value, IncidentKind.REASSIGNMENT.value})
"""Kinds that somebody meant: they are named, and are no incidents."""

LOST = frozenset({CauseKind.BROKER_GONE.value, CauseKind.BROKER_FENCED.value})
"""Causes of describe that are told as brokers that are down."""
MUTABLE_KINDS = frozenset({*map(str, IncidentKind), *(one.value for one in CauseKind)}) - PLANNED - LOST
"""Kinds of incidents that can be muted; of one that is named by a fleet rule that rule is."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the cluster, after one moment and not after another; milliseconds since the epoch."""

    kind: str
    after_ms: int
    at_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class Incident:
    """One cause and what it explains. It began after ``begun_after_ms`` and not after ``valid_from_ms``.

    Args:
        cluster: The cluster's label.
        kind: An IncidentKind, a cause of describe, or the name of a fleet rule.
        key: Name of what it concerns: ``broker 3``, ``rack r2``.
        certainty: How sure the cause is.
        begun_after_ms: The last moment before it that says otherwise; None where nothing before it tells.
        valid_from_ms: The first moment that shows it.
        last_seen_ms: The last moment that shows it.
        valid_to_ms: The first later moment that says otherwise; None if none does.
        brokers: The brokers that it concerns.
        findings: The findings behind it that count, the most severe first.
        muted: Those that do not count because they are muted.
        left: Those of them that the newest snapshot shows although the cause is over.
        changed: Differences from before, once the cause is over; empty where all is as it was, None while it lasts.
        compared_ms: The moment of which that is said: the last one, before another cause concerns the same brokers.
        before: Changes of the cluster before it began, the last ones first.
        evidence: The facts behind it, as JSON has them.
        exact: Whether a metadata log tells all of its time: its borders are those of records.
        is_silenced: Whether its kind is muted.
    """

    cluster: str
    kind: str
    key: str
    certainty: Certainty
    begun_after_ms: int | None
    valid_from_ms: int
    last_seen_ms: int
    valid_to_ms: int | None
    brokers: tuple[int, ...] = ()
    findings: Sequence[FleetFinding] = ()
    muted: Sequence[FleetFinding] = ()
    left: Sequence[FleetFinding] = ()
    changed: Sequence[str] | None = None
    compared_ms: int | None = None
    before: Sequence[Change] = ()
    evidence: Mapping[str, object] = field(default_factory=dict)
    exact: bool = False
    is_silenced: bool = False

    @property
    def id(self) -> str:
        """Name that stays the same however often the history is read: of cluster, cause, key and begin."""
        return id_of(self.cluster, self.kind, self.key, self.valid_from_ms)

    @property
    def is_planned(self) -> bool:
        """True if somebody meant it, so that it is no incident."""
        return self.kind in PLANNED

    @property
    def is_muted(self) -> bool:
        """True if its kind is muted, or all behind it but for what is only worth knowing; never of what was planned."""
        if self.is_silenced or not self.muted or self.is_planned:
            return self.is_silenced
        worst = Summary.of(self.findings).worst
        return worst is None or worst < Severity.WARNING

    def without(self, hidden: Collection[tuple[str, str, str | None]]) -> Incident:
        """The same with the findings muted that some mute covers.

        Args:
            hidden: Cluster, rule and topic of these.
        """
        if not hidden:
            return self
        counting, muted, left = list[FleetFinding](), list(self.muted), list[FleetFinding]()
        for one in self.findings:
            (muted if _key(one) in hidden else counting).append(one)
        left += (one for one in self.left if _key(one) not in hidden)
        return replace(self, findings=counting, muted=muted, left=left) if len(muted) > len(self.muted) else self

    def silenced(self) -> Incident:
        """The same where its kind is muted: nothing behind it counts."""
        every = [*self.findings, *self.muted]
        return replace(self, findings=(), muted=every, left=(), is_silenced=True)

    @property
    def severity(self) -> Severity:
        """The worst severity behind it; of what was planned and of a controller that moved the least."""
        if self.is_planned or self.kind == IncidentKind.CONTROLLER_MOVED:
            return Severity.INFO
        return max(Severity.WARNING, Summary.of(self.findings).worst or Severity.WARNING)

    @property
    def by_rule(self) -> Mapping[str, int]:
        """Numbers of the findings behind it, by rule."""
        return Summary.of(self.findings).by_rule

    @property
    def partitions(self) -> int:
        """Number of partitions that its findings are about."""
        return Summary.of(self.findings).partitions

    def packed(self) -> Incident:
        """The same with its findings in little memory."""
        return replace(self, findings=packed(self.findings), muted=packed(self.muted), left=packed(self.left))


def _key(one: FleetFinding) -> tuple[str, str, str | None]:
    return one.cluster, one.rule, one.topic


def incident_order(one: Incident) -> tuple[object, ...]:
    """Sorts the most severe first, then what goes on, then what explains most."""
    over = one.valid_to_ms is not None
    return -one.severity.rank, over, -len(one.findings), one.cluster, one.valid_from_ms, one.kind, one.key
