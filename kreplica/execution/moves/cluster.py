"""All that a run of moves asks of a cluster: what it reads, and the requests that change it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kreplica.control.cordons import read_cordons, set_cordons
from kreplica.control.log_directories import DirectoryResult, ReplicaKey, alter_log_directories
from kreplica.control.reassign import ReassignmentResult, Target, alter_reassignments
from kreplica.control.settings import SettingResult
from kreplica.control.throttle import Entry, ListKey, ListResult, extend_lists, set_rates, shrink_lists
from kreplica.execution.elections import Outcome, elect
from kreplica.execution.plan import LeaderChange, PartitionKey
from kreplica.sources import Facet, read_snapshot
from kreplica.sources.kafka.log_dirs import BrokerLogs, LogDir, Replica, read_broker_logs
from kreplica.sources.kafka.reassignments import Move, read_ongoing
from kreplica.sources.kafka.throttles import Throttles, read_throttles

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

FACETS = Facet.TOPIC_CONFIGS
"""Facets that a run reads: partitions with their reassignments, and min.insync.replicas of their topics."""

RateKey = tuple[int, str]
"""Broker and name of the rate."""


def sizes_of(logs: Mapping[int, BrokerLogs | str]) -> dict[tuple[str, int, int], int]:
    """Bytes of each copy by topic, partition and broker, as far as brokers tell; without future ones (KIP-113)."""
    return {
        (copy.topic, copy.partition, copy.broker): copy.size
        for one in logs.values()
        if isinstance(one, BrokerLogs)
        for copy in one.replicas
        if not copy.future
    }


class MoveCluster(Protocol):
    """A cluster whose replicas are moved."""

    def snapshot(self) -> ClusterSnapshot:
        """Partitions, their reassignments and their min ISR."""

    def ongoing(self, partitions: Collection[PartitionKey]) -> Mapping[PartitionKey, Move]:
        """Reassignments of these partitions; those that have none are left out."""

    def logs(
        self, brokers: Iterable[int], partitions: Collection[PartitionKey] | None = None
    ) -> dict[int, BrokerLogs | str]:
        """Log directories of brokers and the copies of partitions in them, or why a broker does not tell."""

    def throttles(self, brokers: Iterable[int], topics: Collection[str]) -> Throttles:
        """Rates of brokers and lists of topics."""

    def set_rates(self, rates: Mapping[RateKey, int | None]) -> dict[RateKey, SettingResult]:
        """Sets rates of brokers, or deletes their own ones."""

    def extend_lists(self, entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
        """Adds replicas to lists of throttled ones."""

    def shrink_lists(self, entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
        """Takes replicas out of lists of throttled ones."""

    def place(self, directories: Mapping[ReplicaKey, str]) -> dict[ReplicaKey, DirectoryResult]:
        """Names the log directories of replicas: of those that are there, and of those that are to come."""

    def reassign(
        self, targets: Mapping[PartitionKey, Target], expected: Mapping[PartitionKey, Move], *, other_factor: bool
    ) -> tuple[ReassignmentResult, ...]:
        """Asks for moves, or for their cancellation where the target is None."""


class LiveCluster:
    """A live cluster, by its brokers.

    Args:
        handle: The cluster.
        through_controllers: Whether rates of brokers that are down are set by the KRaft controllers' own listener.
    """

    def __init__(self, handle: ClusterHandle, *, through_controllers: bool = False) -> None:
        self._handle, self._through_controllers = handle, through_controllers

    def snapshot(self) -> ClusterSnapshot:
        """Reads partitions, their reassignments and their min ISR."""
        return read_snapshot(self._handle, FACETS)

    def ongoing(self, partitions: Collection[PartitionKey]) -> Mapping[PartitionKey, Move]:
        """Asks the controller."""
        return read_ongoing(self._handle, partitions)

    def logs(
        self, brokers: Iterable[int], partitions: Collection[PartitionKey] | None = None
    ) -> dict[int, BrokerLogs | str]:
        """Reads log directories of brokers; where no broker can be asked, as the snapshot has them."""
        if self._handle.bootstrap_servers is None:
            return _logs_of(read_snapshot(self._handle, Facet.LOG_DIRS), brokers, partitions)
        return read_broker_logs(self._handle, brokers, None if partitions is None else list(partitions))

    def throttles(self, brokers: Iterable[int], topics: Collection[str]) -> Throttles:
        """Reads rates and lists."""
        return read_throttles(self._handle, brokers, topics)

    def set_rates(self, rates: Mapping[RateKey, int | None]) -> dict[RateKey, SettingResult]:
        """Sets or deletes rates."""
        return set_rates(self._handle, rates, through_controllers=self._through_controllers) if rates else {}

    def extend_lists(self, entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
        """Adds replicas to lists."""
        return extend_lists(self._handle, entries) if entries else {}

    def shrink_lists(self, entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
        """Takes replicas out of lists."""
        return shrink_lists(self._handle, entries) if entries else {}

    def place(self, directories: Mapping[ReplicaKey, str]) -> dict[ReplicaKey, DirectoryResult]:
        """Names log directories."""
        return alter_log_directories(self._handle, directories)

    def reassign(
        self, targets: Mapping[PartitionKey, Target], expected: Mapping[PartitionKey, Move], *, other_factor: bool
    ) -> tuple[ReassignmentResult, ...]:
        """Asks the controller, in pieces."""
        return alter_reassignments(self._handle, targets, expected=expected, change_replication_factor=other_factor)

    def elect(self, changes: Sequence[LeaderChange]) -> tuple[Outcome, ...]:
        """Has the controller elect preferred leaders."""
        return elect(self._handle, changes)

    def cordons(self, brokers: Iterable[int]) -> Mapping[int, str | None]:
        """Own values of cordoned.log.dirs."""
        return read_cordons(self._handle, brokers)

    def set_cordons(self, values: Mapping[int, str | None]) -> Mapping[int, SettingResult]:
        """Sets or deletes cordoned.log.dirs of brokers."""
        return set_cordons(self._handle, values)


def _logs_of(
    snapshot: ClusterSnapshot, brokers: Iterable[int], partitions: Collection[PartitionKey] | None
) -> dict[int, BrokerLogs | str]:
    """Log directories of brokers as a snapshot has them."""
    names = LogDir._fields
    rows = zip(*(snapshot.log_dirs[name].to_list() for name in names), strict=True)
    dirs: dict[int, list[LogDir]] = {}
    for one in map(LogDir._make, rows):
        dirs.setdefault(one.broker, []).append(one)
    wanted = None if partitions is None else set(partitions)
    copies: dict[int, list[Replica]] = {}
    for copy in map(Replica._make, zip(*(snapshot.replicas[name].to_list() for name in Replica._fields), strict=True)):
        if wanted is None or (copy.topic, copy.partition) in wanted:
            copies.setdefault(copy.broker, []).append(copy)
    return {
        broker: BrokerLogs(dirs[broker], copies.get(broker, [])) if broker in dirs else "the snapshot has none of it"
        for broker in brokers
    }
