"""The plan of a run: faults and operations, each with its time. A value: written as JSON, read back, shrunk.

Nodes are named as in the trace; ``leader of topic-0`` and ``active controller`` name the node in that role at the time.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kreplica.engine.rules.replication.high_watermark import TO_HIGH_WATERMARK
from kreplica.errors import UsageError
from kreplica.system.untrusted_files import MalformedError, decode_json


def _words(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


class At(msgspec.Struct, frozen=True, tag="time", tag_field="on"):
    """At a time, in microseconds of virtual time."""

    time: int


class When(msgspec.Struct, frozen=True, tag="event", tag_field="on"):
    """Once the trace has seen an event.

    Args:
        kind: Kind of the event (``kreplica.engine.trace.Kind``).
        node: The event's node; empty for any.
        fields: Values that the event must have, by the names of the kind's fields.
        count: Number of the event among those that match, from 1.
        after: Delay after the event, in microseconds; 0 is before anything else happens.
    """

    kind: str
    node: str = ""
    fields: dict[str, int | str | bool] = {}
    count: int = 1
    after: int = 0


Trigger = At | When


class Action(msgspec.Struct, frozen=True, tag_field="do", tag=_words):
    """Base of all actions."""


class Crash(Action, frozen=True):
    """The process ends at once (SIGKILL); what it wrote stays in the page cache."""

    node: str


class PowerLoss(Action, frozen=True):
    """The machines of these brokers lose power: records that were not flushed are gone.

    Args:
        nodes: The nodes that lose power, all at once.
        keep: Number of unflushed records of each partition that reached the disk all the same.
    """

    nodes: tuple[str, ...]
    keep: int = 0


class RackLoss(Action, frozen=True):
    """Every broker of a rack loses power."""

    rack: str


class DiskLoss(Action, frozen=True):
    """The process ends and its disk is empty when it starts again."""

    node: str


class Start(Action, frozen=True):
    """A process that is down starts."""

    node: str


class Stop(Action, frozen=True):
    """A clean stop; brokers by controlled shutdown, where it is on."""

    node: str


class Pause(Action, frozen=True):
    """The process pauses, then goes on as if nothing had happened (a long collection, SIGSTOP)."""

    node: str
    duration: int


class StopPolling(Action, frozen=True):
    """The application of a consumer does something else and does not poll; its heartbeats go on (KIP-62)."""

    node: str
    duration: int


class Cut(Action, frozen=True):
    """Messages from ``source`` to ``target`` are lost, in both directions unless ``one_way``; ``*`` is every node."""

    source: str
    target: str
    duration: int
    one_way: bool = False


class Slow(Action, frozen=True):
    """Messages between two nodes take longer, by ``delay`` microseconds."""

    source: str
    target: str
    delay: int
    duration: int
    one_way: bool = False


class Lossy(Action, frozen=True):
    """Of the messages between two nodes, ``percent`` in a hundred are lost, by chance."""

    source: str
    target: str
    percent: int
    duration: int
    one_way: bool = False


class BreakConnection(Action, frozen=True):
    """The connections between two nodes break: each learns at once that what it waits for will not be answered.

    Args:
        source, target: The nodes; ``*`` is every node.
        delay: Time by which requests that are under way arrive later than they would have, in microseconds. They are
            handled all the same, in their order, unless their target has ended by then; new ones do not wait for them.
    """

    source: str
    target: str
    delay: int = 0


class RefuseRequest(Action, frozen=True):
    """The next requests of a kind, from ``source`` to ``target``, are answered with an error and not handled.

    Args:
        source, target: The nodes; ``*`` is every node.
        request: Kafka's name of the request, as ``Produce``.
        error: Kafka's name of the error, as ``NOT_ENOUGH_REPLICAS``.
        count: Number of requests.
    """

    source: str
    target: str
    request: str
    error: str
    count: int = 1


class SlowDisk(Action, frozen=True):
    """Every append of a broker takes ``delay`` microseconds."""

    node: str
    delay: int
    duration: int


class LateMetadata(Action, frozen=True):
    """A broker in KRaft mode applies nothing of the metadata log, then all that was decided meanwhile at once.

    Its heartbeats go on, so it is not fenced: kafka.server.metadata.BrokerMetadataPublisher is slow, as on a disk that
    is, and the loader is given no more of the log until it is done (KafkaRaftClient.ListenerContext).
    """

    node: str
    duration: int


class ExpireSession(Action, frozen=True):
    """ZooKeeper expires a broker's session although the broker lives."""

    node: str


class DirectoryFailure(Action, frozen=True):
    """The log directory with these partitions fails on a broker that lives on; all its partitions if none is named."""

    node: str
    partitions: tuple[str, ...] = ()


class ElectPreferred(Action, frozen=True):
    """An operator asks for the preferred leader."""

    partition: str


class ElectUnclean(Action, frozen=True):
    """An operator asks for an unclean election."""

    partition: str


class Reassign(Action, frozen=True):
    """An operator reassigns a partition."""

    partition: str
    replicas: tuple[int, ...]


class CancelReassignment(Action, frozen=True):
    """An operator cancels a reassignment."""

    partition: str


class DeleteRecords(Action, frozen=True):
    """An operator has the leader delete the records before an offset, with an AdminClient; -1 is the high watermark."""

    partition: str
    before: int = TO_HIGH_WATERMARK


class AlterTopic(Action, frozen=True):
    """An operator changes a topic's setting."""

    topic: str
    setting: str
    value: str


AnyAction = (
    Crash
    | PowerLoss
    | RackLoss
    | DiskLoss
    | Start
    | Stop
    | Pause
    | StopPolling
    | Cut
    | Slow
    | Lossy
    | BreakConnection
    | RefuseRequest
    | SlowDisk
    | LateMetadata
    | ExpireSession
    | DirectoryFailure
    | ElectPreferred
    | ElectUnclean
    | Reassign
    | CancelReassignment
    | DeleteRecords
    | AlterTopic
)


class Step(msgspec.Struct, frozen=True):
    """One action with its time."""

    when: Trigger
    do: AnyAction


Plan = tuple[Step, ...]


def in_order(steps: Iterable[Step]) -> Plan:
    """Returns the plan with its steps by time, those that wait for an event first; it plays as before."""
    return tuple(sorted(steps, key=lambda step: step.when.time if isinstance(step.when, At) else 0))


def plan_to_json(plan: Plan) -> bytes:
    """Returns the plan as indented JSON, which ``plan_from_json`` reads."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2)


def plan_from_json(content: bytes, source: str) -> Plan:
    """Reads a plan.

    Args:
        content: The JSON that ``plan_to_json`` wrote.
        source: Name of the file, for the error.

    Raises:
        UsageError: It is no plan; the message names the place.
    """
    try:
        plan: Plan = decode_json(content, tuple[Step, ...])
    except MalformedError as error:
        raise UsageError(f"{source} is no plan of faults", str(error), "give a file written by --save-plan") from None
    return plan
