"""An application that processes the records of its consumer: it takes time, it fails, it writes.

Events ``processed`` show each result: ``done``, ``refused`` by an offset that is not newer, ``failed``, ``skipped``,
``set aside`` or ``dead letter``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import READ_TO_HIGH_WATERMARK
from kreplica.engine.setup import OnFailure
from kreplica.engine.simulator.broker.reads import ConsumerGiven
from kreplica.engine.simulator.clients.poll_loop import PollLoop
from kreplica.engine.simulator.environment import REQUEST_TIMEOUT
from kreplica.engine.trace import Kind, Record

Handed = tuple[str, int, Record]

DONE = "done"
REFUSED = "refused"
FAILED = "failed"
SKIPPED = "skipped"
ASIDE = "set aside"
DEAD_LETTER = "dead letter"
"""Results of processing."""

ONE_RECORD = 1
NO_WAIT = 0
"""Wait of a fetch that reads again a record that is known to be there."""


def result_of(record: Record) -> str:
    """The value that an application writes for a record."""
    return f"{record.value}-out"


class Work:
    """The records of one poll, processed one after the other; ``then`` is called when all of them are."""

    __slots__ = ("_consumer", "_queue", "_setup", "_then")

    def __init__(self, consumer: PollLoop, records: list[Handed], then: Callable[[], object]) -> None:
        self._consumer = consumer
        self._setup = consumer.setup.application
        self._queue = deque(records)
        self._then = then
        self._next()

    def add(self, records: list[Handed]) -> None:
        """Adds records for the processing thread, after those that it has."""
        idle = not self._queue
        self._queue.extend(records)
        if idle:
            self._next()

    def _next(self) -> None:
        if not self._queue:
            self._then()
            return
        value = self._queue[0][2].value
        self._consumer.after(self._setup.processing + self._consumer.stall(value), self._process)

    def _process(self) -> None:
        partition, offset, record = self._queue[0]
        if record.value in self._setup.fails_on:
            self._fail(partition, offset, record)
            return
        if self._setup.writes_to:
            self._append(self._setup.writes_to, result_of(record), DONE)
            return
        self._consumer.tell(partition, offset, record, self._write(partition, offset))
        self._go_on()

    def _go_on(self) -> None:
        self._queue.popleft()
        self._next()

    def _write(self, partition: str, offset: int) -> str:
        """Writes the result of a record; with the offset stored beside it, it is written once."""
        if not self._setup.keeps_offsets:
            return DONE
        kept = self._consumer.cluster.kept_offsets.setdefault(str(self._consumer.settings["group.id"]), {})
        if offset < kept.get(partition, 0):
            return REFUSED
        kept[partition] = offset + 1
        return DONE

    def _fail(self, partition: str, offset: int, record: Record) -> None:
        consumer, setup = self._consumer, self._setup
        results = {OnFailure.AGAIN: FAILED, OnFailure.SKIP: SKIPPED, OnFailure.SET_ASIDE: ASIDE}
        if setup.on_failure is OnFailure.DEAD_LETTER:
            self._append(setup.dead_letters, str(record.value), DEAD_LETTER)
            return
        consumer.tell(partition, offset, record, results[setup.on_failure])
        if setup.on_failure is OnFailure.AGAIN:
            consumer.after(setup.again_after, self._process)
            return
        if setup.on_failure is OnFailure.SET_ASIDE:
            consumer.after(setup.again_after, self._read_once_more, partition, offset)
        self._go_on()

    def _read_once_more(self, partition: str, offset: int) -> None:
        """Reads again the one record at an offset that was set aside; this time it can be processed."""
        consumer, leader = self._consumer, self._consumer.leader(partition)

        def again(_reason: str = "") -> None:
            consumer.refresh_later(self._read_once_more, partition, offset)

        def heard(given: ConsumerGiven) -> None:
            if given.records:
                consumer.tell(partition, offset, given.records[0], DONE)
            else:
                again()

        if leader is None:
            again()
            return
        reading = (READ_TO_HIGH_WATERMARK, ONE_RECORD, NO_WAIT)
        consumer.cluster.transport.call(
            consumer, leader, "Fetch", leader.reads.for_consumer, (partition, offset, *reading), heard, again
        )

    def _append(self, target: str, value: str, result: str) -> None:
        """Writes to another topic, retries until the write is acknowledged, and goes on."""
        consumer, leader = self._consumer, self._consumer.leader(target)

        def again(_reason: str = "") -> None:
            consumer.refresh_later(self._append, target, value, result)

        def answered(_partition: str, error: ErrorCode, base: int) -> None:
            if error:
                again()
                return
            consumer.emit(Kind.ACKNOWLEDGED, target, value, base, ACKS_ALL)
            consumer.tell(*self._queue[0], result)
            self._go_on()

        if leader is None:
            again()
            return
        consumer.emit(Kind.SENT, target, value, ACKS_ALL)
        consumer.cluster.transport.call(
            consumer,
            leader,
            "Produce",
            leader.produce,
            (target, (Record(-1, value),), ACKS_ALL, REQUEST_TIMEOUT),
            answered,
            again,
            REQUEST_TIMEOUT,
        )
