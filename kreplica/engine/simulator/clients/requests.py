"""A broker's answers to consumers besides records: the replica to read from, and where a log begins and ends.

kafka.server.ReplicaManager.fetchMessages and KafkaApis.handleListOffsetRequest.

A client's requests to the coordinator of its transactions.

org.apache.kafka.clients.producer.internals.TransactionManager.TxnRequestHandler.

A consumer's handling of fetched records: markers and aborted records move its position, and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kreplica.engine.rules.groups.offset_reset import latest_is_available, reset_policy, reset_position
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import ANY_EPOCH, leader_epoch_error
from kreplica.engine.rules.replication.follower_reads import preferred_read_replica, readable_replicas
from kreplica.engine.rules.replication.isolation import FetchedBatch, delivered_batches
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.broker.broker import Broker
from kreplica.engine.simulator.broker.leadership import Leadership
from kreplica.engine.simulator.broker.reads import ConsumerGiven
from kreplica.engine.simulator.broker.replica import Replica
from kreplica.engine.simulator.clients.client import Client
from kreplica.engine.simulator.coordinators.transactions import TransactionCoordinator
from kreplica.engine.trace import ABORT, DATA, Record
from kreplica.model.internal_topics import TRANSACTIONS_TOPIC

Reply = Callable[..., object]
NO_REPLICA = -1
"""No preferred read replica: a broker id otherwise."""


def fetch(
    broker: Broker, partition: str, offset: int, reading: tuple[int, int, int], epoch: int, rack: str, reply: Reply
) -> None:
    """Answers a consumer's fetch with the result of ``BrokerReads.for_consumer`` and the preferred read replica.

    Args:
        broker: The broker that is asked.
        partition, offset: The consumer's position.
        reading: Isolation, largest number of records, and longest wait for one in microseconds.
        epoch: The leader epoch that the consumer knows, ANY_EPOCH from a client that sends none.
        rack: client.rack.
        reply: Called with a ConsumerGiven and a broker id or NO_REPLICA.
    """
    replica = broker.replicas.get(partition)
    error = ErrorCode.NONE if replica is None else leader_epoch_error(epoch, replica.state.leader_epoch)
    if error:
        reply(ConsumerGiven(partition, error, offset, (), -1, -1, -1, -1), NO_REPLICA)
        return
    preferred = NO_REPLICA if replica is None else _preferred(broker, replica, offset, rack)
    if preferred != NO_REPLICA and (broker.cluster.version.redirects_at_once or reading[2] == 0):
        reply(ConsumerGiven(partition, ErrorCode.NONE, offset, (), -1, -1, -1, epoch), preferred)
        return
    if preferred != NO_REPLICA:  # it waits as if there were no records yet, and nothing wakes it
        broker.after(reading[2], fetch, broker, partition, offset, (*reading[:2], 0), epoch, rack, reply)
        return
    broker.reads.for_consumer(partition, offset, *reading, lambda given: reply(given, NO_REPLICA))


def _preferred(broker: Broker, replica: Replica, offset: int, rack: str) -> int:
    cluster, leadership = broker.cluster, replica.leadership
    selects = broker.settings["replica.selector.class"] != "" and cluster.version.follower_reads
    if leadership is None or not rack or not selects:
        return NO_REPLICA
    ends = _known_ends(replica, leadership)
    starts = (*leadership.log_starts[: replica.place], replica.log.start, *leadership.log_starts[replica.place + 1 :])
    alive = sum(1 << place for place, one in enumerate(leadership.replicas) if one in broker.alive)
    candidates = leadership.isr & alive if cluster.version.reads_in_sync_only else alive
    readable = readable_replicas(candidates, replica.place, offset, starts, ends)
    same_rack = sum(1 << place for place, one in enumerate(leadership.replicas) if broker.brokers[one].rack == rack)
    behind = tuple(broker.clock.now - time for time in leadership.last_caught_up)
    place = preferred_read_replica(readable, replica.place, same_rack, ends, behind, leadership.replicas)
    return NO_REPLICA if place == NO_LEADER else leadership.replicas[place]


def _known_ends(replica: Replica, leadership: Leadership) -> tuple[int, ...]:
    ends = list(leadership.ends)
    ends[replica.place] = replica.log.end
    return tuple(ends)


def list_offset(
    broker: Broker, partition: str, policy: str, asked_at: int, committed_only: bool, epoch: int, reply: Reply
) -> None:
    """Answers ListOffsets of a consumer: error, offset, leader epoch.

    Args:
        broker: The broker that is asked; only the leader answers.
        partition: The partition, as ``topic-0``.
        policy: ``earliest``, ``latest`` or ``by_duration:PT1H``.
        asked_at: The consumer's time, in microseconds, from which a duration counts back.
        committed_only: Whether the consumer reads committed records only.
        epoch: The leader epoch that the consumer knows, ANY_EPOCH from a client that sends none.
        reply: Called with the answer.
    """
    replica = broker.replicas.get(partition)
    asked = reset_policy(policy)
    assert asked is not None, policy
    if replica is None or replica.leadership is None:
        reply(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, ANY_EPOCH)
        return
    error = leader_epoch_error(epoch, replica.state.leader_epoch)
    available = latest_is_available(replica.high_watermark, replica.leadership.epoch_start)
    if not error and policy == "latest" and broker.cluster.version.latest_waits_for_epoch and not available:
        error = ErrorCode.OFFSET_NOT_AVAILABLE
    last = replica.last_stable_offset if committed_only else replica.high_watermark
    at_time = replica.log.offset_at(asked_at - asked.duration_ms * MICROSECONDS)
    at_time = at_time if at_time is not None and at_time < last else None
    reply(error, reset_position(asked, replica.log.start, last, at_time), replica.state.leader_epoch)


TRY_AGAIN = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NETWORK_EXCEPTION,
    )
)
"""Errors after which a client asks again, after retry.backoff.ms and with fresh metadata."""

Handler = Callable[[TransactionCoordinator], Callable[..., object]]


def ask_transaction_coordinator(
    client: Client,
    transactional_id: str,
    name: str,
    handler: Handler,
    arguments: tuple[Any, ...],
    then: Callable[..., object],
) -> None:
    """Asks the coordinator, again and again until its answer is not a retriable error.

    Args:
        client: The client that asks.
        transactional_id: First argument of the request; it determines the coordinator.
        name: Kafka's name of the request, for the trace.
        handler: The coordinator's method that handles it.
        arguments: The rest of the request.
        then: Called with the error and the other values of the answer.
    """
    leader = client.leader(client.cluster.home(TRANSACTIONS_TOPIC, transactional_id))

    def again(_reason: str = "") -> None:
        client.refresh_later(ask_transaction_coordinator, client, transactional_id, name, handler, arguments, then)

    def answered(error: ErrorCode, *values: int) -> None:
        if error in TRY_AGAIN:
            again()
        else:
            then(error, *values)

    if leader is None:
        again()
        return
    there = handler(TransactionCoordinator.of(leader))
    sent, timeout = (transactional_id, *arguments), client.microseconds("request.timeout.ms")
    client.cluster.transport.call(client, leader, name, there, sent, answered, again, timeout)


Fetched = tuple[int, Record, bool]
"""Offset, record, and whether the application gets it."""


def fetched_records(given: ConsumerGiven) -> tuple[Fetched, ...]:
    """The records of a fetch in their order."""
    placed = tuple(enumerate(given.records, start=given.offset))
    if not given.aborted:
        return tuple((offset, record, record.kind == DATA) for offset, record in placed)
    batches = (_batch(offset, record) for offset, record in placed)
    delivered = {batch.base_offset for batch in delivered_batches(batches, given.aborted)}
    return tuple((offset, record, offset in delivered) for offset, record in placed)


def _batch(offset: int, record: Record) -> FetchedBatch:
    control = record.kind != DATA
    return FetchedBatch(offset, offset, record.producer_id, record.transactional, control, record.kind == ABORT)
