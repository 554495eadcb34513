"""A planned change of a log directory as its broker tells it (DescribeLogDirs). Pure.

While it goes on the broker has two copies: the one that it serves, and a future one in the other directory, which takes
its place when it has caught up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from kreplica.execution.moves.plans.stage import why_gone
from kreplica.sources.kafka.log_dirs import BrokerLogs

if TYPE_CHECKING:
    from kreplica.execution.plan import PartitionFacts
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory, ReplicaKey

ToldLogs = Mapping[int, BrokerLogs | str]
"""Log directories of brokers, or why a broker does not tell them."""


class DirectoryStage(Enum):
    """Stages of a change of a log directory."""

    BEFORE = "before"
    MOVING = "moving"
    AFTER = "after"
    ELSEWHERE = "elsewhere"
    """In another directory, on its way to another one, or not there at all."""
    UNKNOWN = "unknown"
    """Its broker does not tell."""


@dataclass(frozen=True, slots=True)
class DirectoryCheck:
    """One change as it stands.

    Args:
        stage: Its stage.
        reason: What the broker shows instead, or why it cannot begin or go on; empty if nothing is in its way.
        left: Bytes that the future copy lacks, where there is one.
        lag: Records that it lacks, where the broker tells.
    """

    stage: DirectoryStage
    reason: str = ""
    left: int | None = None
    lag: int | None = None


def check_directory(
    snapshot: ClusterSnapshot, logs: ToldLogs, facts: PartitionFacts, change: ChangedDirectory
) -> DirectoryCheck:
    """Finds the stage of a change.

    Args:
        snapshot: The cluster.
        logs: Log directories of the change's broker, with the copies of its partition.
        facts: What the plan was made from.
        change: The change, or its inverse.
    """
    if gone := why_gone(snapshot, facts):
        return DirectoryCheck(DirectoryStage.ELSEWHERE, gone)
    if change.broker not in (snapshot.lists("replicas")[snapshot.row_number(*change.key)] or ()):
        return DirectoryCheck(DirectoryStage.ELSEWHERE, f"broker {change.broker} has no replica of it any more")
    told = logs.get(change.broker, "was not asked")
    if not isinstance(told, BrokerLogs) or told.refused:
        return DirectoryCheck(DirectoryStage.UNKNOWN, _untold(snapshot, change.broker, told))
    return _check_told(told, change)


def _untold(snapshot: ClusterSnapshot, broker: int, told: BrokerLogs | str) -> str:
    if snapshot.is_alive(broker) is False:
        return f"broker {broker} is down"
    why = told.refused if isinstance(told, BrokerLogs) else told
    return f"broker {broker} does not tell its log directories: {why}"


def _check_told(told: BrokerLogs, change: ChangedDirectory) -> DirectoryCheck:
    copies = [one for one in told.replicas if (one.topic, one.partition) == change.key]
    current = next((one for one in copies if not one.future), None)
    future = next((one for one in copies if one.future), None)
    closed = _closed(told, change.destination)
    if future is not None and future.log_dir == change.destination:
        left = max(0, (current.size if current is not None else change.size) - future.size)
        return DirectoryCheck(DirectoryStage.MOVING, closed, left, future.offset_lag)
    if future is not None:
        return DirectoryCheck(DirectoryStage.ELSEWHERE, f"somebody else moves it to {future.log_dir}")
    if current is None:
        return DirectoryCheck(
            DirectoryStage.ELSEWHERE, _closed(told, change.source) or "its broker shows no copy of it"
        )
    if current.log_dir == change.destination:
        return DirectoryCheck(DirectoryStage.AFTER)
    if current.log_dir == change.source:
        return DirectoryCheck(DirectoryStage.BEFORE, closed)
    return DirectoryCheck(DirectoryStage.ELSEWHERE, f"it is in {current.log_dir}: somebody else moved it")


def _closed(told: BrokerLogs, path: str) -> str:
    """Reason why a directory takes nothing; empty if it does."""
    found = next((one for one in told.log_dirs if one.path == path), None)
    if found is None:
        return f"its broker has no log directory {path}"
    return f"log directory {path} is offline" if found.error is not None else ""


def future_sizes(logs: ToldLogs) -> dict[ReplicaKey, int]:
    """Bytes of each copy that is on its way to another directory of its broker."""
    return {
        (copy.topic, copy.partition, copy.broker): copy.size
        for one in logs.values()
        if isinstance(one, BrokerLogs)
        for copy in one.replicas
        if copy.future
    }


def brokers_of(changes: Iterable[ChangedDirectory]) -> list[int]:
    """Brokers of changes, in order."""
    return sorted({change.broker for change in changes})
