"""A consumer's positions: its offset in each partition, the broker it reads from, and the records fetched ahead.

org.apache.kafka.clients.consumer.internals.SubscriptionState, Fetcher, FetchCollector and OffsetFetcher.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kreplica.engine.rules.groups.consumer_position import Validation, needs_validation, validate_position
from kreplica.engine.rules.groups.offset_commit import INVALID_OFFSET
from kreplica.engine.rules.groups.offset_reset import NOT_YET
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import ANY_EPOCH, READ_TO_LAST_STABLE_OFFSET
from kreplica.engine.rules.replication.follower_reads import (
    goes_to_leader,
    out_of_range_resets,
    preferred_read_replica_expired,
)
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.reads import ConsumerGiven
from kreplica.engine.simulator.clients import requests as consumer_requests
from kreplica.engine.simulator.clients.poll_loop import PollLoop
from kreplica.engine.simulator.clients.requests import NO_REPLICA, Fetched, fetched_records
from kreplica.engine.trace import Kind, Record


class Position(NamedTuple):
    """Position of a consumer in a partition.

    Args:
        offset: The next offset to read.
        epoch: Leader epoch of the record before it, -1 if it is not known.
        leader_epoch: The leader's epoch under which the position was validated.
    """

    offset: int
    epoch: int
    leader_epoch: int


class Positions:
    """Positions of the assigned partitions, and fetched records that the application does not have yet."""

    __slots__ = ("_buffers", "_busy", "_consumer", "_preferred", "_round", "at")

    def __init__(self, consumer: PollLoop) -> None:
        self._consumer = consumer
        self.at: dict[str, Position] = {}
        self._buffers: dict[str, deque[Fetched]] = {}
        self._busy: set[str] = set()
        self._preferred: dict[str, tuple[int, int]] = {}
        self._round = 0

    # -- assignment

    def keep(self, partitions: tuple[str, ...]) -> None:
        """Forgets everything of other partitions; answers in flight are ignored."""
        self._round += 1
        self._busy = set()
        self.at = {partition: self.at[partition] for partition in partitions if partition in self.at}
        self._buffers = {one: buffer for one, buffer in self._buffers.items() if one in self.at}
        self._preferred = {one: chosen for one, chosen in self._preferred.items() if one in self.at}

    def missing(self, partitions: tuple[str, ...]) -> tuple[str, ...]:
        """The partitions that have no position."""
        return tuple(partition for partition in partitions if partition not in self.at)

    def committed(self, partition: str, offset: int, epoch: int) -> None:
        """Starts at the committed offset, or as auto.offset.reset says if there is none."""
        if offset == INVALID_OFFSET:
            self.reset(partition, "no committed offset")
        else:
            self.seek(partition, offset, epoch, "the committed offset", "offset_commit.fetched_offset")

    def seek(self, partition: str, offset: int, epoch: int, why: str, rule: str = "") -> None:
        """Continues at an offset; ``rule`` is the rule that decided it, empty where the application did."""
        self._consumer.emit(Kind.POSITION_SET, partition, offset, why, rule)
        self.at[partition] = Position(offset, epoch, self._consumer.leader_epoch(partition))
        self._buffers.pop(partition, None)

    # -- resets

    def reset(self, partition: str, why: str) -> None:
        """Asks the leader for the offset to start at, unless auto.offset.reset is none."""
        policy = str(self._consumer.settings["auto.offset.reset"])
        if policy == "none":
            self._consumer.fail(f"no position in {partition}: {why}")
            return
        self._buffers.pop(partition, None)
        self.at.pop(partition, None)
        self._ask_offset(partition, policy, why)

    def _ask_offset(self, partition: str, policy: str, why: str) -> None:
        consumer = self._consumer
        leader = consumer.leader(partition)
        if partition in self._busy:
            return
        self._busy.add(partition)
        again = partial(self._later, partition, self._ask_offset, partition, policy, why)
        if leader is None:
            again()
            return
        committed_only = consumer.isolation == READ_TO_LAST_STABLE_OFFSET
        self._call(
            leader,
            "ListOffsets",
            partial(consumer_requests.list_offset, leader),
            (partition, policy, consumer.clock.now, committed_only, self._sent_epoch(partition)),
            partial(self._given_offset, partition, policy, why, again),
            again,
        )

    def _given_offset(
        self,
        partition: str,
        policy: str,
        why: str,
        again: Callable[..., None],
        error: ErrorCode,
        offset: int,
        epoch: int,
    ) -> None:
        consumer = self._consumer
        if error:
            again()
        elif offset == NOT_YET:  # OffsetFetcher asks again when the request would have timed out
            again(after=consumer.microseconds("request.timeout.ms"))
        else:
            self._busy.discard(partition)
            self.seek(partition, offset, -1, f"{policy}, {why}", "offset_reset.reset_position")
            self.at[partition] = self.at[partition]._replace(leader_epoch=epoch)
            consumer.fetch_more()

    def _call(
        self,
        broker: Broker,
        name: str,
        handler: Callable[..., object],
        arguments: tuple[object, ...],
        then: Callable[..., None],
        again: Callable[[], object],
    ) -> None:
        """Sends a request; its answer is ignored once other partitions are assigned."""
        consumer, current = self._consumer, self._round

        def heard(*answer: Any) -> None:
            if current == self._round:
                then(*answer)

        def failed(_reason: str) -> None:
            if current == self._round:
                again()

        consumer.cluster.transport.call(consumer, broker, name, handler, arguments, heard, failed)

    def _later(self, partition: str, function: Callable[..., None], *arguments: object, after: int = 0) -> None:
        """Asks for metadata after so many microseconds, retry.backoff.ms if 0, and tries again."""
        consumer, current = self._consumer, self._round

        def again() -> None:
            if current == self._round:
                self._busy.discard(partition)
                function(*arguments)

        consumer.after(after or consumer.microseconds("retry.backoff.ms"), consumer.refresh, again)

    # -- validation

    def metadata_heard(self) -> None:
        """Checks the positions against new leader epochs."""
        for partition in list(self.at):
            if partition not in self._busy:
                self._compare_epochs(partition)

    def _compare_epochs(self, partition: str) -> None:
        """Validates a position of another epoch, whose record may be truncated: since 2.3 (KIP-320)."""
        position = self.at[partition]
        epoch = self._consumer.leader_epoch(partition)
        if epoch == position.leader_epoch:
            return
        self._preferred.pop(partition, None)
        detects = self._consumer.cluster.version.consumer_detects_truncation
        if detects and needs_validation(position.epoch, position.leader_epoch, epoch):
            self._validate(partition)
        else:
            self.at[partition] = position._replace(leader_epoch=epoch)

    def _validate(self, partition: str) -> None:
        consumer, position = self._consumer, self.at.get(partition)
        leader = consumer.leader(partition)
        if position is None or partition in self._busy:
            return
        self._busy.add(partition)
        again = partial(self._later, partition, self._validate, partition)
        if leader is None:
            again()
            return
        asked_epoch = consumer.leader_epoch(partition)

        def heard(answers: tuple[tuple[str, ErrorCode, int, int], ...]) -> None:
            _, error, epoch, end_offset = answers[0]
            if error:
                again()
                return
            self._busy.discard(partition)
            self._validated(partition, asked_epoch, epoch, end_offset)

        asked = ((partition, position.epoch, asked_epoch),)
        self._call(leader, "OffsetsForLeaderEpoch", leader.reads.ends_of_epochs, (asked,), heard, again)

    def _validated(self, partition: str, leader_epoch: int, epoch: int, end_offset: int) -> None:
        position = self.at[partition]
        has_policy = self._consumer.settings["auto.offset.reset"] != "none"
        verdict, offset = validate_position(position.offset, epoch, end_offset, has_policy)
        if verdict is Validation.LOG_TRUNCATION:
            self._consumer.fail(f"LogTruncationException in {partition} at {position.offset}")
            return
        if verdict is Validation.RESET:
            self.reset(partition, "the log was truncated")
            return
        if verdict is Validation.TRUNCATED:
            self.seek(partition, offset, epoch, "the log was truncated", "consumer_position.validate_position")
        self.at[partition] = self.at[partition]._replace(leader_epoch=leader_epoch)
        self._consumer.fetch_more()

    # -- fetching

    def fetch(self) -> None:
        """Fetches every partition that has a position, no records fetched ahead, and no request in flight."""
        for partition in list(self.at):
            if partition not in self._busy and not self._buffers.get(partition):
                self._fetch(partition)

    def _fetch(self, partition: str) -> None:
        if partition in self.at and partition not in self._busy:
            self._compare_epochs(partition)
        consumer, position = self._consumer, self.at.get(partition)
        if position is None or partition in self._busy:
            return
        self._busy.add(partition)
        source = self._source(partition)
        if source is None:
            self._later(partition, self._fetch, partition)
            return
        most, wait = consumer.integer("max.poll.records"), consumer.microseconds("fetch.max.wait.ms")
        reading, rack = (consumer.isolation, most, wait), str(consumer.settings["client.rack"])
        self._call(
            source,
            "Fetch",
            partial(consumer_requests.fetch, source),
            (partition, position.offset, reading, self._sent_epoch(partition), rack),
            partial(self._take, position),
            partial(self._fetch_failed, partition),
        )

    def _fetch_failed(self, partition: str, error: ErrorCode = ErrorCode.NETWORK_EXCEPTION) -> None:
        self._refused(partition, error)
        self._later(partition, self._fetch, partition)

    def _source(self, partition: str) -> Broker | None:
        consumer = self._consumer
        replica, chosen = self._preferred.get(partition, (NO_REPLICA, 0))
        longest = consumer.microseconds("metadata.max.age.ms")
        if replica != NO_REPLICA and not preferred_read_replica_expired(consumer.clock.now, chosen, longest):
            if not self._goes_to_leader(partition, replica, ErrorCode.NONE):
                return consumer.brokers[replica]
            if consumer.cluster.version.errors_lead_to_leader:  # the leader may know better: it asks
                consumer.refresh(lambda: None)
        self._preferred.pop(partition, None)
        return consumer.leader(partition)

    def _goes_to_leader(self, partition: str, replica: int, error: ErrorCode) -> bool:
        consumer = self._consumer
        online = replica in consumer.online.get(partition, ())
        return goes_to_leader(online, error, consumer.cluster.version.errors_lead_to_leader)

    def _refused(self, partition: str, error: ErrorCode) -> None:
        """Handles a fetch that ended with an error, or without an answer."""
        replica, _ = self._preferred.get(partition, (NO_REPLICA, 0))
        if replica != NO_REPLICA and self._goes_to_leader(partition, replica, error):
            del self._preferred[partition]

    def _sent_epoch(self, partition: str) -> int:
        """The leader epoch that requests carry: since 2.3 (KIP-320)."""
        if not self._consumer.cluster.version.consumer_detects_truncation:
            return ANY_EPOCH
        return self._consumer.leader_epoch(partition)

    def _take(self, asked: Position, given: ConsumerGiven, preferred: int) -> None:
        partition, consumer = given.partition, self._consumer
        self._busy.discard(partition)
        if self.at.get(partition) is not asked:
            consumer.fetch_more()  # a seek came between
        elif preferred != NO_REPLICA:
            self._preferred[partition] = (preferred, consumer.clock.now)
            consumer.emit(Kind.READS_FROM, partition, preferred)
            self._fetch(partition)
        elif given.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(partition)
        elif given.error:
            self._busy.add(partition)
            self._fetch_failed(partition, given.error)
        else:
            self._keep_records(given)

    def _out_of_range(self, partition: str) -> None:
        from_follower = self._preferred.pop(partition, None) is not None
        if out_of_range_resets(from_follower):
            self.reset(partition, "out of range")
        else:
            self._fetch(partition)

    def _keep_records(self, given: ConsumerGiven) -> None:
        if given.records:
            self._buffers[given.partition] = deque(fetched_records(given))
            self._consumer.records_came()
        else:
            self._consumer.fetch_more()

    def hand_out(self, most: int) -> list[tuple[str, int, Record]]:
        """Up to ``most`` records for the application; the positions move past them."""
        handed: list[tuple[str, int, Record]] = []
        for partition, buffer in self._buffers.items():
            while buffer and len(handed) < most:
                offset, record, handed_out = buffer.popleft()
                self.at[partition] = self.at[partition]._replace(offset=offset + 1, epoch=record.epoch)
                if handed_out:
                    handed.append((partition, offset, record))
        return handed

    @property
    def has_records(self) -> bool:
        """True if records are fetched ahead."""
        return any(self._buffers.values())

    def offsets(self) -> tuple[tuple[str, int, int], ...]:
        """The contents of a commit of all positions: partition, offset, leader epoch."""
        return tuple((partition, one.offset, one.epoch) for partition, one in self.at.items())
