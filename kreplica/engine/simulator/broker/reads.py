"""A broker's answers to readers: followers, consumers, and requests for the ends of leader epochs.

kafka.server.ReplicaManager.fetchMessages and readFromLog, kafka.cluster.Partition.fetchRecords.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import (
    READ_TO_LAST_STABLE_OFFSET,
    READ_TO_LOG_END,
    consumer_fetch_waits,
    diverges,
    follower_fetch_waits,
    is_out_of_range,
    leader_epoch_error,
    updates_follower_fetch_state,
)
from kreplica.engine.rules.replication.follower_reads import readable_until
from kreplica.engine.rules.replication.isolation import AbortedTransaction, aborted_transactions
from kreplica.engine.rules.replication.log_truncation import (
    UNDEFINED_EPOCH_OFFSET,
    epoch_end_offset,
    epoch_end_offset_until_2_0,
)
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.broker.host import ReplicaHost
from kreplica.engine.simulator.broker.log import Log
from kreplica.engine.simulator.broker.parked_fetch import HIGH_WATERMARK_ROSE, ParkedFetch
from kreplica.engine.simulator.broker.replica import Replica
from kreplica.engine.trace import Kind, Record

Reply = Callable[..., object]


class Want(NamedTuple):
    """A follower's request for one partition."""

    partition: str
    offset: int
    last_fetched_epoch: int
    leader_epoch: int
    log_start: int


class Given(NamedTuple):
    """The leader's answer for one partition of a follower's fetch.

    ``epoch`` and ``end_offset`` are the end of the follower's last epoch at the leader when the logs diverge (-1
    otherwise); with OFFSET_OUT_OF_RANGE ``log_start`` and ``end_offset`` are the leader's log, which Kafka's follower
    asks for by another request.
    """

    partition: str
    error: ErrorCode
    records: tuple[Record, ...]
    high_watermark: int
    log_start: int
    epoch: int = -1
    end_offset: int = -1


class ConsumerGiven(NamedTuple):
    """The answer to a consumer's fetch: records from ``offset`` on, and the end of the readable log.

    ``aborted`` are the aborted transactions that reach into the records, for read_committed; ``readable_end`` is the
    high watermark, or for read_committed the last stable offset.
    """

    partition: str
    error: ErrorCode
    offset: int
    records: tuple[Record, ...]
    high_watermark: int
    log_start: int
    log_end: int
    leader_epoch: int
    aborted: tuple[AbortedTransaction, ...] = ()
    readable_end: int = -1


class BrokerReads:
    """A broker's answers from its logs; each reads the log as it is at that moment."""

    __slots__ = ("_broker", "_replicas")

    def __init__(self, broker: ReplicaHost, replicas: Mapping[str, Replica]) -> None:
        self._broker = broker
        self._replicas = replicas

    def for_follower(self, follower: int, broker_epoch: int, most: int, wants: tuple[Want, ...], reply: Reply) -> None:
        """Answers a follower: at once if there is anything to send, otherwise after a while.

        Args:
            follower, broker_epoch: Id and broker epoch of the follower.
            most: Largest number of records of a partition.
            wants: The requested partitions.
            reply: Takes a tuple of ``Given``.
        """
        untold = self._any_untold(follower, wants)
        given = [self._for_follower(follower, broker_epoch, most, want, True) for want in wants]
        waits = all(
            follower_fetch_waits(len(answer.records), answer.error != 0, answer.end_offset >= 0, untold)
            for answer in given
        )
        if not waits:
            reply(tuple(given))
            return

        def answer_again() -> None:
            reply(tuple(self._for_follower(follower, broker_epoch, most, want, False) for want in wants))

        replicas = [self._replicas[want.partition] for want in wants]
        wait = self._broker.integer("replica.fetch.wait.max.ms") * MICROSECONDS
        parked = ParkedFetch(self._broker, f"broker-{follower}", replicas, answer_again, wait, follower=True)
        if self._any_untold(follower, wants):  # by this very fetch
            parked.wake(replicas[0], HIGH_WATERMARK_ROSE)

    def _any_untold(self, follower: int, wants: tuple[Want, ...]) -> bool:
        """True if a high watermark has risen since it was last sent to the follower, and rises are sent at once."""
        if not self._broker.cluster.version.high_watermark_wakes_followers:
            return False
        led = [replica for want in wants if (replica := self._replicas.get(want.partition)) is not None]
        return any(replica.leadership is not None and replica.leadership.is_untold(follower) for replica in led)

    def _for_follower(self, follower: int, broker_epoch: int, most: int, want: Want, first_read: bool) -> Given:
        replica = self._replicas.get(want.partition)
        error = self._refusal(replica, want, follower)
        if replica is None or replica.leadership is None or error:
            self._broker.emit(Kind.FETCH_REFUSED, want.partition, f"broker-{follower}", error.name)
            if replica is not None and replica.leadership is not None and follower in replica.state.replicas:
                replica.leadership.answers_with_error(replica.state.replicas.index(follower))
            return Given(want.partition, error, (), -1, -1)
        log, version, leadership = replica.log, self._broker.cluster.version, replica.leadership
        place = replica.state.replicas.index(follower)
        if version.position_before_read and first_read:
            leadership.follower_at(place, want.offset, log.end, want.log_start, broker_epoch)
        high_watermark, leader_end = replica.high_watermark, log.end
        given = _elsewhere(replica, want)
        if given is None:
            records = log.read(want.offset, leader_end, most)
            given = Given(want.partition, ErrorCode.NONE, records, high_watermark, log.start)
            leadership.told[place] = high_watermark
        notes = first_read and not version.position_before_read
        if notes and updates_follower_fetch_state(
            given.error != 0, given.end_offset >= 0, version.diverging_position_noted
        ):
            leadership.follower_at(place, want.offset, leader_end, want.log_start, broker_epoch)
        if notes and given.error:
            leadership.answers_with_error(place)
        return given

    def _refusal(self, replica: Replica | None, want: Want, follower: int) -> ErrorCode:
        if replica is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        error = leader_epoch_error(want.leader_epoch, replica.state.leader_epoch)
        if error:
            return error
        if replica.leadership is None or follower not in replica.state.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def ends_of_epochs(self, asked: tuple[tuple[str, int, int], ...], reply: Reply) -> None:
        """Answers with the ends of epochs in its logs: partition, error, epoch, end offset for each."""
        reply(tuple(self._epoch_end(*one) for one in asked))

    def _epoch_end(self, partition: str, epoch: int, leader_epoch: int) -> tuple[str, ErrorCode, int, int]:
        replica = self._replicas.get(partition)
        if replica is None:
            return partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1
        error = leader_epoch_error(leader_epoch, replica.state.leader_epoch)
        if error:
            return partition, error, -1, -1
        if replica.leadership is None:
            return partition, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1
        log, noted = replica.log, self._broker.cluster.version.epoch_noted_at_election
        end_of = epoch_end_offset if noted else epoch_end_offset_until_2_0
        return partition, ErrorCode.NONE, *end_of(log.epochs, log.starts, log.end, epoch)

    def for_consumer(self, partition: str, offset: int, isolation: int, most: int, wait: int, reply: Reply) -> None:
        """Answers a consumer with a ConsumerGiven: at once if there are records, otherwise after ``wait``."""
        replica = self._replicas.get(partition)
        given = self._for_consumer(partition, offset, isolation, most)
        if replica is None or not consumer_fetch_waits(len(given.records), given.error != 0, wait):
            reply(given)
            return
        ParkedFetch(
            self._broker,
            "a consumer",
            [replica],
            lambda: reply(self._for_consumer(partition, offset, isolation, most)),
            wait,
            follower=isolation == READ_TO_LOG_END,
        )

    def _for_consumer(self, partition: str, offset: int, isolation: int, most: int) -> ConsumerGiven:
        replica = self._replicas.get(partition)
        if replica is None or not self._serves(replica):
            return ConsumerGiven(partition, ErrorCode.NOT_LEADER_OR_FOLLOWER, offset, (), -1, -1, -1, -1)
        log = replica.log
        readable_end = replica.readable_end(isolation)
        error, end = readable_until(offset, log.start, readable_end, log.end)
        records = log.read(offset, end, most) if offset < end else ()
        aborted: tuple[AbortedTransaction, ...] = ()
        if isolation == READ_TO_LAST_STABLE_OFFSET and records:
            aborted = aborted_transactions(replica.producers.index, offset, offset + len(records))
        return ConsumerGiven(
            partition,
            error,
            offset,
            records,
            replica.high_watermark,
            log.start,
            log.end,
            replica.state.leader_epoch,
            aborted,
            readable_end,
        )

    def _serves(self, replica: Replica) -> bool:
        return replica.leadership is not None or self._broker.cluster.version.follower_reads


def _elsewhere(replica: Replica, want: Want) -> Given | None:
    """The answer to a follower whose log has diverged: the end of its last epoch here, or the range of the log."""
    log = replica.log
    if want.last_fetched_epoch >= 0:
        epoch, end_offset = epoch_end_offset(log.epochs, log.starts, log.end, want.last_fetched_epoch)
        if end_offset == UNDEFINED_EPOCH_OFFSET:
            return _out_of_range(log, want)
        if diverges(want.last_fetched_epoch, want.offset, epoch, end_offset):
            return Given(want.partition, ErrorCode.NONE, (), replica.high_watermark, log.start, epoch, end_offset)
    return _out_of_range(log, want) if is_out_of_range(want.offset, log.start, log.end) else None


def _out_of_range(log: Log, want: Want) -> Given:
    return Given(want.partition, ErrorCode.OFFSET_OUT_OF_RANGE, (), -1, log.start, -1, log.end)
