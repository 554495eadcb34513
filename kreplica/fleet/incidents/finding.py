"""Finds the incidents of one cluster: causes over time, and each finding behind the one that explains it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kreplica.fleet.cluster import ClusterHistory, Span
from kreplica.fleet.finding import Certainty, FleetFinding, finding_order
from kreplica.fleet.incidents.causes import Cause, Ground, causes_of, culprits_at, lasting
from kreplica.fleet.incidents.incident import Incident, IncidentKind, incident_order
from kreplica.fleet.incidents.packed import packed
from kreplica.fleet.incidents.scenes import Seen, findings_over_time, scenes_of
from kreplica.fleet.incidents.surroundings import aftermath, changes_before
from kreplica.fleet.rules.settings import setting_changed
from kreplica.health.rules import PARTITION_RULES, RACK_VIOLATION, Severity

_ABOUT_REPLICAS = frozenset(rule.name for rule in PARTITION_RULES if rule is not RACK_VIOLATION)


@dataclass(frozen=True, slots=True)
class Told:
    """Incidents of one cluster, and what none of them explains.

    Args:
        incidents: The incidents, the worst first, and what was planned.
        left_over: Findings of which no cause is known; those that stood from the first snapshot on are not among them.
        findings: All findings, behind an incident or not.
    """

    incidents: Sequence[Incident]
    left_over: Sequence[FleetFinding]
    findings: Sequence[FleetFinding] = ()

    def packed(self) -> Told:
        """The same with the findings of incidents, and those that none explains, in little memory."""
        return replace(self, incidents=[one.packed() for one in self.incidents], left_over=packed(self.left_over))


def incidents_of(history: ClusterHistory, findings: Iterable[FleetFinding] = ()) -> Told:
    """The incidents of one cluster.

    Args:
        history: The cluster's history.
        findings: Findings of fleet rules in it.

    Raises:
        InputError: A file is damaged, or not there.
    """
    if not len(history.partitions.tellers):
        return Told([], [])
    return _Teller(history).told(findings)


@dataclass(slots=True)
class _Behind:
    cause: Cause
    seen: list[Seen] = field(default_factory=list)
    findings: list[FleetFinding] = field(default_factory=list)


class _Teller:
    def __init__(self, history: ClusterHistory) -> None:
        self.history = history
        self.ground = Ground(history, scenes_of(history))
        self.behind = [_Behind(cause) for cause in causes_of(self.ground)]
        self.left: list[FleetFinding] = []

    def told(self, findings: Iterable[FleetFinding]) -> Told:
        seen, over_time = findings_over_time(self.history, self.ground.scenes), list(findings)
        self._attribute(seen)
        self._controllers()
        self._fleet_findings(over_time)
        causes = [one.cause for one in self.behind]
        found = [self._incident(one, causes) for one in self.behind if self._counts(one)]
        every = [*(one.finding for one in seen), *over_time]
        return Told(sorted(found, key=incident_order), sorted(self.left, key=finding_order), every)

    def _counts(self, one: _Behind) -> bool:
        """A setting that changed and broke nothing is no incident."""
        return one.cause.kind != IncidentKind.SETTING or bool(one.seen or one.findings)

    def _attribute(self, every: Sequence[Seen]) -> None:
        by_scene: dict[int, list[Seen]] = defaultdict(list)
        for one in every:
            by_scene[one.scene].append(one)
        for place in sorted(by_scene):
            active = [one for one in self.behind if one.cause.is_on(place)]
            rest = [one for one in by_scene[place] if not self._explained(one, active)]
            for one in self._by_culprits(place, rest):
                if one.span.before >= 0 and one.finding.severity >= Severity.WARNING:
                    self.left.append(one.finding)

    def _explained(self, one: Seen, active: Sequence[_Behind]) -> bool:
        weighed = [(self._weight(behind.cause, one), behind) for behind in active]
        fitting = [(weight, behind) for weight, behind in weighed if weight is not None]
        if not fitting:
            return False
        max(fitting, key=lambda pair: pair[0])[1].seen.append(one)
        return True

    def _weight(self, cause: Cause, one: Seen) -> tuple[int, ...] | None:
        """Strength of the link between a cause and a finding; None where there is none."""
        finding = one.finding
        if cause.partitions is not None:
            own = (finding.topic, finding.partition) in cause.partitions
            fits = one.scene == cause.begin and (own or (finding.partition is None and finding.topic in cause.topics))
            return (9, 0, 0) if fits else None
        if finding.partition is None or finding.topic is None:
            return (1, 0, cause.begin) if finding.broker in cause.brokers else None
        if finding.rule not in _ABOUT_REPLICAS:
            return None
        scene = self.ground.scenes[one.scene]
        shared = scene.suspects(finding.topic, finding.partition) & set(cause.brokers)
        return (int(cause.begin == one.scene), len(shared), cause.begin) if shared else None

    def _by_culprits(self, place: int, rest: Sequence[Seen]) -> list[Seen]:
        """Findings that the causes of describe leave over."""
        about = [one for one in rest if one.finding.rule in _ABOUT_REPLICAS and one.span.before >= 0]
        keys = {(str(one.finding.topic), one.finding.partition or 0) for one in about}
        scene = self.ground.scenes[place]
        troubled = {key for key in keys if scene.suspects(*key)}
        found = culprits_at(self.ground, place, troubled) if troubled else []
        taken: set[int] = set()
        for cause in found:
            own = [one for one in about if id(one) not in taken and self._is_of(cause, one)]
            if own:
                own += [one for one in rest if one.finding.broker in cause.brokers and one.span.before >= 0]
                taken |= {id(one) for one in own}
                self._keep(cause, own)
        return [one for one in rest if id(one) not in taken]

    def _is_of(self, cause: Cause, one: Seen) -> bool:
        key = (str(one.finding.topic), one.finding.partition or 0)
        scene = self.ground.scenes[one.scene]
        near = {*scene.suspects(*key), scene.leader(*key)}
        return not cause.brokers or not near.isdisjoint(cause.brokers)

    def _keep(self, cause: Cause, own: Sequence[Seen]) -> None:
        """A cause that goes on is one with what it was a scene before."""
        for number, other in enumerate(self.behind):
            if (other.cause.kind, other.cause.key) == (cause.kind, cause.key) and other.cause.is_on(cause.begin):
                other.seen += own
                self.behind[number] = _Behind(lasting(other.cause, _ends(self.ground, other.seen)), other.seen)
                return
        self.behind.append(_Behind(lasting(cause, _ends(self.ground, own)), list(own)))

    def _controllers(self) -> None:
        """Controllers that moved, but for those that had to as their broker was down or restarted."""
        for (before, old), (at, new) in pairwise(self.history.controllers):
            span = Span.event(before, at)
            if old == new or any(old in one.cause.brokers and _meets(one.cause.span, span) for one in self.behind):
                continue
            key, place = f"from {old} to {new}", self.ground.place(at)
            evidence: dict[str, object] = {"before": old, "after": new}
            kind = IncidentKind.CONTROLLER_MOVED
            self.behind.append(_Behind(Cause(kind, key, Certainty.PROVED, place, place, span, evidence=evidence)))

    def _fleet_findings(self, findings: Iterable[FleetFinding]) -> None:
        own: dict[tuple[object, ...], list[FleetFinding]] = defaultdict(list)
        concerned = [_concerned(behind) for behind in self.behind]
        for one in findings:
            if one.rule == setting_changed.NAME:
                continue  # a change is told among what came before an incident, and breaks nothing by itself
            fitting = [
                behind
                for behind, partitions in zip(self.behind, concerned, strict=True)
                if self._is_behind(behind.cause, partitions, one)
            ]
            if fitting:
                fitting[-1].findings.append(one)
            elif one.severity >= Severity.WARNING and one.begun_after_ms is not None:
                own[one.rule, one.begun_after_ms, one.valid_from_ms].append(one)
        for (rule, _, _), some in own.items():
            self.behind.append(self._of_rule(str(rule), some))

    def _is_behind(self, cause: Cause, partitions: _Concerned, one: FleetFinding) -> bool:
        """True if a cause was on when a fleet rule was broken, by what it concerns."""
        ended = None if cause.span.ended < 0 else self.ground.ms(cause.span.ended)
        begun = self.ground.ms(max(cause.span.before, 0))
        if cause.span.before >= 0 and begun == self.ground.ms(cause.span.first):
            begun -= 1  # a snapshot and a record of one millisecond
        if one.valid_from_ms <= begun or (ended is not None and one.valid_from_ms > ended):
            return False
        if one.broker is not None:
            return one.broker in cause.brokers
        setting = cause.kind == IncidentKind.SETTING and one.partition is None
        return (one.topic, one.partition) in partitions or (setting and any(one.topic == of for of, _ in partitions))

    def _of_rule(self, rule: str, some: Sequence[FleetFinding]) -> _Behind:
        def at(moment: int | None) -> int:
            return -1 if moment is None else self.ground.numbers.get(moment, -1)

        last = max(one.last_seen_ms for one in some)
        going = any(one.valid_to_ms is None for one in some)
        ended = -1 if going else at(max(one.valid_to_ms or 0 for one in some))
        span = Span(at(some[0].begun_after_ms), at(some[0].valid_from_ms), at(last), ended)
        names = sorted({_about(one) for one in some})
        key = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        certainty = max((one.certainty for one in some), key=lambda one: one.rank)
        place = self.ground.place(span.first)
        end = None if going else place
        return _Behind(Cause(rule, key, certainty, place, end, span), findings=list(some))

    def _incident(self, behind: _Behind, causes: Sequence[Cause]) -> Incident:
        cause, span = behind.cause, behind.cause.span
        findings = sorted([*(one.finding for one in behind.seen), *behind.findings], key=finding_order)
        own = behind.findings if not behind.seen and cause.kind in {one.rule for one in behind.findings} else []
        ended = None if span.ended < 0 else self.ground.ms(span.ended)
        begun = None if span.before < 0 else self.ground.until(span.before)
        seen = self.ground.ms(span.last) if span.is_event else self.ground.until(span.last)
        over = ended is not None
        after = aftermath(self.ground, cause, causes)
        return Incident(
            cluster=self.history.cluster,
            kind=str(cause.kind),
            key=cause.key,
            certainty=cause.certainty,
            begun_after_ms=own[0].begun_after_ms if own else begun,
            valid_from_ms=own[0].valid_from_ms if own else self.ground.ms(span.first),
            last_seen_ms=max(one.last_seen_ms for one in own) if own else seen,
            valid_to_ms=ended,
            brokers=cause.brokers,
            findings=findings,
            left=[one for one in findings if over and one.in_newest and not one.is_event],
            changed=None if after is None else after.differences,
            compared_ms=None if after is None else after.at_ms,
            before=changes_before(self.ground, cause, causes),
            evidence=cause.evidence,
            exact=all(one.exact for one in own) if own else cause.in_logs and self.history.exactly(span),
        )


def _ends(ground: Ground, seen: Sequence[Seen]) -> list[tuple[int | None, Span]]:
    return [(ground.places.get(one.span.ended), one.span) for one in seen]


_Concerned = frozenset[tuple[str | None, int | None]]
"""Partitions by topic and number."""


def _concerned(behind: _Behind) -> _Concerned:
    """Partitions that a cause and what it explains are about."""
    about = {(seen.finding.topic, seen.finding.partition) for seen in behind.seen}
    return frozenset(key for key in about if None not in key) | (behind.cause.partitions or frozenset())


def _meets(one: Span, event: Span) -> bool:
    """True if an event may have come while a cause was on."""
    return event.first > one.before and (one.ended < 0 or event.before <= one.ended)


def _about(one: FleetFinding) -> str:
    if one.topic is not None:
        return one.topic if one.partition is None else f"{one.topic}-{one.partition}"
    if one.broker is not None:
        return f"broker {one.broker}"
    return one.group or "cluster"
