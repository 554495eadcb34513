"""An idempotent producer: an id, an epoch, and a sequence for every record of a partition.

org.apache.kafka.clients.producer.internals.TransactionManager and Sender, since 0.11 (KIP-98). A retried batch is sent
only once it is the first unacknowledged one of its partition: up to five may be in flight and the order stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.transactions.idempotent_client import (
    MAX_IN_FLIGHT,
    SEQUENCE_ERRORS,
    Reaction,
    idempotence_contradiction,
    is_idempotent,
    reaction_to_expiry,
    reaction_to_failure,
    reaction_to_sequence_error,
)
from kreplica.engine.rules.transactions.producer_state import (
    NO_OFFSET,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    in_sequence,
    sequence_after,
)
from kreplica.engine.rules.transactions.transaction_states import MAX_EPOCH
from kreplica.engine.settings import Value
from kreplica.engine.setup import Setup
from kreplica.engine.simulator.clients.producer import Batch, Producer
from kreplica.engine.trace import Kind, Record
from kreplica.engine.versions.supported import Version
from kreplica.errors import UsageError

_IN_FLIGHT = "max.in.flight.requests.per.connection"
_MOST_RETRIES = 2**31 - 1


def idempotent_settings(setup: Setup, version: Version, own: Mapping[str, Value]) -> dict[str, Value] | None:
    """A producer's settings with those that idempotence implies; None if the producer is not idempotent.

    Args:
        setup: The simulated cluster, with the settings of the run.
        version: Kafka's defaults, and whether idempotence exists.
        own: The producer's own settings.

    Raises:
        UsageError: enable.idempotence=true, or transactional.id, conflicts with another setting.
    """
    explicit = {**setup.settings, **own}
    if not version.idempotence:
        return None
    asked = explicit.get("enable.idempotence")
    if explicit.get("transactional.id"):
        if asked is False:
            raise UsageError("transactional.id needs enable.idempotence=true", "", "leave enable.idempotence out")
        asked = True
    values = {**version.defaults, **explicit}
    if asked:
        values = {**values, "acks": ACKS_ALL, "retries": _MOST_RETRIES, **_own(explicit)}
        if version.cached_batches < MAX_IN_FLIGHT and _IN_FLIGHT not in explicit:
            values[_IN_FLIGHT] = version.cached_batches
    facts = (int(values["acks"]), int(values["retries"]), int(values[_IN_FLIGHT]))
    default = bool(version.defaults["enable.idempotence"])
    if not is_idempotent(None if asked is None else bool(asked), default, *facts):
        return None
    wrong = idempotence_contradiction(*facts, version.cached_batches)
    if wrong:
        raise UsageError(f"{wrong}={values[wrong]} does not go with an idempotent producer", "", f"leave {wrong} out")
    return values


def _own(explicit: Mapping[str, Value]) -> dict[str, int]:
    return {name: int(explicit[name]) for name in ("acks", "retries", _IN_FLIGHT) if name in explicit}


class Line:
    """The batches of one partition that are in flight, and its sequences.

    ``pending`` is in the order of their sequences. ``unresolved``: a batch was given up, and may be in the log or not;
    ``resolves_at`` is the sequence after it.
    """

    __slots__ = (
        "epoch",
        "following",
        "last_acknowledged",
        "last_offset",
        "pending",
        "producer_id",
        "resolves_at",
        "unresolved",
    )

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.pending: list[Batch] = []
        self.last_offset = NO_OFFSET
        self.restart(producer_id, epoch)

    def restart(self, producer_id: int, epoch: int) -> None:
        """Starts at sequence 0 of an id and epoch."""
        self.producer_id = producer_id
        self.epoch = epoch
        self.following = 0
        self.last_acknowledged = NO_SEQUENCE
        self.unresolved = False
        self.resolves_at = NO_SEQUENCE

    @property
    def is_known(self) -> bool:
        """True if every numbered record is known to be in the log."""
        return self.following == 0 or in_sequence(self.last_acknowledged, self.following)

    def number(self, batch: Batch, transactional: bool) -> None:
        """Gives a batch the next sequences."""
        batch.sequence, batch.epoch = self.following, self.epoch
        batch.records = tuple(
            Record(
                -1,
                value,
                self.producer_id,
                self.epoch,
                sequence_after(self.following, place),
                transactional=transactional,
                batch_sequence=self.following,
            )
            for place, value in enumerate(batch.values)
        )
        self.following = sequence_after(self.following, len(batch.values))

    def number_again(self, transactional: bool) -> None:
        """Gives every batch in flight new sequences, in their order."""
        for batch in self.pending:
            self.number(batch, transactional)
            batch.renumbered = True

    def shift(self, given_up: Batch, transactional: bool) -> None:
        """Gives the batches after one that is not in the log its sequences."""
        self.following = given_up.sequence
        for batch in self.pending:
            if batch.sequence > given_up.sequence:
                self.number(batch, transactional)
                batch.renumbered = True

    def acknowledge(self, batch: Batch, base: int) -> None:
        """Notes that a batch is in the log; answers may overtake each other."""
        self.last_acknowledged = max(self.last_acknowledged, batch.records[-1].sequence)
        self.last_offset = max(self.last_offset, base + len(batch.values) - 1 if base >= 0 else NO_OFFSET)

    def leave_unresolved(self, batch: Batch) -> None:
        """Notes that a batch was given up that may be in the log."""
        self.unresolved = True
        self.resolves_at = max(self.resolves_at, sequence_after(batch.records[-1].sequence, 1))


class IdempotentProducer(Producer):
    """A producer whose retried batches leaders recognize by id, epoch and sequence."""

    __slots__ = ("_lines", "producer_epoch", "producer_id")

    transactional = False

    def _forget(self) -> None:
        super()._forget()
        self._lines: dict[str, Line] = {}
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = -1

    # -- the id

    def on_start(self) -> None:
        """Asks for a producer id, and sends the remaining records meanwhile."""
        super().on_start()
        self.refresh(self.ask_id)

    def ask_id(self) -> None:
        """InitProducerId without a transactional id: any broker answers."""
        brokers = list(self.brokers.values())
        broker = brokers[self._bootstrap % len(brokers)]
        self.cluster.transport.call(
            self, broker, "InitProducerId", broker.init_producer_id, (), self._given_id, self._ask_id_again
        )

    def _ask_id_again(self, _reason: str) -> None:
        self._bootstrap += 1
        self.after(self.microseconds("retry.backoff.ms"), self.ask_id)

    def _given_id(self, _error: ErrorCode, producer_id: int, epoch: int) -> None:
        self.take_id(producer_id, epoch)
        for partition in tuple(self._queues):
            self._drain(partition)

    def take_id(self, producer_id: int, epoch: int) -> None:
        """Uses this id and epoch from now on."""
        self.producer_id, self.producer_epoch = producer_id, epoch
        self.emit(Kind.PRODUCER_ID, producer_id, epoch)

    # -- the sender

    def line(self, partition: str) -> Line:
        """The batches in flight and sequences of a partition."""
        line = self._lines.get(partition)
        if line is None:
            line = self._lines[partition] = Line(self.producer_id, self.producer_epoch)
        return line

    def _drain(self, partition: str) -> None:
        self._drop_expired(partition)
        if self.producer_id == NO_PRODUCER_ID:
            return
        line, queue = self.line(partition), self._queues.get(partition)
        while queue and self._in_flight.get(partition, 0) < self.integer(_IN_FLIGHT) and self._may_go(line):
            batch = queue.popleft()
            line.number(batch, self.transactional)
            line.pending.append(batch)
            self._in_flight[partition] = self._in_flight.get(partition, 0) + 1
            self._transmit(batch)

    def _may_go(self, line: Line) -> bool:
        """True if a new batch may follow: none after one that is retried, none into an epoch that has ended."""
        if any(batch.waiting for batch in line.pending) or (line.unresolved and not self._resolve(line)):
            return False
        if (line.producer_id, line.epoch) != (self.producer_id, self.producer_epoch):
            if line.pending:
                return False
            line.restart(self.producer_id, self.producer_epoch)
        return True

    def _resolve(self, line: Line) -> bool:
        """Finds out, once everything after a given-up batch is done, whether that batch is in the log."""
        if line.pending:
            return False
        line.unresolved = False
        if reaction_to_expiry(self.transactional, line.is_known) is Reaction.RAISE_EPOCH:
            self._next_epoch(line)
        return self.producer_id != NO_PRODUCER_ID

    def _answered(self, batch: Batch, error: ErrorCode, base: int) -> None:
        line = self.line(batch.partition)
        if batch not in line.pending:
            return
        if error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            line.acknowledge(batch, base)
        elif line.producer_id != self.producer_id and not self.transactional:
            self._give_up(batch, error)  # its id is gone: leaders cannot recognize it any more
            return
        elif error in SEQUENCE_ERRORS and not self._is_too_old(batch) and not self._is_exhausted(batch):
            self._out_of_sequence(line, batch, error)
            return
        super()._answered(batch, error, base)

    def _out_of_sequence(self, line: Line, batch: Batch, error: ErrorCode) -> None:
        reaction = reaction_to_sequence_error(
            error,
            self.transactional,
            in_sequence(line.last_acknowledged, batch.sequence),
            line.unresolved,
            batch.sequence == line.resolves_at,
            line.last_offset < self._log_start(batch.partition),
            self.cluster.version.raises_own_epoch,
            batch.renumbered,
        )
        if reaction is Reaction.RETRY:
            self._retry(batch, error)
        elif reaction in (Reaction.RAISE_EPOCH, Reaction.RESTART):
            if reaction is Reaction.RAISE_EPOCH:
                self._next_epoch(line)
            else:
                line.restart(line.producer_id, line.epoch)
                line.number_again(self.transactional)
            self._retry(batch, error)
        else:
            self._give_up(batch, error)

    def _log_start(self, partition: str) -> int:
        """The log start offset, from the answer to a produce request."""
        leader = self.leader(partition)
        replica = None if leader is None else leader.replicas.get(partition)
        return 0 if replica is None else replica.log.start

    def _next_epoch(self, line: Line) -> None:
        """Goes on in the next epoch, with the batches of this partition renumbered (KIP-360)."""
        if not self.cluster.version.raises_own_epoch or self.producer_epoch >= MAX_EPOCH:
            self._new_id()
            return
        self.take_id(self.producer_id, self.producer_epoch + 1)
        line.restart(self.producer_id, self.producer_epoch)
        line.number_again(self.transactional)

    def _new_id(self) -> None:
        if self.producer_id != NO_PRODUCER_ID:
            self.producer_id = NO_PRODUCER_ID
            self.ask_id()

    def _retry(self, batch: Batch, error: ErrorCode) -> None:
        self.emit(Kind.RETRIED, batch.partition, tuple(batch.values), error.name)
        batch.waiting = True
        self.refresh_later(self._again, batch.partition)

    def _again(self, partition: str) -> None:
        """Sends the first batch again, if it waits for a retry; the others wait for it."""
        pending = self.line(partition).pending
        if pending and pending[0].waiting:
            pending[0].waiting = False
            self._transmit(pending[0])

    def _give_up(self, batch: Batch, error: ErrorCode) -> None:
        line = self.line(batch.partition)
        if batch in line.pending:
            line.pending.remove(batch)
        if batch.attempts == 0:  # it was numbered and never sent: there was no leader
            line.shift(batch, self.transactional)
        elif self._is_too_old(batch):
            line.leave_unresolved(batch)
        elif line.producer_id == self.producer_id:
            self._after_failure(line, batch, error)
        super()._give_up(batch, error)

    def _after_failure(self, line: Line, batch: Batch, error: ErrorCode) -> None:
        """Makes sure that the batches after one that is given up can be appended."""
        version = self.cluster.version
        exhausted = self._is_exhausted(batch) and version.cached_batches >= MAX_IN_FLIGHT
        reaction = reaction_to_failure(error, self.transactional, exhausted, version.raises_own_epoch)
        if reaction is Reaction.SHIFT:
            line.shift(batch, self.transactional)
        elif reaction is Reaction.RAISE_EPOCH:
            self._next_epoch(line)
        elif reaction is Reaction.NEW_ID:
            self._new_id()

    def _done(self, batch: Batch) -> None:
        line = self.line(batch.partition)
        if batch in line.pending:
            line.pending.remove(batch)
        self._again(batch.partition)
        super()._done(batch)
