"""Consume, transform, produce: the written records and the read position are one transaction.

The loop of KIP-98 and KIP-447: poll, send, sendOffsetsToTransaction, commitTransaction. After an abort or a restart
it goes on from the committed offset, so that read_committed consumers see each record transformed once.
"""

from __future__ import annotations

from kreplica.engine.rules.groups.offset_commit import INVALID_OFFSET
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import READ_TO_LAST_STABLE_OFFSET
from kreplica.engine.setup import Send, Transaction, TransactionalSetup, TransformSetup
from kreplica.engine.simulator.broker.broker import Brokers
from kreplica.engine.simulator.broker.reads import ConsumerGiven
from kreplica.engine.simulator.clients.requests import fetched_records
from kreplica.engine.simulator.clients.transactional import TransactionalProducer
from kreplica.engine.simulator.cluster import Cluster
from kreplica.engine.simulator.coordinators.groups import GroupCoordinator
from kreplica.engine.trace import COMMITTED, Kind
from kreplica.model.internal_topics import OFFSETS_TOPIC

UNKNOWN_POSITION = -1


class Transformer(TransactionalProducer):
    """Reads one partition, writes to another."""

    __slots__ = ("_following", "_position", "_transform")

    def __init__(self, cluster: Cluster, brokers: Brokers, setup: TransformSetup) -> None:
        self._transform = setup
        super().__init__(cluster, brokers, TransactionalSetup(setup.name, (), setup.settings, setup.start))

    def _forget(self) -> None:
        super()._forget()
        self._position = self._following = UNKNOWN_POSITION

    def _next_transaction(self) -> None:
        if self.over:
            return
        if self._position == UNKNOWN_POSITION:
            self._ask_position()
        else:
            self._poll()

    def _later(self, _reason: str = "") -> None:
        self.refresh_later(self._next_transaction)

    # -- the committed offset

    def _ask_position(self) -> None:
        group = self._transform.group
        partition = self.cluster.home(OFFSETS_TOPIC, group)
        leader = self.leader(partition)
        if leader is None:
            self._later()
            return
        self.cluster.transport.call(
            self,
            leader,
            "OffsetFetch",
            GroupCoordinator.of(leader).fetch,
            (group, (self._transform.source,), self.cluster.version.stable_offsets),
            self._given_position,
            self._later,
        )

    def _given_position(self, answers: tuple[tuple[str, ErrorCode, int, int], ...]) -> None:
        _, error, offset, _ = answers[0]
        if error:
            self._later()
            return
        self._position = 0 if offset == INVALID_OFFSET else offset
        self._poll()

    # -- the loop

    def _poll(self) -> None:
        source, leader = self._transform.source, self.leader(self._transform.source)
        if leader is None:
            self._later()
            return
        reading = (READ_TO_LAST_STABLE_OFFSET, self._transform.records, self.microseconds("fetch.max.wait.ms"))
        self.cluster.transport.call(
            self,
            leader,
            "Fetch",
            leader.reads.for_consumer,
            (source, self._position, *reading),
            self._given,
            self._later,
        )

    def _given(self, given: ConsumerGiven) -> None:
        if self.over:
            return
        if given.error:
            self._later()
            return
        handed = [(offset, record) for offset, record, handed_out in fetched_records(given) if handed_out]
        for offset, record in handed:
            self.emit(Kind.CONSUMED, given.partition, offset, record.value, self._transform.group)
        self._following = self._position + len(given.records)
        if not handed:
            self._position = self._following
            self._poll()
            return
        setup, now = self._transform, self.clock.now
        sends = tuple(
            Send(now + place * setup.processing, f"{record.value}-done", setup.target)
            for place, (_, record) in enumerate(handed, start=1)
        )
        self._at += 1
        self._begin(Transaction(sends, group=setup.group, offsets=((setup.source, self._following),)))

    def _told(self, outcome: str) -> None:
        super()._told(outcome)
        self._position = self._following if outcome == COMMITTED else UNKNOWN_POSITION
