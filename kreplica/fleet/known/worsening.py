"""Findings that are muted, and mutes that are broken because it got worse.

A mute is broken in a cluster where, after it was made, more findings that it covers were seen at one moment than at any
moment before (or than it says that it bears), or one of a higher severity. Where nothing before it is read, the first
moment that is read stands for the time before. Where it covered nothing before, it was made for what was to come, such
as planned work: it bears any number then, and the severity of the first findings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kreplica.config.mutes import Mute
from kreplica.health.rules import Severity

Key = tuple[str, str, str | None]
"""Cluster, rule and topic of findings."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Findings of one cluster, rule, severity and topic that were seen from one moment to another.

    Args:
        cluster: Label of the cluster.
        rule: Name of the rule.
        severity: How bad.
        topic: The topic; None where they are about none.
        first_ms: The first moment that shows them, milliseconds since the epoch.
        last_ms: The last moment that shows them.
        ended_ms: The first later moment that says otherwise; None if none does.
        findings: How many.
    """

    cluster: str
    rule: str
    severity: Severity
    topic: str | None
    first_ms: int
    last_ms: int
    ended_ms: int | None
    findings: int

    @property
    def key(self) -> Key:
        """Cluster, rule and topic."""
        return self.cluster, self.rule, self.topic

    @property
    def over_ms(self) -> int:
        """The first millisecond at which they are not there: a run told to the record is over at its last moment."""
        exact = self.first_ms < self.last_ms == self.ended_ms
        return self.last_ms if exact else self.last_ms + 1


@dataclass(frozen=True, slots=True)
class Level:
    """Findings at their worst.

    Args:
        findings: The most at one moment.
        severity: The worst; None where there are none.
    """

    findings: int
    severity: Severity | None

    @property
    def rank(self) -> int:
        """Rank of the severity, 0 without findings."""
        return 0 if self.severity is None else self.severity.rank


@dataclass(frozen=True, slots=True)
class AppliedMute:
    """A mute and what it covers in one cluster.

    Args:
        mute: The mute.
        cluster: Label of the cluster.
        findings: Number of findings that it covers; of incidents, where it is one of these.
        before: These at their worst before it was made.
        after: These at their worst since.
        begun: Severity of the first of them since; None where there is none.
        keys: Cluster, rule and topic of these.
        of: The thing that it covers: finding, or incident.
    """

    mute: Mute
    cluster: str
    findings: int
    before: Level
    after: Level
    begun: Severity | None
    keys: frozenset[Key]
    of: str = "finding"

    @property
    def bears(self) -> int | None:
        """Most findings at one moment that it bears; None for any number."""
        return self.mute.at_most or self.before.findings or None

    @property
    def usual(self) -> Severity | None:
        """The severity that it bears: that of the time before, else of the first since; None where there is neither."""
        return self.begun if self.before.severity is None else self.before.severity

    @property
    def has_more(self) -> bool:
        """True if there were more at one moment than it bears."""
        return self.bears is not None and self.after.findings > self.bears

    @property
    def is_graver(self) -> bool:
        """True if one is graver than it bears."""
        return self.usual is not None and self.after.rank > self.usual.rank

    @property
    def is_broken(self) -> bool:
        """True if it got worse: the findings count again."""
        return self.has_more or self.is_graver


def apply_mutes(
    mutes: Iterable[Mute],
    stretches: Iterable[Stretch],
    names: Mapping[str, str],
    read_from: Mapping[str, datetime],
    of: str = "finding",
) -> list[AppliedMute]:
    """Mutes by the clusters in which they cover something, in the order of the mutes.

    Args:
        mutes: The mutes.
        stretches: Findings of their rules, at least.
        names: Name of each cluster by its label.
        read_from: Time of the first observation of each cluster.
        of: The things that the stretches are: findings, or incidents, whose rule is their kind.
    """
    by_rule: dict[tuple[str, str], list[Stretch]] = defaultdict(list)
    for one in stretches:
        by_rule[one.rule, one.cluster].append(one)
    found = []
    for mute in mutes:
        for (rule, cluster), some in sorted(by_rule.items(), key=lambda item: item[0]):
            called = (cluster, names.get(cluster, cluster))
            covered = [one for one in some if mute.covers(rule, called, one.topic)]
            if covered:
                since = max(mute.muted_at, read_from.get(cluster, mute.muted_at))
                found.append(replace(_applied(mute, cluster, covered, since), of=of))
    return found


def muted_keys(applied: Iterable[AppliedMute]) -> frozenset[Key]:
    """Cluster, rule and topic of the findings that do not count: some mute covers them and is not broken."""
    return frozenset(key for one in applied if not one.is_broken for key in one.keys)


def _applied(mute: Mute, cluster: str, covered: Sequence[Stretch], since: datetime) -> AppliedMute:
    since_ms = since.timestamp() * 1000
    levels = _levels(covered)
    sides = [
        Level(
            max((count for moment, count in levels if (moment > since_ms) == later), default=0),
            max((one.severity for one in covered if (one.first_ms > since_ms) == later), default=None),
        )
        for later in (False, True)
    ]
    later = [one for one in covered if one.first_ms > since_ms]
    first = min((one.first_ms for one in later), default=None)
    begun = max((one.severity for one in later if one.first_ms == first), default=None)
    keys = frozenset(one.key for one in covered)
    return AppliedMute(mute, cluster, sum(one.findings for one in covered), sides[0], sides[1], begun, keys)


def _levels(covered: Collection[Stretch]) -> list[tuple[int, int]]:
    """Number of findings at each moment at which some were seen first."""
    steps: dict[int, int] = defaultdict(int)
    for one in covered:
        steps[one.first_ms] += one.findings
        steps[one.over_ms] -= one.findings
    begun, levels, count = {one.first_ms for one in covered}, [], 0
    for moment in sorted(steps):
        count += steps[moment]
        if moment in begun:
            levels.append((moment, count))
    return levels
