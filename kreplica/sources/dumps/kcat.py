"""Reads the JSON of `kcat -L -J`: the answer to one Metadata request, as librdkafka passes it on.

Layout (json.c of kcat 1.2 to 1.7; controllerid since 1.4)::

    {"originating_broker": {"id": 1, "name": "host:9092/1"}, "query": {"topic": "*"}, "controllerid": 1,
     "brokers": [{"id": 1, "name": "host:9092"}],
     "topics": [{"topic": "t"[, "error": "..."], "partitions": [
        {"partition": 0[, "error": "..."], "leader": 1, "replicas": [{"id": 1}], "isrs": [{"id": 1}]}]}]}

Metadata lists live brokers only, so a broker of an assignment that is not among them is not alive. It has no
settings, reassignments, eligible leader replicas, racks and epochs (kcat leaves out racks and epochs): these stay null.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from kreplica.errors import InputError
from kreplica.model.internal_topics import INTERNAL_TOPICS
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import counted, listed
from kreplica.sources.dumps.text import DumpText
from kreplica.system.untrusted_files import MalformedError, decode_json

RDKAFKA_LOG_LINE = re.compile(r"%\d\|\d+\.\d+\|")
"""A line that librdkafka logs to standard error."""

WHOLE, EXCERPT = "kcat-json", "kcat-json-topic"
"""Sources of its snapshots: of all topics, and of the one that kcat was asked for (-t)."""

_NO_LEADER = "Broker: Leader not available"
_REPLICAS_LEFT_OUT = "Broker: Replica not available"
_NOT_AUTHORIZED = "Broker: Topic authorization failed"
_SHOWN = 3


class _Id(msgspec.Struct, frozen=True, gc=False):
    id: int


class _Broker(msgspec.Struct, frozen=True, gc=False):
    id: int
    name: str


class _Partition(msgspec.Struct, frozen=True):
    partition: int
    leader: int
    replicas: list[_Id]
    isrs: list[_Id]
    error: str | None = None


class _Topic(msgspec.Struct, frozen=True):
    topic: str
    partitions: list[_Partition]
    error: str | None = None


class _Query(msgspec.Struct, frozen=True):
    topic: str = "*"


class _Metadata(msgspec.Struct, frozen=True):
    brokers: list[_Broker]
    topics: list[_Topic]
    controllerid: int = -1
    query: _Query = _Query()


def read_kcat_json(dump: DumpText) -> ClusterSnapshot:
    """Reads the output of `kcat -L -J`.

    Lines that librdkafka logged before or after it are left out and counted in a note.

    Returns:
        A snapshot; topics that came with an error are its gaps.

    Raises:
        InputError: No JSON, or not kcat's; names the position in the document.
    """
    text, log_lines = without_log_lines(dump.text)
    metadata = _decode(dump.source, text)
    _check(dump.source, metadata)
    return ClusterSnapshot(
        cluster_id=None,
        name=dump.source,
        taken_at=dump.taken_at,
        source=WHOLE if metadata.query.topic == "*" else EXCERPT,
        partitions=_partitions(metadata),
        brokers=_brokers(metadata),
        controller=metadata.controllerid if metadata.controllerid >= 0 else None,
        gaps=tuple(_gaps(metadata)),
        notes=_notes(metadata, log_lines),
    )


def without_log_lines(text: str) -> tuple[str, int]:
    """The text without the lines that librdkafka logged, and their number."""
    if "%" not in text:
        return text, 0
    lines = text.split("\n")
    kept = [line for line in lines if not RDKAFKA_LOG_LINE.match(line)]
    return "\n".join(kept), len(lines) - len(kept)


def _decode(source: str, text: str) -> _Metadata:
    try:
        found: _Metadata = decode_json(text, _Metadata)
    except MalformedError as error:
        if error.place is not None:
            raise InputError(source, error.place, f"not as kcat -L -J prints it: {error.reason}") from None
        raise InputError(source, "", f"no valid JSON: {error}", "make the dump again") from None
    return found


def _check(source: str, metadata: _Metadata) -> None:
    """Refuses answers that Kafka cannot have given: ids below 0, duplicate names."""
    _check_ids(source, "$.brokers", [broker.id for broker in metadata.brokers])
    names = [topic.topic for topic in metadata.topics]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(source, "$.topics", f"topic {twice[0]} stands there twice")
    for number, topic in enumerate(metadata.topics):
        path = f"$.topics[{number}].partitions"
        _check_ids(source, path, [row.partition for row in topic.partitions])
        for index, row in enumerate(topic.partitions):
            _check_partition(source, f"{path}[{index}]", row)


def _check_partition(source: str, path: str, row: _Partition) -> None:
    _check_ids(source, f"{path}.replicas", [replica.id for replica in row.replicas])
    _check_ids(source, f"{path}.isrs", [replica.id for replica in row.isrs])
    if not -1 <= row.leader < 2**31:
        raise InputError(source, f"{path}.leader", f"{row.leader} is neither a broker id nor -1 for none")


def _check_ids(source: str, path: str, ids: list[int]) -> None:
    if ids and not 0 <= min(ids) <= max(ids) < 2**31:
        wrong = next(number for number in ids if not 0 <= number < 2**31)
        raise InputError(source, path, f"{wrong} is no id of Kafka's")
    if len(set(ids)) < len(ids):
        twice = next(number for number, count in Counter(ids).items() if count > 1)
        raise InputError(source, path, f"{twice} stands there twice")


def _partitions(metadata: _Metadata) -> Table:
    rows = [(topic.topic, row) for topic in metadata.topics for row in topic.partitions]
    columns: dict[str, Sequence[object]] = {
        "topic": [topic for topic, _ in rows],
        "partition": [row.partition for _, row in rows],
        "internal": [topic in INTERNAL_TOPICS for topic, _ in rows],
        "leader": [row.leader for _, row in rows],
        "replicas": [[replica.id for replica in row.replicas] for _, row in rows],
        "isr": [[replica.id for replica in row.isrs] for _, row in rows],
    }
    return Table.from_columns(PARTITIONS, columns)


def _brokers(metadata: _Metadata) -> Table:
    live = [_broker(broker) for broker in metadata.brokers]
    listed = {broker.id for broker in metadata.brokers}
    named = {replica.id for topic in metadata.topics for row in topic.partitions for replica in row.replicas}
    dead = [{"broker": broker, "alive": False} for broker in sorted(named - listed)]
    return Table.from_rows(BROKERS, [*live, *dead])


def _broker(broker: _Broker) -> dict[str, object]:
    host, _, port = broker.name.rpartition(":")
    known = bool(host) and re.fullmatch("[0-9]{1,5}", port) is not None
    return {
        "broker": broker.id,
        "host": host if known else broker.name,
        "port": int(port) if known else None,
        "alive": True,
    }


def _gaps(metadata: _Metadata) -> Iterable[Gap]:
    hidden = [topic.topic for topic in metadata.topics if topic.error == _NOT_AUTHORIZED]
    if hidden:
        yield Gap("hidden-topics", f"no permission to describe {listed(hidden, _SHOWN)}", len(hidden))
    others = (None, _NOT_AUTHORIZED)
    failed = [f"{topic.topic} ({topic.error})" for topic in metadata.topics if topic.error not in others]
    if failed:
        yield Gap("failed-request", f"no metadata of {listed(failed, _SHOWN)}", len(failed))
    yield from _partition_gaps(metadata)


def _partition_gaps(metadata: _Metadata) -> Iterable[Gap]:
    errors = [
        (row.error, f"{topic.topic}-{row.partition}")
        for topic in metadata.topics
        for row in topic.partitions
        if row.error is not None and row.error != _NO_LEADER
    ]
    # A broker before 0.10 (Metadata v0) leaves dead brokers out of the replicas and says so by this error.
    short = [name for error, name in errors if error == _REPLICAS_LEFT_OUT]
    if short:
        yield Gap("failed-request", f"dead replicas are left out of {listed(short, _SHOWN)}", len(short))
    other = [f"{name} ({error})" for error, name in errors if error != _REPLICAS_LEFT_OUT]
    if other:
        yield Gap("failed-request", f"errors for {listed(other, _SHOWN)}", len(other))


def _notes(metadata: _Metadata, log_lines: int) -> tuple[str, ...]:
    notes = []
    if metadata.query.topic != "*":
        notes.append(f"kcat was asked for topic {metadata.query.topic} only")
    if log_lines:
        notes.append(f"left out {counted(log_lines, 'line')} of log output in the dump")
    return tuple(notes)
