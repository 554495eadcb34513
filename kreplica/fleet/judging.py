"""Judges clusters by the fleet rules: one cluster at a time, from its history alone, and groups of them after that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding, finding_order
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.rules import no_snapshot
from kreplica.fleet.rules.brokers import controller_changes, disk_filling, skewed_brokers, vanished_broker
from kreplica.fleet.rules.groups import dead_group, group_offsets_back, group_stopped
from kreplica.fleet.rules.settings import cluster_drift, config_drift, setting_changed
from kreplica.fleet.rules.settings.cluster_drift import PresentSettings
from kreplica.fleet.rules.topics import (
    isr_flapping,
    leader_epoch_churn,
    min_isr_lowered,
    orphaned_throttle,
    replication_factor_lowered,
    stuck_reassignment,
    unclean_election,
    vanished_topic,
)
from kreplica.history.lives.log_line import LogLine
from kreplica.history.selection import Chosen, HistoryMonth
from kreplica.system.processes import side_by_side

FLEET_RULES: tuple[FleetRule, ...] = (
    unclean_election.RULE,
    no_snapshot.RULE,
    disk_filling.RULE,
    vanished_topic.RULE,
    vanished_broker.RULE,
    replication_factor_lowered.RULE,
    min_isr_lowered.RULE,
    stuck_reassignment.RULE,
    orphaned_throttle.RULE,
    isr_flapping.RULE,
    leader_epoch_churn.RULE,
    controller_changes.RULE,
    config_drift.RULE,
    cluster_drift.RULE,
    setting_changed.RULE,
    skewed_brokers.RULE,
    group_stopped.RULE,
    group_offsets_back.RULE,
    dead_group.RULE,
)
"""Every fleet rule, in the order in which they are documented."""


def judge_cluster(
    history: ClusterHistory, asked: Circumstances, names: Collection[str] | None = None
) -> list[FleetFinding]:
    """The findings in one cluster, the most severe first.

    Args:
        history: The cluster's history.
        asked: Facts that the history does not hold.
        names: Only these rules; all if None.

    Raises:
        InputError: A file is damaged, or not there.
    """
    finds = [rule.find for rule in FLEET_RULES if rule.find is not None and (names is None or rule.name in names)]
    return sorted((one for find in finds for one in find(history, asked)), key=finding_order)


def judge_clusters(
    chosen: Chosen, asked: Circumstances, names: Collection[str] | None = None, processes: int = 1
) -> list[FleetFinding]:
    """The findings in every cluster of a history, the most severe first.

    Args:
        chosen: The months to read.
        asked: Facts that the history does not hold.
        names: Only these rules; all if None.
        processes: Number of processes that share the clusters; each holds one of them at a time.

    Raises:
        InputError: A file is damaged, or not there.
    """
    work = _Work(asked, None if names is None else frozenset(names))
    found = side_by_side(work, list(chosen.by_cluster().values()), processes)
    settings = [one.settings for one in found if one.settings is not None]
    findings = [finding for one in found for finding in one.findings]
    return sorted([*findings, *between_clusters(settings, asked)], key=finding_order)


def between_clusters(settings: Sequence[PresentSettings], asked: Circumstances) -> Iterator[FleetFinding]:
    """The findings of rules that compare the clusters of a group.

    Args:
        settings: Settings of each cluster as of its newest snapshot.
        asked: Facts that the history does not hold, the groups among them.
    """
    for group, names in asked.groups.items():
        yield from cluster_drift.find_between(group, [one for one in settings if not names.isdisjoint(one.ids)])


@dataclass(frozen=True, slots=True)
class _Judged:
    findings: list[FleetFinding]
    settings: PresentSettings | None


@dataclass(frozen=True, slots=True)
class _Work:
    asked: Circumstances
    names: frozenset[str] | None

    def __call__(self, months: Sequence[HistoryMonth]) -> _Judged:
        history = ClusterHistory(months)
        findings = judge_cluster(history, self.asked, self.names)
        compared = bool(self.asked.groups) and (self.names is None or cluster_drift.NAME in self.names)
        return _Judged(findings, cluster_drift.present_settings(history) if compared else None)


def newest_ms(chosen: Chosen) -> int:
    """Time of the newest snapshot that is wanted, milliseconds since the epoch; without one, of the last record."""
    snapshots = [month.seen[month.inside[-1]].taken_ms for month in chosen.months if month.inside]
    return max(snapshots or (int(LogLine([month]).times[-1]) for month in chosen.months))


def tables_read(names: Collection[str] | None = None) -> Sequence[str]:
    """Names of the tables that rules read.

    Args:
        names: Only these rules; all if None.
    """
    return sorted({table.name for rule in FLEET_RULES if names is None or rule.name in names for table in rule.tables})
