"""The trace of a simulated run: its events, in order. It is the only output; everything else is a fold over it.

An event is ``(time, kind, node, values)``. ``KINDS`` declares once for each kind its values, its sentence and the rule
of ``kreplica.engine.rules`` that acted. Times are whole microseconds of virtual time. Values are integers, strings,
booleans and tuples of them, so that a trace is the same on every machine: its SHA-256 proves it.

Nodes are named ``broker-1``, ``controller-3001``, ``zookeeper`` and, for clients, as the setup names them; a partition
is named ``topic-0``.

Also a record as logs of the simulator hold it and as events carry it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.rules.transactions.producer_state import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE

LEADER = "leader"
FOLLOWER = "follower"
"""The roles of a replica, in events that carry one."""

COMMITTED = "committed"
ABORTED = "aborted"
UNKNOWN = "unknown"
"""Outcomes of a transaction, as reported to its producer."""

PLAN = "plan"
"""The node of events that come from the plan of faults, not from a process."""


class Kind(StrEnum):
    """Kinds of events."""

    # faults and operations, as the plan makes them
    FAULT = "fault"
    STARTED = "started"
    STOPPED = "stopped"
    CRASHED = "crashed"
    PAUSED = "paused"
    RESUMED = "resumed"
    DISK_LOST = "disk-lost"
    RECOVERY_BEGINS = "recovery-begins"
    RECOVERED = "recovered"
    # the network
    MESSAGE = "message"
    DROPPED = "dropped"
    # a replica
    APPENDED = "appended"
    TRUNCATED = "truncated"
    TRUNCATION_REFUSED = "truncation-refused"
    HIGH_WATERMARK = "high-watermark"
    FOLLOWER_POSITION = "follower-position"
    LOG_START = "log-start"
    RECORDS_DELETED = "records-deleted"
    LAST_STABLE_OFFSET = "last-stable-offset"
    BECAME_LEADER = "became-leader"
    BECAME_FOLLOWER = "became-follower"
    RESIGNED = "resigned"
    FETCH_REFUSED = "fetch-refused"
    FETCH_WOKEN = "fetch-woken"
    # the ISR
    ISR_ASKED = "isr-asked"
    ISR_REFUSED = "isr-refused"
    ISR_FORGOTTEN = "isr-forgotten"
    # the controller
    CONTROLLER_ELECTED = "controller-elected"
    CONTROLLER_RESIGNED = "controller-resigned"
    BROKER_REGISTERED = "broker-registered"
    BROKER_FENCED = "broker-fenced"
    BROKER_UNFENCED = "broker-unfenced"
    PARTITION_CHANGED = "partition-changed"
    MOVE_REFUSED = "move-refused"
    NO_LEADER = "no-leader"
    CONTROLLER_REFUSED = "controller-refused"
    CONTROLLER_STALE = "controller-stale"
    # ZooKeeper
    ZNODE_WRITTEN = "znode-written"
    ZNODE_DELETED = "znode-deleted"
    SESSION_EXPIRED = "session-expired"
    # producers' state at a leader
    DUPLICATE = "duplicate"
    APPEND_REFUSED = "append-refused"
    PRODUCER_EXPIRED = "producer-expired"
    # transactions
    TRANSACTION_STATE = "transaction-state"
    TRANSACTION_REFUSED = "transaction-refused"
    TRANSACTION_FORGOTTEN = "transaction-forgotten"
    TRANSACTION_BEGUN = "transaction-begun"
    TRANSACTION_ENDED = "transaction-ended"
    PRODUCER_FENCED = "producer-fenced"
    # producers
    PRODUCER_ID = "producer-id"
    SENT = "sent"
    RETRIED = "retried"
    ACKNOWLEDGED = "acknowledged"
    SEND_FAILED = "send-failed"
    # consumers
    CONSUMED = "consumed"
    PROCESSED = "processed"
    ASSIGNED = "assigned"
    POSITION_SET = "position-set"
    READS_FROM = "reads-from"
    COMMIT_FAILED = "commit-failed"
    CLIENT_FAILED = "client-failed"
    # groups
    GROUP_CHANGED = "group-changed"
    OFFSET_COMMITTED = "offset-committed"
    COMMIT_REFUSED = "commit-refused"
    OFFSET_EXPIRED = "offset-expired"


@dataclass(frozen=True, slots=True)
class EventType:
    """Declaration of the events of one kind.

    Args:
        fields: Names of the values, in their order.
        sentence: Its sentence; ``{node}`` and the fields are in braces.
        rule: The rule that acted, as ``module.function`` of ``kreplica.engine.rules``; empty where no rule decides, and
            where a field ``rule`` of each event has it.
    """

    fields: tuple[str, ...]
    sentence: str
    rule: str = ""


class Event(NamedTuple):
    """One thing that happened at one node; ``values`` as ``KINDS`` declares them."""

    time: int
    kind: str
    node: str
    values: tuple[Any, ...]


KINDS: dict[str, EventType] = {
    Kind.FAULT: EventType(("what", "detail"), "{what}: {detail}"),
    Kind.STARTED: EventType((), "{node} starts"),
    Kind.STOPPED: EventType((), "{node} has shut down cleanly"),
    Kind.CRASHED: EventType(("power",), "{node} crashes"),
    Kind.PAUSED: EventType((), "{node} stands still"),
    Kind.RESUMED: EventType((), "{node} goes on"),
    Kind.DISK_LOST: EventType((), "{node} loses its disk"),
    Kind.RECOVERY_BEGINS: EventType(
        ("partition", "recovery_point"),
        "{node} reads {partition} again from {recovery_point} on, its recovery point",
        "durability.recovery_begins",
    ),
    Kind.RECOVERED: EventType(
        ("partition", "end_offset", "lost", "high_watermark"),
        "{node} recovers {partition}: log end offset {end_offset}, {lost} unflushed records lost,"
        " high watermark {high_watermark} from its checkpoint",
        "durability.recovered_end_offset",
    ),
    Kind.MESSAGE: EventType(("source", "sent", "name", "detail"), "{node} receives {name} from {source}"),
    Kind.DROPPED: EventType(("target", "name", "reason"), "{name} from {node} to {target} is lost: {reason}"),
    Kind.APPENDED: EventType(
        ("partition", "base_offset", "end_offset", "records", "role"),
        "{node} ({role}) appends to {partition}: log end offset {end_offset}",
    ),
    Kind.TRUNCATED: EventType(
        ("partition", "from_offset", "end_offset", "rule"), "{node} cuts {partition} from {from_offset} to {end_offset}"
    ),
    Kind.TRUNCATION_REFUSED: EventType(
        ("partition", "end_offset", "leader_end_offset"),
        "{node} ends rather than cut {partition} from {end_offset} to {leader_end_offset}, where its leader ends",
        "fetching.out_of_range_halts",
    ),
    Kind.HIGH_WATERMARK: EventType(
        ("partition", "high_watermark", "role"),
        "{node} ({role}) sets the high watermark of {partition} to {high_watermark}",
    ),
    Kind.FOLLOWER_POSITION: EventType(
        ("partition", "follower", "end_offset"),
        "{node} learns that broker-{follower} has {partition} up to {end_offset}",
        "follower_lag.last_caught_up_after_fetch",
    ),
    Kind.RECORDS_DELETED: EventType(
        ("partition", "offset", "low_watermark", "error"),
        "{node} answers that the records before {offset} of {partition} be deleted: {error},"
        " low watermark {low_watermark}",
        "high_watermark.low_watermark",
    ),
    Kind.LOG_START: EventType(("partition", "log_start"), "{node} begins {partition} at {log_start}"),
    Kind.LAST_STABLE_OFFSET: EventType(
        ("partition", "last_stable_offset"),
        "{node} sets the last stable offset of {partition} to {last_stable_offset}",
        "last_stable_offset.last_stable_offset",
    ),
    Kind.BECAME_LEADER: EventType(
        ("partition", "leader_epoch", "isr", "start_offset"),
        "{node} leads {partition} in epoch {leader_epoch} from offset {start_offset}, ISR {isr}",
        "leader_and_isr.takes_state",
    ),
    Kind.BECAME_FOLLOWER: EventType(
        ("partition", "leader_epoch", "leader"),
        "{node} follows broker-{leader} for {partition} in epoch {leader_epoch}",
        "leader_and_isr.makes_follower",
    ),
    Kind.RESIGNED: EventType(
        ("partition", "leader_epoch"), "{node} no longer leads {partition}", "leader_and_isr.takes_state"
    ),
    Kind.FETCH_REFUSED: EventType(
        ("partition", "follower", "error"),
        "{node} refuses a fetch of {partition} by {follower}: {error}",
        "fetching.leader_epoch_error",
    ),
    Kind.FETCH_WOKEN: EventType(
        ("partition", "reader", "since", "why", "rule"),
        "{node} answers the fetch of {partition} by {reader} that was parked at {since} ms: {why}",
    ),
    Kind.ISR_ASKED: EventType(
        ("partition", "isr", "why", "rule"), "{node} asks for the ISR {isr} of {partition}: {why}"
    ),
    Kind.ISR_REFUSED: EventType(
        ("partition", "isr", "error", "rule"), "{node} is refused the ISR {isr} of {partition}: {error}"
    ),
    Kind.ISR_FORGOTTEN: EventType(
        ("partition", "isr", "known"),
        "{node} no longer waits for the ISR {isr} of {partition}: it is told {known} again, which it knows",
        "alter_partition.stays_pending",
    ),
    Kind.CONTROLLER_ELECTED: EventType(("epoch", "rule"), "{node} is the controller, epoch {epoch}"),
    Kind.CONTROLLER_RESIGNED: EventType(("epoch", "rule"), "{node} is no longer the controller"),
    Kind.BROKER_REGISTERED: EventType(
        ("broker", "broker_epoch"),
        "{node} registers broker-{broker}, epoch {broker_epoch}",
        "broker_registration.registration_refused",
    ),
    Kind.BROKER_FENCED: EventType(
        ("broker", "why", "rule"), "{node} no longer counts broker-{broker} among the live brokers: {why}"
    ),
    Kind.BROKER_UNFENCED: EventType(("broker", "rule"), "{node} counts broker-{broker} among the live brokers"),
    Kind.PARTITION_CHANGED: EventType(
        ("partition", "leader", "leader_epoch", "isr", "elr", "partition_epoch", "why", "rule"),
        "{node} sets {partition}: leader {leader}, epoch {leader_epoch}, ISR {isr}: {why}",
    ),
    Kind.MOVE_REFUSED: EventType(
        ("partition", "why", "rule"), "{node} refuses to change the replicas of {partition}: {why}"
    ),
    Kind.NO_LEADER: EventType(("partition", "isr", "why", "rule"), "{partition} has no leader, ISR {isr}: {why}"),
    Kind.CONTROLLER_REFUSED: EventType(
        ("partition", "epoch", "newer"),
        "{node}, controller of epoch {epoch}, leaves {partition}: the controller of epoch {newer} has written it",
        "controller_election.state_written_by_newer",
    ),
    Kind.CONTROLLER_STALE: EventType(
        ("controller", "epoch", "known"),
        "{node} refuses a request of broker-{controller}, controller of epoch {epoch}: it knows of epoch {known}",
        "controller_election.stale_controller",
    ),
    Kind.ZNODE_WRITTEN: EventType(("path", "data", "version"), "{path} is set to {data}, version {version}"),
    Kind.ZNODE_DELETED: EventType(("path",), "{path} is deleted"),
    Kind.SESSION_EXPIRED: EventType(
        ("client",), "{node} ends the session of {client}", "zookeeper_session.session_is_over"
    ),
    Kind.DUPLICATE: EventType(
        ("partition", "producer_id", "sequence", "offset"),
        "{node} knows the batch from sequence {sequence} on: it stands at {offset} of {partition}",
        "producer_state.duplicate_offset",
    ),
    Kind.APPEND_REFUSED: EventType(
        ("partition", "producer_id", "sequence", "error", "rule"),
        "{node} refuses an append to {partition} by producer id {producer_id} (sequence {sequence}): {error}",
    ),
    Kind.PRODUCER_EXPIRED: EventType(
        ("partition", "producer_id"),
        "{node} forgets producer id {producer_id} on {partition}",
        "producer_state.producer_expired",
    ),
    Kind.TRANSACTION_STATE: EventType(
        ("transactional_id", "state", "producer_id", "producer_epoch", "partitions", "rule"),
        "{node} has written that {transactional_id} is {state} with producer id {producer_id}, epoch {producer_epoch}",
    ),
    Kind.TRANSACTION_REFUSED: EventType(
        ("transactional_id", "request", "error", "rule"), "{node} refuses {request} of {transactional_id}: {error}"
    ),
    Kind.TRANSACTION_FORGOTTEN: EventType(
        ("transactional_id",),
        "{node} forgets {transactional_id}, which nobody uses",
        "transaction_timeouts.transactional_id_expired",
    ),
    Kind.TRANSACTION_BEGUN: EventType(
        ("number",), "{node} begins transaction {number}", "transaction_partitions.add_partitions"
    ),
    Kind.TRANSACTION_ENDED: EventType(
        ("number", "outcome", "values"),
        "{node} is told that transaction {number} is {outcome}",
        "end_transaction.end_transaction",
    ),
    Kind.PRODUCER_FENCED: EventType(
        ("error",), "{node} is told that another has its transactional id: {error}", "init_producer_id.init_producer_id"
    ),
    Kind.PRODUCER_ID: EventType(
        ("producer_id", "producer_epoch"),
        "{node} has producer id {producer_id}, epoch {producer_epoch}",
        "init_producer_id.init_producer_id",
    ),
    Kind.SENT: EventType(
        ("partition", "value", "acks"),
        "{node} sends {value} to {partition} with acks={acks}",
        "producer_batches.batch_is_full",
    ),
    Kind.RETRIED: EventType(
        ("partition", "values", "error"), "{node} sends {values} again: {error}", "producer_batches.is_sent_again"
    ),
    Kind.ACKNOWLEDGED: EventType(
        ("partition", "value", "offset", "acks"),
        "{node} is told that {value} stands at offset {offset} of {partition}",
        "acknowledgement.waits_for_followers",
    ),
    Kind.SEND_FAILED: EventType(
        ("partition", "value", "error"), "{node} gives up on {value}: {error}", "producer_batches.is_sent_again"
    ),
    Kind.CONSUMED: EventType(
        ("partition", "offset", "value", "group"),
        "{node} reads {value} at offset {offset} of {partition}",
        "fetching.readable_end",
    ),
    Kind.PROCESSED: EventType(
        ("partition", "offset", "value", "group", "result"),
        "{node} processes {value} at offset {offset} of {partition}: {result}",
    ),
    Kind.ASSIGNED: EventType(
        ("group", "generation", "partitions", "rule"), "{node} reads {partitions} in generation {generation} of {group}"
    ),
    Kind.POSITION_SET: EventType(
        ("partition", "offset", "why", "rule"), "{node} sets its position in {partition} to {offset}: {why}"
    ),
    Kind.READS_FROM: EventType(
        ("partition", "broker"),
        "{node} reads {partition} from broker-{broker}",
        "follower_reads.preferred_read_replica",
    ),
    Kind.COMMIT_FAILED: EventType(("group", "error", "rule"), "{node} cannot commit for {group}: {error}"),
    Kind.CLIENT_FAILED: EventType(("error",), "{node} ends: {error}"),
    Kind.GROUP_CHANGED: EventType(
        ("group", "state", "generation", "members", "why", "rule"),
        "{node} has {group} {state} in generation {generation}: {why}",
    ),
    Kind.OFFSET_COMMITTED: EventType(
        ("group", "partition", "offset", "rule"),
        "{node} has committed offset {offset} of {partition} for {group}",
    ),
    Kind.COMMIT_REFUSED: EventType(
        ("group", "member", "error", "rule"), "{node} refuses a commit of {member} for {group}: {error}"
    ),
    Kind.OFFSET_EXPIRED: EventType(
        ("group", "partition", "offset"),
        "{node} forgets offset {offset} of {partition} for {group}",
        "offset_commit.offset_expired",
    ),
}
"""Declarations of all kinds. Only these can be emitted."""

Sink = Callable[[Event], None]
"""A fold that is fed live: called with each event as it happens."""


class Trace:
    """An append-only list of events, and the folds that are fed with them.

    Args:
        keep: Whether events are kept; otherwise only the sinks get them.
    """

    __slots__ = ("_sinks", "events", "keep")

    def __init__(self, keep: bool = True) -> None:
        self.keep = keep
        self.events: list[Event] = []
        self._sinks: list[Sink] = []

    def subscribe(self, sink: Sink) -> None:
        """Sends a fold every event from now on."""
        self._sinks.append(sink)

    def emit(self, time: int, kind: str, node: str, values: tuple[Any, ...]) -> None:
        """Adds one event."""
        event = Event(time, kind, node, values)
        if self.keep:
            self.events.append(event)
        for sink in self._sinks:
            sink(event)


class TraceHash:
    """SHA-256 over the events of a run: a sink, the same for the same run on every machine."""

    __slots__ = ("_hash", "events")

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.events = 0

    def __call__(self, event: Event) -> None:
        """Takes an event in."""
        self.events += 1
        self._hash.update(repr(tuple(event)).encode())

    def hexdigest(self) -> str:
        """The hash so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()


def fields_of(event: Event) -> dict[str, Any]:
    """The values of an event by name."""
    return dict(zip(KINDS[event.kind].fields, event.values, strict=True))


def sentence(event: Event) -> str:
    """The event in words."""
    if event.kind == Kind.CRASHED and event.values[0]:
        return f"{event.node} loses power"
    told = {name: _plain(name, value) for name, value in fields_of(event).items()}
    if event.kind == Kind.ZNODE_WRITTEN and told["version"] == 0:  # each later write raises it
        return "{path} is created with {data}".format(**told)
    return KINDS[event.kind].sentence.format(node=event.node, **told)


def rule_of(event: Event) -> str:
    """The rule that acted, ``module.function`` of ``kreplica.engine.rules``; empty where none did."""
    named = fields_of(event)
    own = named.get("rule")
    if own is not None:
        return str(own)
    if event.kind in (Kind.ZNODE_WRITTEN, Kind.ZNODE_DELETED):
        return next((rule for path, rule in _BY_PATH if named["path"].startswith(path)), "")
    field, rules = _BY_FIELD.get(event.kind, ("", {}))
    return rules.get(named.get(field), KINDS[event.kind].rule)


_OF_SEQUENCES = dict.fromkeys(
    ("OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"), "idempotent_client.reaction_to_sequence_error"
)

_BY_FIELD: dict[str, tuple[str, dict[Any, str]]] = {
    Kind.APPENDED: ("role", {LEADER: "acknowledgement.append_error", FOLLOWER: "fetching.readable_end"}),
    Kind.HIGH_WATERMARK: (
        "role",
        {LEADER: "high_watermark.leader_high_watermark", FOLLOWER: "high_watermark.follower_high_watermark"},
    ),
    Kind.RETRIED: ("error", _OF_SEQUENCES),
    Kind.SEND_FAILED: ("error", _OF_SEQUENCES),
}
"""Kinds with a field that determines the rule: a leader decides by another rule than a follower."""

_BY_PATH = (
    ("/controller", "controller_election.controller_epoch"),
    ("/brokers/ids", "zookeeper_session.session_is_over"),
    ("/brokers/topics", "reassignment.zookeeper_merged"),
    ("/brokers/partitions", "zookeeper_isr.conditional_write"),
    ("/isr_change_notification", "zookeeper_isr.propagates"),
    ("/log_dir_event_notification", "log_directory.broker_stops"),
)
"""The rule by which each of Kafka's znodes is written, by the beginning of its path."""


def _plain(name: str, value: Any) -> Any:
    """A value as Kafka's users write it: acks=all, no leader instead of -1."""
    if name == "acks" and value == ACKS_ALL:
        return "all"
    if name == "leader" and value == NO_LEADER:
        return "none"
    if name == "since":
        return f"{value / 1000:.3f}"
    empty = "an empty value" if name == "data" else "none"
    return ",".join(map(_value_text, value)) or empty if isinstance(value, tuple) else value


def _value_text(value: Any) -> str:
    return f"[{','.join(map(_value_text, value))}]" if isinstance(value, tuple) else str(value)


DATA = 0
COMMIT = 1
ABORT = 2
"""Kinds of records: an application's, or the marker that ends a transaction."""


class Record(NamedTuple):
    """One record; its offset is its position in the log.

    Args:
        epoch: The leader epoch it was appended in.
        value: The client's value; a coordinator's records hold tuples.
        producer_id: NO_PRODUCER_ID where the producer is not idempotent.
        producer_epoch: As the producer sent it.
        sequence: As the producer sent it; markers have none, -1.
        kind: DATA, COMMIT or ABORT.
        transactional: Whether it is part of a transaction.
        batch_sequence: The first sequence of its batch: followers recognize batches by it.
        timestamp: Time at which its leader appended it, in microseconds of virtual time
            (message.timestamp.type=LogAppendTime; Kafka's default is the earlier time at which the producer got it).
    """

    epoch: int
    value: Any
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    sequence: int = NO_SEQUENCE
    kind: int = DATA
    transactional: bool = False
    batch_sequence: int = NO_SEQUENCE
    timestamp: int = 0


def text_of(record: Record) -> str:
    """A record in a word: its value, or the kind of its marker."""
    return _MARKERS.get(record.kind) or str(record.value)


_MARKERS = {COMMIT: "commit", ABORT: "abort"}
