"""State of every replica as the trace shows it: the other folds look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kreplica.engine.trace import Event, Kind, Record


class ReplicaLog:
    """One replica: its records from ``base`` on, its high watermark and its role.

    ``leader_epoch`` is the epoch in which it leads, -1 if it does not lead; ``running`` is whether its process runs.
    """

    __slots__ = ("base", "followers", "high_watermark", "leader_epoch", "log_start", "node", "records", "running")

    def __init__(self, node: str) -> None:
        self.node = node
        self.base = 0
        self.records: list[Record] = []
        self.log_start = 0
        self.high_watermark = 0
        self.leader_epoch = -1
        self.running = True
        self.followers: dict[int, int] = {}

    @property
    def end_offset(self) -> int:
        """The log end offset."""
        return self.base + len(self.records)

    @property
    def shown_high_watermark(self) -> int | None:
        """The high watermark as readers see it; None while the process is down, which restarts with a checkpoint's."""
        return self.high_watermark if self.running else None

    def between(self, begin: int, end: int) -> list[Record]:
        """The records from one offset up to another, as far as the log has them."""
        return self.records[max(begin - self.base, 0) : max(end - self.base, 0)]

    def cut(self, end: int) -> None:
        """Drops every record from ``end`` on; a log that ends before ``end`` starts anew there."""
        if end > self.end_offset:
            self.base, self.records = end, []
        del self.records[max(end - self.base, 0) :]
        self.high_watermark = min(self.high_watermark, end)

    def append(self, base_offset: int, records: tuple[Record, ...]) -> None:
        """Appends records; a log that was emptied may start anew at a higher offset."""
        if base_offset != self.end_offset:
            self.base, self.records = base_offset, []
        self.records.extend(records)


class ReplicaLogs:
    """A fold that keeps every replica of every partition, by partition and node."""

    __slots__ = ("leader_of", "partitions", "takes")

    def __init__(self) -> None:
        self.partitions: dict[str, dict[str, ReplicaLog]] = {}
        self.leader_of: dict[str, tuple[int, str]] = {}
        """The newest leader of each partition: its epoch and its node, until a newer one takes over."""
        self.takes: dict[str, Callable[[Event], None]] = {
            Kind.APPENDED: self._appended,
            Kind.TRUNCATED: self._truncated,
            Kind.HIGH_WATERMARK: self._high_watermark,
            Kind.FOLLOWER_POSITION: self._follower_position,
            Kind.LOG_START: self._log_start,
            Kind.RECOVERED: self._recovered,
            Kind.BECAME_LEADER: self._became_leader,
            Kind.BECAME_FOLLOWER: self._no_longer_leads,
            Kind.RESIGNED: self._no_longer_leads,
            Kind.CRASHED: self._ended,
            Kind.STOPPED: self._ended,
            Kind.STARTED: self._started,
            Kind.DISK_LOST: self._disk_lost,
        }

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(event)

    def replica(self, partition: str, node: str) -> ReplicaLog:
        """The replica of a partition on a node; empty if no event has named it."""
        replicas = self.partitions.setdefault(partition, {})
        if node not in replicas:
            replicas[node] = ReplicaLog(node)
        return replicas[node]

    def leader(self, partition: str) -> ReplicaLog | None:
        """The newest leader, if it still leads and its process runs."""
        known = self.leader_of.get(partition)
        if known is None:
            return None
        replica = self.replica(partition, known[1])
        return replica if replica.running and replica.leader_epoch == known[0] else None

    def followers(self, partition: str) -> dict[str, ReplicaLog]:
        """Every replica but the leader, by node."""
        leader = self.leader(partition)
        replicas = sorted(self.partitions.get(partition, {}).items())
        return {node: replica for node, replica in replicas if replica is not leader}

    def remaining(self, partition: str) -> list[ReplicaLog]:
        """Returns the logs that count at the end: the leader's, or without one every replica's, longest first."""
        leader = self.leader(partition)
        replicas = [leader] if leader is not None else self.partitions[partition].values()
        return sorted(replicas, key=lambda replica: -replica.end_offset)

    def of_node(self, node: str) -> Iterator[ReplicaLog]:
        """Every replica on a node."""
        return (replicas[node] for replicas in self.partitions.values() if node in replicas)

    def _appended(self, event: Event) -> None:
        self.replica(event.values[0], event.node).append(event.values[1], event.values[3])

    def _truncated(self, event: Event) -> None:
        self.replica(event.values[0], event.node).cut(event.values[2])

    def _high_watermark(self, event: Event) -> None:
        self.replica(event.values[0], event.node).high_watermark = event.values[1]

    def _follower_position(self, event: Event) -> None:
        self.replica(event.values[0], event.node).followers[event.values[1]] = event.values[2]

    def _log_start(self, event: Event) -> None:
        self.replica(event.values[0], event.node).log_start = event.values[1]

    def _recovered(self, event: Event) -> None:
        partition, end_offset, _, high_watermark = event.values
        replica = self.replica(partition, event.node)
        replica.cut(end_offset)
        replica.high_watermark = high_watermark

    def _became_leader(self, event: Event) -> None:
        partition, epoch = event.values[0], event.values[1]
        replica = self.replica(partition, event.node)
        replica.leader_epoch = epoch
        replica.followers = {}
        if epoch >= self.leader_of.get(partition, (-1, ""))[0]:
            self.leader_of[partition] = (epoch, event.node)

    def _no_longer_leads(self, event: Event) -> None:
        self.replica(event.values[0], event.node).leader_epoch = -1

    def _ended(self, event: Event) -> None:
        for replica in self.of_node(event.node):
            replica.running = False
            replica.leader_epoch = -1
            replica.high_watermark = 0  # restored from the checkpoint by the event of recovery

    def _started(self, event: Event) -> None:
        for replica in self.of_node(event.node):
            replica.running = True

    def _disk_lost(self, event: Event) -> None:
        for replica in self.of_node(event.node):
            replica.base, replica.records, replica.high_watermark, replica.log_start = 0, [], 0, 0
