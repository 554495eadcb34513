"""One broker's copy of a partition: its log, its high watermark, and its part as leader or follower.

kafka.cluster.Partition; a leader's own state is in ``leadership``.
"""

from __future__ import annotations

from collections.abc import Sequence

from kreplica.engine.rules.replication.durability import (
    flush_is_due,
    flush_is_overdue,
    flushed_after_start,
    recovered_end_offset,
    recovered_high_watermark,
    recovery_begins,
    recovery_point_after_start,
)
from kreplica.engine.rules.replication.fetching import readable_end
from kreplica.engine.rules.replication.high_watermark import follower_high_watermark
from kreplica.engine.rules.replication.leader_and_isr import makes_follower, takes_state
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import topic_of
from kreplica.engine.simulator.broker.host import ReplicaHost
from kreplica.engine.simulator.broker.leadership import Leadership
from kreplica.engine.simulator.broker.log import Log, ProducerStates
from kreplica.engine.simulator.broker.parked_fetch import HIGH_WATERMARK_ROSE, LEADER_CHANGED, ParkedFetch
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.trace import FOLLOWER, Kind, Record
from kreplica.engine.versions.supported import ControllerKind


class Replica:
    """A partition's log on one broker and the broker's knowledge of the partition.

    ``checkpointed`` is the high watermark on the disk. ``leadership`` is set while this replica leads. ``known_leader``
    is the leader it has led or followed as, ``caught_up`` the time at which other replicas had every record, since the
    process began. ``followed_since``, ``truncating`` and ``delayed_until`` control its fetcher while it follows.
    ``held_back`` is true while open transactions keep the last stable offset below the high watermark.
    """

    __slots__ = (
        "broker",
        "caught_up",
        "checkpointed",
        "delayed_until",
        "failed",
        "flushed_at",
        "followed_since",
        "held_back",
        "high_watermark",
        "known_leader",
        "last_stable_offset",
        "leadership",
        "log",
        "parked",
        "partition",
        "place",
        "producers",
        "recovery_point",
        "state",
        "topic",
        "truncating",
    )

    def __init__(self, broker: ReplicaHost, state: PartitionState) -> None:
        self.broker = broker
        self.partition = state.partition
        self.topic = topic_of(state.partition)
        self.state = state
        self.place = state.replicas.index(broker.id)
        version = broker.cluster.version
        self.log = Log(version.epoch_noted_at_election)
        self.producers = ProducerStates(version.cached_batches, version.markers_keep_producer)
        self.high_watermark = 0
        self.last_stable_offset = 0
        self.held_back = False
        self.checkpointed = 0
        self.recovery_point = 0
        self.flushed_at = broker.clock.now
        self.leadership: Leadership | None = None
        self.known_leader = NO_LEADER
        self.caught_up: dict[int, int] = {}
        self.followed_since = -1
        self.truncating = False
        self.failed = False
        self.delayed_until = 0
        self.parked: list[ParkedFetch] = []

    # -- the log on the broker's disk

    def append(self, records: Sequence[Record], role: str) -> None:
        """Appends to the log, and flushes it if flush.messages asks for it."""
        log = self.log
        base = log.end
        log.append(records)
        self.producers.appended(base, records, self.broker.clock.now)
        self.broker.emit(Kind.APPENDED, self.partition, base, log.end, tuple(records), role)
        if flush_is_due(log.end, log.recovery_point, self.broker.cluster.topic_integer(self.topic, "flush.messages")):
            self.flush()

    def truncate(self, end: int, rule: str) -> None:
        """Truncates the log to ``end``; the high watermark cannot stay above it."""
        if end >= self.log.end:
            self.log.truncate_epochs(end)  # UnifiedLog.truncateTo: also if no record is removed
            return
        self.broker.emit(Kind.TRUNCATED, self.partition, self.log.end, end, rule)
        self.log.truncate(end)
        self._rebuild_producers()
        if self.high_watermark > end:
            self.set_high_watermark(end, FOLLOWER)
        else:
            self._settle()

    def begin_at(self, start: int) -> None:
        """Drops every record: the leader's log starts after the end of this one."""
        self.broker.emit(Kind.TRUNCATED, self.partition, self.log.end, start, "fetching.out_of_range_end")
        self.log.begin_at(start)
        self._rebuild_producers()
        self.set_high_watermark(start, FOLLOWER)

    def delete_before(self, start: int) -> None:
        """Drops the records before ``start``: retention, or DeleteRecords."""
        if start > self.log.start:
            self.log.delete_before(start)
            self.broker.emit(Kind.LOG_START, self.partition, start)
            self._settle()

    def set_high_watermark(self, offset: int, role: str) -> None:
        """Sets the high watermark."""
        self.high_watermark = offset
        self.broker.emit(Kind.HIGH_WATERMARK, self.partition, offset, role)
        self._settle()

    def _settle(self) -> None:
        """Moves the last stable offset with the high watermark, as far as transactions have ended."""
        if self.producers.is_empty:
            self.last_stable_offset = self.high_watermark
            return
        before, self.last_stable_offset = (
            self.last_stable_offset,
            self.producers.stable_offset(self.high_watermark, self.log.start),
        )
        held_back = self.last_stable_offset < self.high_watermark
        if self.last_stable_offset != before and (held_back or self.held_back):
            self.broker.emit(Kind.LAST_STABLE_OFFSET, self.partition, self.last_stable_offset)
        self.held_back = held_back

    def _rebuild_producers(self) -> None:
        self.producers.rebuild(self.log.start, self.log.records, self.broker.clock.now)

    def checkpoint(self) -> None:
        """Writes the high watermark to the disk."""
        self.checkpointed = self.high_watermark

    def flush(self) -> None:
        """Flushes the log to the disk."""
        self.log.flush()
        self.flushed_at = self.broker.clock.now

    def flush_if_overdue(self) -> None:
        """Flushes the log if flush.ms is over: KafkaScheduler's task for each log."""
        time = self.broker.cluster.topic_integer(self.topic, "flush.ms") * MICROSECONDS
        if flush_is_overdue(self.broker.clock.now, self.flushed_at, time):
            self.flush()

    def checkpoint_recovery_point(self) -> None:
        """Writes the recovery point, up to which the broker takes the log for flushed."""
        self.recovery_point = self.log.recovery_point

    def recover(self, clean: bool, power_lost: bool, kept: int) -> None:
        """Restores log and high watermark from the disk when the broker starts.

        In ZooKeeper mode a new process knows nothing of its partitions before it is told (Partition.leaderEpoch is -1):
        it takes whatever a controller says first. In KRaft its own copy of the metadata log never goes back.
        """
        if self.broker.cluster.version.controller is ControllerKind.ZOOKEEPER:
            self.state = self.state._replace(leader=NO_LEADER, leader_epoch=-1, partition_epoch=-1)
        log = self.log
        begin = recovery_begins(self.recovery_point, log.start, log.end, clean)
        self.broker.emit(Kind.RECOVERY_BEGINS, self.partition, begin)
        end = recovered_end_offset(log.end, log.flushed, power_lost, kept)
        lost = log.end - end
        flushed = log.flushed
        log.truncate(end)
        log.flushed = flushed_after_start(log.end, flushed, power_lost)
        recovered = self.broker.cluster.version.recovered_point
        log.recovery_point = recovery_point_after_start(log.end, self.recovery_point, clean, recovered)
        self.flushed_at = self.broker.clock.now
        self._rebuild_producers()
        self.high_watermark = recovered_high_watermark(self.checkpointed, log.start, log.end)
        self.leadership = None
        self.known_leader = NO_LEADER
        self.caught_up = {}
        self.parked = []
        self.broker.emit(Kind.RECOVERED, self.partition, log.end, lost, self.high_watermark)
        self._settle()

    # -- the controller's decisions

    def apply(self, state: PartitionState) -> None:
        """Takes over a controller's decision, unless it is older than the known state."""
        known = self.state
        if not takes_state(known.leader_epoch, known.partition_epoch, state.leader_epoch, state.partition_epoch):
            return
        self.state = state
        self.place = state.replicas.index(self.broker.id)
        if not self.broker.cluster.version.begins_anew:
            self._remember(state.replicas)
        if state.leader_id == self.broker.id:
            self._lead(state)
        else:
            self._follow(state, known)

    def _remember(self, replicas: tuple[int, ...]) -> None:
        """Keeps the time at which each replica had every record, or was first known (Partition.getOrCreateReplica)."""
        if self.leadership is not None:
            self.caught_up.update(zip(self.leadership.replicas, self.leadership.last_caught_up, strict=True))
        now = self.broker.clock.now
        self.caught_up = {broker: self.caught_up.get(broker, now) for broker in replicas}

    def _lead(self, state: PartitionState) -> None:
        before = self.leadership
        if before is not None and before.epoch == state.leader_epoch:
            before.committed(state)
            return
        self.broker.stop_following(self.partition)
        self.known_leader = self.broker.id
        if self.broker.cluster.version.epoch_noted_at_election:
            self.log.assign_epoch(state.leader_epoch)
        self.leadership = Leadership(self, state, before)
        self.broker.emit(Kind.BECAME_LEADER, self.partition, state.leader_epoch, state.ids(state.isr), self.log.end)
        self.leadership.advance()
        # ReplicaManager.makeLeaders: not of partitions it led already; BrokerMetadataPublisher: of all
        if before is None or self.broker.cluster.version.controller is ControllerKind.KRAFT:
            self.broker.leads(self.partition)

    def _follow(self, state: PartitionState, known: PartitionState) -> None:
        if self.leadership is not None:
            leadership, self.leadership = self.leadership, None
            leadership.resign()
            self.broker.emit(Kind.RESIGNED, self.partition, leadership.epoch)
            self.broker.resigned(self.partition)
        followed_on = self.broker.cluster.version.epochs_followed_on
        if not makes_follower(state.leader_id, self.known_leader, state.leader_epoch, known.leader_epoch, followed_on):
            return
        self.known_leader = state.leader_id
        self.broker.stop_following(self.partition)
        self.wake(True, LEADER_CHANGED)
        if state.leader >= 0:
            self.broker.emit(Kind.BECAME_FOLLOWER, self.partition, state.leader_epoch, state.leader_id)
            self.broker.follow(self.partition)

    # -- a leader's answer to a follower

    def take(self, records: tuple[Record, ...], leader_high_watermark: int) -> None:
        """Appends fetched records and takes over the high watermark."""
        if records:
            self.append(records, FOLLOWER)
        high_watermark = follower_high_watermark(leader_high_watermark, self.log.start, self.log.end)
        if high_watermark != self.high_watermark:
            self.set_high_watermark(high_watermark, FOLLOWER)
            self.wake(False, HIGH_WATERMARK_ROSE)

    # -- readers

    def readable_end(self, isolation: int) -> int:
        """The offset before which a reader with that isolation may read."""
        return readable_end(isolation, self.log.end, self.high_watermark, self.last_stable_offset)

    def wake(self, follower_too: bool, why: str) -> None:
        """Completes parked fetches: consumers', and if the log grew or the leader changed also followers'."""
        for parked in tuple(self.parked):
            if follower_too or not parked.follower:
                parked.wake(self, why)
