"""A follower's fetcher: one for each leader it follows, with one request in flight at a time.

kafka.server.AbstractFetcherThread and ReplicaFetcherThread.
"""

from __future__ import annotations

from typing import Protocol

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import (
    answer_counts,
    out_of_range_end,
    out_of_range_halts,
    processes_partition_data,
    stops_fetching,
)
from kreplica.engine.rules.replication.log_truncation import (
    truncate_to_high_watermark,
    truncation_by_end_offset,
    truncation_round,
    truncation_round_until_2_0,
)
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.broker.host import ReplicaHost
from kreplica.engine.simulator.broker.reads import BrokerReads, Given, Want
from kreplica.engine.simulator.broker.replica import Replica
from kreplica.engine.simulator.environment import Process
from kreplica.engine.trace import Kind
from kreplica.engine.versions.supported import Truncation
from kreplica.model.settings import UNCLEAN


class Leader(Process, Protocol):
    """The broker that a fetcher fetches from."""

    reads: BrokerReads


class ReplicaFetcher:
    """Follows one leader for any number of partitions."""

    __slots__ = ("broker", "busy", "following", "leader")

    def __init__(self, broker: ReplicaHost, leader: Leader) -> None:
        self.broker = broker
        self.leader = leader
        self.following: dict[str, Replica] = {}
        self.busy = False

    def add(self, replica: Replica) -> None:
        """Starts to follow for a partition; truncates the log first where needed."""
        version = self.broker.cluster.version
        replica.truncating = not (version.truncate_on_fetch and replica.log.epochs)
        replica.failed = False
        replica.delayed_until = 0
        replica.followed_since = replica.state.leader_epoch
        self.following[replica.partition] = replica
        self.go()

    def remove(self, partition: str) -> None:
        """Stops following for a partition; an answer in flight is ignored."""
        self.following.pop(partition, None)

    def go(self) -> None:
        """Sends the next request, unless one is in flight."""
        if self.busy or not self.following:
            return
        ready = [replica for replica in self.following.values() if self._is_ready(replica)]
        cutting = [replica for replica in ready if replica.truncating]
        asking = [replica for replica in cutting if not self._cuts_alone(replica)]
        if asking:
            self._ask_epochs(asking)
        elif ready:
            self._fetch(ready)
        else:
            self._wait()

    def _is_ready(self, replica: Replica) -> bool:
        return not replica.failed and replica.delayed_until <= self.broker.clock.now

    def _wait(self) -> None:
        delayed = [r.delayed_until for r in self.following.values() if not r.failed]
        if delayed:
            self.broker.after(min(delayed) - self.broker.clock.now, self.go)

    # -- truncation before the first fetch

    def _cuts_alone(self, replica: Replica) -> bool:
        """Truncates to the high watermark, where the leader cannot be asked for leader epochs."""
        if self.broker.cluster.version.truncation is not Truncation.HIGH_WATERMARK and replica.log.epochs:
            return False
        end = truncate_to_high_watermark(replica.high_watermark, replica.log.end)
        replica.truncate(end, "log_truncation.truncate_to_high_watermark")
        replica.truncating = False
        return True

    def _ask_epochs(self, replicas: list[Replica]) -> None:
        fenced = self.broker.cluster.version.fenced_fetch
        asked = tuple(
            (replica.partition, replica.log.last_epoch, replica.state.leader_epoch if fenced else -1)
            for replica in replicas
        )
        since = {replica.partition: replica.followed_since for replica in replicas}
        self._send(
            "OffsetForLeaderEpoch", self.leader.reads.ends_of_epochs, (asked,), lambda given: self._cut(since, given)
        )

    def _cut(self, since: dict[str, int], given: tuple[tuple[str, ErrorCode, int, int], ...]) -> None:
        self.busy = False
        drops = self.broker.cluster.version.stale_epoch_ends_dropped
        for partition, error, epoch, end_offset in given:
            replica = self._still_followed(partition, since, drops)
            if replica is None:
                continue
            if error:
                self._hold_back(replica, error)
            else:
                self._cut_one(replica, epoch, end_offset)
        self.go()

    def _cut_one(self, replica: Replica, epoch: int, end_offset: int) -> None:
        log, version = replica.log, self.broker.cluster.version
        facts = log.epochs, log.starts, log.end, replica.high_watermark, epoch, end_offset
        if version.truncation is Truncation.KIP_101:
            end = truncation_by_end_offset(log.end, replica.high_watermark, end_offset)
            finished, rule = True, "log_truncation.truncation_by_end_offset"
        elif version.epoch_noted_at_election:
            (end, finished), rule = truncation_round(*facts), "log_truncation.truncation_round"
        else:
            (end, finished), rule = truncation_round_until_2_0(*facts), "log_truncation.truncation_round_until_2_0"
        replica.truncate(max(end, log.start), rule)
        replica.truncating = not finished and bool(log.epochs)

    # -- fetching

    def _fetch(self, replicas: list[Replica]) -> None:
        version = self.broker.cluster.version
        wants = tuple(
            Want(
                replica.partition,
                replica.log.end,
                replica.log.last_epoch if version.truncate_on_fetch else -1,
                replica.state.leader_epoch if version.fenced_fetch else -1,
                replica.log.start,
            )
            for replica in replicas
        )
        since = {replica.partition: replica.followed_since for replica in replicas}
        offsets = {want.partition: want.offset for want in wants}
        self._send(
            "Fetch",
            self.leader.reads.for_follower,
            (self.broker.id, self.broker.broker_epoch, self.broker.integer("replica.fetch.max.records"), wants),
            lambda given: self._take(since, offsets, given),
        )

    def _take(self, since: dict[str, int], offsets: dict[str, int], given: tuple[Given, ...]) -> None:
        if self.broker.disk_delay and any(answer.records for answer in given):
            self.broker.after(self.broker.disk_delay, self._take_now, since, offsets, given)
        else:
            self._take_now(since, offsets, given)

    def _take_now(self, since: dict[str, int], offsets: dict[str, int], given: tuple[Given, ...]) -> None:
        self.busy = False
        for answer in given:
            replica = self._still_followed(answer.partition, since)
            if replica is not None and replica.log.end == offsets[answer.partition]:
                self._take_one(replica, answer)
            if self.busy:
                return  # the broker ends, and this thread has
        self.go()

    def _take_one(self, replica: Replica, given: Given) -> None:
        if given.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(replica, given)
        elif given.error:
            self._hold_back(replica, given.error)
        else:
            diverging = given.end_offset >= 0
            if processes_partition_data(diverging, self.broker.cluster.version.watermark_before_cut):
                self._process_partition_data(replica, given)
            if diverging:
                self._cut_one(replica, given.epoch, given.end_offset)
                replica.truncating = False  # the next fetch tells whether the log has to be cut further

    def _process_partition_data(self, replica: Replica, given: Given) -> None:
        replica.take(given.records, given.high_watermark)
        replica.delete_before(min(given.log_start, replica.log.end))

    def _out_of_range(self, replica: Replica, given: Given) -> None:
        log, cluster = replica.log, self.broker.cluster
        unclean = cluster.topic_boolean(replica.topic, UNCLEAN)
        if out_of_range_halts(log.end, given.end_offset, unclean, cluster.version.truncation_needs_unclean):
            self.broker.emit(Kind.TRUNCATION_REFUSED, replica.partition, log.end, given.end_offset)
            self.busy = True
            self.broker.halt()
            return
        end, start = out_of_range_end(log.end, given.log_start, given.end_offset)
        if start >= 0:
            replica.begin_at(start)
        else:
            replica.truncate(max(end, log.start), "fetching.out_of_range_end")

    # -- errors

    def _hold_back(self, replica: Replica, error: ErrorCode) -> None:
        """FENCED_LEADER_EPOCH: waits for the controller's next report (onPartitionFenced). Others: for a while."""
        if stops_fetching(error):
            replica.failed = True
        else:
            replica.delayed_until = self.broker.clock.now + self._backoff()

    def _failed(self, _reason: str) -> None:
        self.busy = False
        until = self.broker.clock.now + self._backoff()
        for replica in self.following.values():
            replica.delayed_until = until
        self.go()

    def _backoff(self) -> int:
        return self.broker.integer("replica.fetch.backoff.ms") * MICROSECONDS

    def _still_followed(self, partition: str, since: dict[str, int], drops: bool = True) -> Replica | None:
        replica = self.following.get(partition)
        if replica is None or not answer_counts(since[partition], replica.followed_since, drops):
            return None
        return replica

    def _send(self, name: str, handler: object, arguments: tuple[object, ...], on_reply: object) -> None:
        self.busy = True
        broker = self.broker
        broker.cluster.transport.call(
            broker,
            self.leader,
            name,
            handler,  # type: ignore[arg-type]
            arguments,
            on_reply,  # type: ignore[arg-type]
            self._failed,
            broker.integer("replica.socket.timeout.ms") * MICROSECONDS,
        )
