"""A leader's state: positions of its followers, the ISR, and waiting producers.

kafka.cluster.Partition (leader's part), kafka.cluster.Replica, kafka.server.DelayedProduce.

Also the checks of a leader before it appends a producer's batch or a transaction's marker.

kafka.log.UnifiedLog.analyzeAndValidateProducerState.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from kreplica.engine.rules.controller.alter_partition import expanded_isr, maximal_isr, stays_pending
from kreplica.engine.rules.replication import follower_lag as lag
from kreplica.engine.rules.replication.acknowledgement import (
    ACKS_ALL,
    append_error,
    completion_error,
    waits_for_followers,
)
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import position_after_error
from kreplica.engine.rules.replication.high_watermark import (
    delete_records_error,
    delete_records_waits,
    effective_min_isr,
    high_watermark_stands_still,
    leader_high_watermark,
    low_watermark,
    replicas_that_hold_it,
)
from kreplica.engine.rules.replication.leader_and_isr import keeps_positions
from kreplica.engine.rules.replication.quorum import quorum_high_watermark
from kreplica.engine.rules.replication.replica_set import contains, everybody, without
from kreplica.engine.rules.transactions.producer_state import (
    NO_OFFSET,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    ProducerState,
    duplicate_offset,
    producer_epoch_error,
)
from kreplica.engine.rules.transactions.transaction_append import (
    NO_GUARD,
    marker_error,
    plain_write_error,
    transaction_open,
    transactional_sequence_error,
    verification_error,
)
from kreplica.engine.simulator.broker.host import ReplicaHost
from kreplica.engine.simulator.broker.log import Log, ProducerStates
from kreplica.engine.simulator.broker.parked_fetch import APPENDED, HIGH_WATERMARK_ROSE
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.trace import DATA, LEADER, Kind, Record
from kreplica.model.settings import MIN_ISR


class LedReplica(Protocol):
    """A replica as its leadership knows it: see ``replica.Replica``."""

    broker: ReplicaHost
    partition: str
    topic: str
    place: int
    state: PartitionState
    log: Log
    producers: ProducerStates
    high_watermark: int
    caught_up: dict[int, int]
    leadership: Leadership | None

    def append(self, records: Sequence[Record], role: str) -> None:
        """Appends to the log."""

    def delete_before(self, start: int) -> None:
        """Drops the records before ``start``."""

    def set_high_watermark(self, offset: int, role: str) -> None:
        """Sets the high watermark."""

    def wake(self, follower_too: bool, why: str) -> None:
        """Completes parked fetches."""


def check_producer(replica: LedReplica, records: Sequence[Record], guard: int) -> tuple[ErrorCode, int]:
    """Returns the error of a batch, and its offset if the log has it already (NO_OFFSET otherwise).

    Args:
        replica: The leader's replica.
        records: One batch of a producer with an id, or a marker.
        guard: Guard of the verification.
    """
    first = records[0]
    state = replica.producers.state(first.producer_id)
    if first.kind == DATA and first.sequence != NO_SEQUENCE:
        offset = duplicate_offset(
            state.epoch, state.batches, first.producer_epoch, first.sequence, records[-1].sequence
        )
        if offset != NO_OFFSET:
            replica.broker.emit(Kind.DUPLICATE, replica.partition, first.producer_id, first.sequence, offset)
            return ErrorCode.NONE, offset
    error, rule = _error(replica, state, first, guard)
    if error:
        broker, partition = replica.broker, replica.partition
        broker.emit(Kind.APPEND_REFUSED, partition, first.producer_id, first.sequence, error.name, rule)
    return error, NO_OFFSET


def asks_coordinator(replica: LedReplica, record: Record) -> bool:
    """True if a leader asks the coordinator before it appends: for a transaction's first batch on its partition.

    With transaction version 2 it always asks: that is how the partition is added to the transaction.
    ReplicaManager.maybeSendPartitionsToTransactionCoordinator.
    """
    version_2 = replica.broker.cluster.version.transaction_version >= 2
    return (version_2 or _verifies(replica)) and _begins_here(replica, record)


def _verifies(replica: LedReplica) -> bool:
    cluster = replica.broker.cluster
    return cluster.version.verify_transactions and cluster.boolean("transaction.partition.verification.enable")


def _begins_here(replica: LedReplica, record: Record) -> bool:
    version_2 = replica.broker.cluster.version.transaction_version >= 2
    state = replica.producers.state(record.producer_id)
    return record.transactional and not transaction_open(state, record.producer_epoch, version_2)


def _error(replica: LedReplica, state: ProducerState, record: Record, guard: int) -> tuple[ErrorCode, str]:
    if record.kind != DATA:
        version = replica.broker.cluster.version
        strict = version.strict_markers and version.transaction_version >= 2
        return marker_error(state, record.producer_epoch, int(record.value), strict), "transaction_append.marker_error"
    by_client = record.sequence != NO_SEQUENCE  # a group coordinator's writes have no sequence
    if by_client and _verifies(replica) and _begins_here(replica, record):
        error = verification_error(replica.producers.verifications.get(record.producer_id), guard)
        if error:
            return error, "transaction_append.verification_error"
    error = producer_epoch_error(state.epoch, record.producer_epoch)
    if error:
        return error, "producer_state.producer_epoch_error"
    if by_client:
        error = _sequence_error(replica, state, record)
        if error:
            return error, "transaction_append.transactional_sequence_error"
    return plain_write_error(state, record.transactional), "transaction_append.plain_write_error"


def _sequence_error(replica: LedReplica, state: ProducerState, record: Record) -> ErrorCode:
    version = replica.broker.cluster.version
    return transactional_sequence_error(
        state,
        replica.producers.verifications.get(record.producer_id),
        record.producer_epoch,
        record.sequence,
        version.unknown_producer,
        version.zero_sequence_first,
    )


UNKNOWN = -1
"""A follower's log end offset before it has fetched in this epoch."""

Answer = Callable[[ErrorCode, int], object]
"""Callback that answers a producer: the error, and the offset of its first record (-1 with an error)."""


class WaitingProduce(NamedTuple):
    """A produce request with acks=all that waits for the high watermark to reach ``required``."""

    required: int
    base: int
    deadline: int
    answer: Answer


class WaitingDeletion(NamedTuple):
    """A request to delete records that waits for the low watermark to reach ``required``.

    ``found`` is the low watermark at the request: the answer if ``required`` is not reached in time.
    """

    required: int
    found: int
    deadline: int
    answer: Answer


class Leadership:
    """A leader's view of its partition, from its election to the end of its epoch.

    ``isr`` is the ISR that the controller has confirmed, ``pending`` the one that this leader has asked for. Lists are
    by index in the assignment; times are microseconds of virtual time.
    """

    __slots__ = (
        "broker_epochs",
        "deletions",
        "ends",
        "epoch",
        "epoch_start",
        "isr",
        "last_caught_up",
        "last_fetch",
        "last_fetch_end",
        "log_starts",
        "partition_epoch",
        "pending",
        "replica",
        "replicas",
        "told",
        "waiting",
    )

    def __init__(self, replica: LedReplica, state: PartitionState, before: Leadership | None = None) -> None:
        """Begins an epoch; ``before`` is the previous epoch's leadership if this broker led it too."""
        now = replica.broker.clock.now
        replicas = len(state.replicas)
        self.replica = replica
        self.replicas = state.replicas
        self.epoch = state.leader_epoch
        self.epoch_start = replica.log.end
        self.isr = self.pending = state.isr
        self.partition_epoch = state.partition_epoch
        self.ends = [UNKNOWN] * replicas
        self.log_starts = [UNKNOWN] * replicas
        anew = replica.broker.cluster.version.begins_anew
        self.last_caught_up = [
            lag.last_caught_up_in_new_epoch(contains(state.isr, i), now, replica.caught_up.get(broker, now), anew)
            for i, broker in enumerate(state.replicas)
        ]
        self.last_fetch = [self._before_any_fetch()] * replicas
        self.last_fetch_end = [UNKNOWN] * replicas
        self.broker_epochs = [UNKNOWN] * replicas
        self.told = [0] * replicas
        self.waiting: deque[WaitingProduce] = deque()
        self.deletions: list[WaitingDeletion] = []
        if before is not None:
            self._lead_on(before)

    def _before_any_fetch(self) -> int:
        """A follower's time of fetching before its first fetch: never; before 0.9 the time it was added."""
        broker = self.replica.broker
        return broker.clock.now if broker.cluster.version.lag_by_messages else lag.NEVER_CAUGHT_UP

    def _lead_on(self, before: Leadership) -> None:
        """Re-elected: waiting requests go on waiting, and the followers' positions stay known (since 0.9).

        kafka.cluster.Partition.makeLeader, Replica.resetReplicaState.
        """
        self.waiting, before.waiting = before.waiting, deque()
        self._await_deadline()
        self.deletions, before.deletions = before.deletions, []
        for deletion in self.deletions:
            self._await_deletion(deletion)
        before._remap(self.replicas)
        version = self.replica.broker.cluster.version
        if not version.lag_by_messages and keeps_positions(self.epoch, before.epoch, version.positions_outlive_leaders):
            self.ends, self.log_starts, self.broker_epochs = before.ends, before.log_starts, before.broker_epochs
            self.told = before.told
            self.last_fetch = list(self.last_caught_up)
            self.last_fetch_end = [self.epoch_start] * len(self.ends)

    # -- records

    def produce(
        self, records: Sequence[Record], acks: int, timeout: int, answer: Answer, guard: int = NO_GUARD
    ) -> None:
        """Appends a batch and answers: at once, or with acks=all when it is committed.

        kafka.server.ReplicaManager.appendRecords. A batch that the log has already is answered alike.

        Args:
            records: Records of one producer.
            acks: 0, 1 or -1 for all.
            timeout: Longest time that acks=all may take, in microseconds.
            answer: Called once.
            guard: Guard of the verification of a transactional batch.
        """
        error = append_error(acks, self.isr, self.min_isr())
        known = NO_OFFSET
        if not error and records[0].producer_id != NO_PRODUCER_ID:
            error, known = check_producer(self.replica, records, guard)
        if error:
            answer(error, -1)
            return
        base = self.append(records) if known == NO_OFFSET else known
        end = base + len(records)
        if waits_for_followers(acks, self.replica.high_watermark, end):
            self._wait(WaitingProduce(end, base, self.replica.broker.clock.now + timeout, answer))
        else:
            error = completion_error(self.maximal(), self.min_isr()) if acks == ACKS_ALL else ErrorCode.NONE
            answer(error, -1 if error else base)

    def append(self, records: Sequence[Record]) -> int:
        """Appends in this epoch, wakes the followers, and returns the offset of the first record."""
        replica = self.replica
        base = replica.log.end
        replica.append(records, LEADER)
        self.advance()
        replica.wake(True, APPENDED)
        return base

    def _wait(self, waiting: WaitingProduce) -> None:
        behind = sum(1 for other in self.waiting if other.required > waiting.required)  # a duplicate may require less
        self.waiting.insert(len(self.waiting) - behind, waiting)
        if len(self.waiting) == 1:
            self._await_deadline()

    def _await_deadline(self) -> None:
        if self.waiting:
            broker = self.replica.broker
            broker.after(min(one.deadline for one in self.waiting) - broker.clock.now, self._expire)

    def _expire(self) -> None:
        now = self.replica.broker.clock.now
        if self.replica.leadership is not self:
            return
        late = [waiting for waiting in self.waiting if waiting.deadline <= now]
        self.waiting = deque(waiting for waiting in self.waiting if waiting.deadline > now)
        for waiting in late:
            waiting.answer(ErrorCode.REQUEST_TIMED_OUT, -1)
        self._await_deadline()

    # -- deletion

    def delete_records(self, offset: int, timeout: int, answer: Answer) -> None:
        """Deletes the records before an offset; answers once every live replica has deleted them, too.

        kafka.cluster.Partition.deleteRecordsOnLeader; kafka.server.DelayedDeleteRecords.

        Args:
            offset: The new log start offset.
            timeout: Longest time that the other replicas may take, in microseconds.
            answer: Called once, with the error and the low watermark.
        """
        replica = self.replica
        error = delete_records_error(offset, replica.high_watermark)
        if error:
            answer(error, UNKNOWN)
            return
        replica.delete_before(offset)
        deletion = WaitingDeletion(offset, self.low_watermark(), replica.broker.clock.now + timeout, answer)
        self.deletions.append(deletion)
        self._answer_deletions()
        self._await_deletion(deletion)

    def low_watermark(self) -> int:
        """The offset from which on every live replica's log still has records."""
        own, alive = self.replica.broker.id, self.replica.broker.alive
        live = sum(1 << place for place, broker in enumerate(self.replicas) if broker != own and broker in alive)
        return low_watermark(self.log_starts, live, self.replica.log.start)

    def _answer_deletions(self) -> None:
        if not self.deletions:
            return
        low = self.low_watermark()
        waiting, self.deletions = self.deletions, []
        for deletion in waiting:
            if delete_records_waits(low, deletion.required):
                self.deletions.append(deletion)
            else:
                deletion.answer(ErrorCode.NONE, low)

    def _await_deletion(self, deletion: WaitingDeletion) -> None:
        broker = self.replica.broker
        broker.after(max(deletion.deadline - broker.clock.now, 0), self._expire_deletion, deletion)

    def _expire_deletion(self, deletion: WaitingDeletion) -> None:
        if deletion in self.deletions:
            self.deletions.remove(deletion)
            deletion.answer(ErrorCode.REQUEST_TIMED_OUT, deletion.found)

    # -- the high watermark

    def min_isr(self) -> int:
        """min.insync.replicas of the topic; the effective one where the version has that."""
        cluster = self.replica.broker.cluster
        configured = cluster.topic_integer(self.replica.topic, MIN_ISR)
        if cluster.version.freeze_below_min_isr:
            return effective_min_isr(configured, len(self.ends))
        return configured

    def maximal(self) -> int:
        """The maximal ISR."""
        return maximal_isr(self.isr, self.pending, self.pending != self.isr)

    def advance(self) -> bool:
        """Moves the high watermark as far as it may; answers and wakes the requests that waited for it."""
        replica = self.replica
        cluster = replica.broker.cluster
        if cluster.by_majority:
            self.ends[replica.place] = replica.log.end
            return self._rise(quorum_high_watermark(tuple(self.ends), self.epoch_start, replica.high_watermark))
        if cluster.version.freeze_below_min_isr and high_watermark_stands_still(self.isr, self.min_isr()):
            return False
        self.ends[replica.place] = replica.log.end
        maximal = self.maximal()
        everyone = everybody(len(self.ends))
        outside = without(everyone, maximal)
        caught_up = self._caught_up(outside) if outside and cluster.version.waits_for_joining else 0
        eligible = everyone
        if caught_up and cluster.version.waits_only_for_eligible:
            eligible = replica.broker.eligible(self.replicas, self.broker_epochs)
        holding = replicas_that_hold_it(everyone, replica.place, maximal, caught_up, eligible)
        return self._rise(leader_high_watermark(replica.high_watermark, self.ends, holding))

    def _rise(self, high_watermark: int) -> bool:
        """Sets the high watermark if it has moved, and wakes the requests that wait for it."""
        replica = self.replica
        if high_watermark == replica.high_watermark:
            return False
        replica.set_high_watermark(high_watermark, LEADER)
        self._answer_producers()
        self._answer_deletions()
        replica.wake(replica.broker.cluster.version.high_watermark_wakes_followers, HIGH_WATERMARK_ROSE)
        return True

    def _answer_producers(self) -> None:
        high_watermark = self.replica.high_watermark
        while self.waiting and self.waiting[0].required <= high_watermark:
            waiting = self.waiting.popleft()
            error = completion_error(self.maximal(), self.min_isr())
            waiting.answer(error, -1 if error else waiting.base)

    def _caught_up(self, candidates: int) -> int:
        now = self.replica.broker.clock.now
        end = self.replica.log.end
        longest = self.replica.broker.lag_time_max
        end_suffices = self.replica.broker.cluster.version.end_suffices
        found = 0
        for place in range(len(self.ends)):
            if contains(candidates, place) and lag.is_caught_up(
                self.ends[place], end, self.last_caught_up[place], now, longest, end_suffices
            ):
                found |= 1 << place
        return found

    # -- followers

    def follower_at(self, place: int, offset: int, leader_end: int, log_start: int, broker_epoch: int) -> None:
        """Notes a follower's position, from the offset it fetches at; may bring it into the ISR and commit records.

        kafka.cluster.Partition.updateFollowerFetchState.

        Args:
            place: Index of the follower in the assignment.
            offset: Its log end offset.
            leader_end: The leader's log end offset when it read for the follower.
            log_start: The follower's log start offset.
            broker_epoch: The follower's broker epoch, as it sent it.
        """
        replica = self.replica
        now = replica.broker.clock.now
        self.last_caught_up[place] = lag.last_caught_up_after_fetch(
            self.last_caught_up[place],
            offset,
            leader_end,
            self.last_fetch_end[place],
            self.last_fetch[place],
            now,
            replica.broker.cluster.version.waits_for_joining,
        )
        moved = self.ends[place] != offset
        deleted = self.log_starts[place] != log_start
        self.last_fetch[place] = now
        self.ends[place] = offset
        self.last_fetch_end[place] = leader_end
        self.log_starts[place] = log_start
        self.broker_epochs[place] = broker_epoch
        if moved:
            replica.broker.emit(Kind.FOLLOWER_POSITION, replica.partition, replica.state.replicas[place], offset)
        self._maybe_let_in(place)
        if moved:
            self.advance()
        if deleted:
            self._answer_deletions()

    def answers_with_error(self, place: int) -> None:
        """Notes of a follower what a version notes whose fetch it answers with an error.

        kafka.cluster.Replica.updateLogReadResult, up to 2.3: end, log start and, since 0.9, the time are unknown then.
        """
        version = self.replica.broker.cluster.version
        self.ends[place] = position_after_error(self.ends[place], version.errors_forget_position)
        if version.errors_forget_position:
            self.log_starts[place] = self.last_fetch_end[place] = UNKNOWN
        if version.errors_forget_position and not version.lag_by_messages:
            self.last_fetch[place] = lag.NEVER_CAUGHT_UP

    def is_untold(self, follower: int) -> bool:
        """True if the high watermark is above the one last sent to a broker (lastSentHighWatermark)."""
        return follower in self.replicas and self.told[self.replicas.index(follower)] < self.replica.high_watermark

    def _maybe_let_in(self, place: int) -> None:
        if self.pending != self.isr or contains(self.isr, place):
            return
        version = self.replica.broker.cluster.version
        if lag.may_join_isr(
            place,
            self.maximal(),
            self.replica.broker.eligible(self.replicas, self.broker_epochs),
            self.ends[place],
            self.replica.high_watermark,
            self.epoch_start,
            version.join_at_epoch_start,
        ):
            broker = self.replica.state.replicas[place]
            self._ask(expanded_isr(self.isr, place), f"broker-{broker} has caught up", "follower_lag.may_join_isr")

    def look_for_failed(self) -> None:
        """Checks the ISR for failed followers, every half replica.lag.time.max.ms.

        kafka.cluster.Partition.maybeShrinkIsr.
        """
        if self.pending != self.isr or self.replica.broker.cluster.by_majority:
            return
        remaining = self._remaining()
        if remaining != self.isr:
            ids = self.replica.state.ids(self.isr & ~remaining)
            gone = ", ".join(f"broker-{broker}" for broker in ids)
            by_messages = self.replica.broker.cluster.version.lag_by_messages
            rule = "follower_lag.in_sync_by_time_or_messages" if by_messages else "follower_lag.in_sync_by_time"
            self._ask(remaining, f"{gone} did not keep up", rule)

    def _remaining(self) -> int:
        place = self.replica.place
        if not self.replica.broker.cluster.version.lag_by_messages:
            return lag.in_sync_by_time(self.isr, place, self._caught_up(self.isr))
        broker = self.replica.broker
        now, end = broker.clock.now, self.replica.log.end
        messages = broker.integer("replica.lag.max.messages")
        stuck = slow = 0
        for other in range(len(self.ends)):
            if lag.is_stuck(self.last_fetch[other], now, broker.lag_time_max):
                stuck |= 1 << other
            if lag.lags_by_messages(self.ends[other], end, messages):
                slow |= 1 << other
        return lag.in_sync_by_time_or_messages(self.isr, place, stuck, slow)

    # -- the ISR and the controller

    def _ask(self, isr: int, why: str, rule: str) -> None:
        replica = self.replica
        self.pending = isr
        replica.broker.emit(Kind.ISR_ASKED, replica.partition, replica.state.ids(isr), why, rule)
        replica.broker.ask_isr(replica.partition)

    def committed(self, state: PartitionState) -> None:
        """Takes over the ISR that the controller has confirmed for this epoch."""
        if state.partition_epoch < self.partition_epoch:
            return
        pending, version = self.pending not in (self.isr, state.isr), self.replica.broker.cluster.version
        if stays_pending(pending, self.partition_epoch, state.partition_epoch, version.known_state_ends_pending):
            return
        if pending and state.partition_epoch == self.partition_epoch:
            asked, known = state.ids(self.pending), state.ids(state.isr)
            self.replica.broker.emit(Kind.ISR_FORGOTTEN, self.replica.partition, asked, known)
        if state.replicas != self.replicas:
            self._remap(state.replicas)
        self.partition_epoch = state.partition_epoch
        self.isr = self.pending = state.isr
        self.advance()

    def refused(self, error: str, roll_back: bool, rule: str) -> None:
        """Handles the controller's refusal of an ISR: back to the confirmed one, or wait for its next report."""
        replica = self.replica
        replica.broker.emit(Kind.ISR_REFUSED, replica.partition, replica.state.ids(self.pending), error, rule)
        if roll_back:
            self.pending = self.isr

    def resign(self) -> None:
        """Ends the epoch: waiting clients are told to look for the new leader."""
        waiting, self.waiting = self.waiting, deque()
        for produce in waiting:
            produce.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        deletions, self.deletions = self.deletions, []
        for deletion in deletions:
            deletion.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, UNKNOWN)

    def _remap(self, replicas: tuple[int, ...]) -> None:
        """Keeps the state of each broker when a reassignment has changed its index in the assignment."""
        before = {broker: place for place, broker in enumerate(self.replicas)}
        places = [before.get(broker, -1) for broker in replicas]
        self.replicas = replicas
        self.ends = _moved(self.ends, places, UNKNOWN)
        self.log_starts = _moved(self.log_starts, places, UNKNOWN)
        self.last_caught_up = _moved(self.last_caught_up, places, lag.NEVER_CAUGHT_UP)
        self.last_fetch = _moved(self.last_fetch, places, self._before_any_fetch())
        self.last_fetch_end = _moved(self.last_fetch_end, places, UNKNOWN)
        self.broker_epochs = _moved(self.broker_epochs, places, UNKNOWN)
        self.told = _moved(self.told, places, 0)


def _moved(values: list[int], places: list[int], unknown: int) -> list[int]:
    return [values[place] if place >= 0 else unknown for place in places]
