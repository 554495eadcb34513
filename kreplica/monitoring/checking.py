"""Clusters judged by the rules, several at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kreplica.errors import ExitCode, UsageError
from kreplica.health.findings import Finding, find, unjudged
from kreplica.health.gates import Freshness, gate_code
from kreplica.health.rules import ALL_RULES, Severity
from kreplica.model.snapshot import Gap
from kreplica.model.wording.words import counted
from kreplica.monitoring.clusters import Reading, gaps_beside, judged_each, read_clusters, select_each
from kreplica.sources import Facet

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot


@dataclass(frozen=True, slots=True)
class CheckedClusters:
    """Clusters that were judged.

    Args:
        reading: The clusters as read.
        found: The partitions that were judged of each cluster, and its findings, the worst first.
        lowest: Least severity that speaks against a cluster.
        remarks: Clusters without the topics that were asked for, one clause each.
    """

    reading: Reading
    found: Sequence[tuple[ClusterSnapshot, Sequence[Finding]]]
    lowest: Severity
    remarks: Sequence[str] = ()

    @property
    def rows(self) -> list[Finding]:
        """The findings of all clusters."""
        return [finding for _, some in self.found for finding in some]

    @property
    def snapshots(self) -> list[ClusterSnapshot]:
        """The partitions that were judged of each cluster, with what was not read or judged among the gaps."""
        return [snapshot for snapshot, _ in self.found]

    @property
    def missing(self) -> list[object]:
        """Clusters that could not be read, and facts that are not known."""
        return [*self.reading.failures, *(gap for snapshot in self.snapshots for gap in snapshot.gaps)]

    @property
    def exit_code(self) -> ExitCode:
        """1 with a finding that is severe enough, 5 where there is none but something is not known."""
        return gate_code(any(finding.severity >= self.lowest for finding in self.rows), self.missing)

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, and what could not be judged."""
        return [*self.reading.warnings(), *self.remarks, *gaps_beside(self.reading, self.snapshots)]


def check(
    handles: Sequence[ClusterHandle],
    rules: Collection[str] | None = None,
    *,
    lowest: Severity = Severity.WARNING,
    topics: str | None = None,
    exclude_internal: bool = False,
    most_age: float | None = None,
) -> CheckedClusters:
    """Reads clusters and judges them by the rules.

    Args:
        handles: The clusters.
        rules: Names of rules; all if None.
        lowest: Least severity that speaks against a cluster.
        topics: Only topics whose whole name matches this regular expression; all if None.
        exclude_internal: Leave out internal topics.
        most_age: Greatest age of a dump, in seconds; any age if None.

    Raises:
        KreplicaError: No cluster could be read, there is no such rule, or none has such a topic.
    """
    known = frozenset(rule.name for rule in ALL_RULES)
    names = known if rules is None else frozenset(rules)
    if not names <= known:
        raise UsageError(f"no rule {', '.join(sorted(names - known))}", f"known are {', '.join(sorted(known))}")
    freshness = Freshness(most_age)
    reading = read_clusters(handles, Facet.GATE, freshness)
    selected, remarks = select_each(reading.snapshots, topics=topics, exclude_internal=exclude_internal)
    judged = [_with_unjudged(one, names, lowest) for one in judged_each(reading, selected, freshness)]
    return CheckedClusters(reading, [(one, find(one, names)) for one in judged], lowest, remarks)


def _with_unjudged(snapshot: ClusterSnapshot, rules: frozenset[str], lowest: Severity) -> ClusterSnapshot:
    """The cluster, with a gap that names the rules that could not be judged for some partitions."""
    by_count: dict[int, list[str]] = {}
    for name, count in unjudged(snapshot, rules, lowest).items():
        by_count.setdefault(count, []).append(name)
    gaps = [
        Gap("not-judged", f"too little is known of {counted(count, 'partition')} for {', '.join(names)}", count)
        for count, names in by_count.items()
    ]
    return replace(snapshot, gaps=(*snapshot.gaps, *gaps))
