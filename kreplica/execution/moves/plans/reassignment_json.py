"""Reassignments as Kafka's own tool writes and reads them (kafka-reassign-partitions, ReassignPartitionsCommand)::

    {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}]}

``log_dirs`` may be left out; ``any`` leaves the choice to the broker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from kreplica.errors import InputError, os_reason
from kreplica.model.topic_pattern import is_topic_name
from kreplica.system.output_files import write_output
from kreplica.system.untrusted_files import MalformedError, decode_json, input_limit, read_whole

VERSION = 1
ANY_DIRECTORY = "any"

PartitionKey: TypeAlias = tuple[str, int]
_FIX = "write it as kafka-reassign-partitions --generate does"


@dataclass(frozen=True, slots=True)
class NamedReassignments:
    """Wanted replicas of partitions, in the order of a file.

    Args:
        replicas: Broker ids of each partition, the preferred leader first.
        directories: Log directory of each replica of a partition, None for any; partitions without one left out.
    """

    replicas: Mapping[PartitionKey, tuple[int, ...]]
    directories: Mapping[PartitionKey, tuple[str | None, ...]] = field(default_factory=dict)


class _Partition(Struct):
    topic: str
    partition: int
    replicas: list[int]
    log_dirs: list[str] | None = None


class _File(Struct):
    version: int
    partitions: list[_Partition]


def read_reassignment_json(path: Path) -> NamedReassignments:
    """Reads a file of wanted replicas; fields that Kafka does not know are ignored, as Kafka does.

    Raises:
        InputError: It cannot be read, is not of that form, or names a partition twice, a broker twice for one
            partition, no replica, or another number of log directories than of replicas.
    """
    try:
        found: _File = decode_json(read_whole(path, input_limit()), _File)
    except OSError as error:
        raise InputError(str(path), "", os_reason(error)) from None
    except MalformedError as error:
        raise InputError(str(path), error.place or "", f"no reassignment, {error.reason}", _FIX) from None
    if found.version != VERSION:
        raise InputError(str(path), "", f"its version is {found.version}, Kafka's tools read version {VERSION}", _FIX)
    replicas: dict[PartitionKey, tuple[int, ...]] = {}
    directories: dict[PartitionKey, tuple[str | None, ...]] = {}
    for number, one in enumerate(found.partitions):
        key = one.topic, one.partition
        if reason := _wrong(one) or ("named a second time" if key in replicas else ""):
            raise InputError(str(path), f"partitions[{number}]", f"{one.topic}-{one.partition}: {reason}", _FIX)
        replicas[key] = tuple(one.replicas)
        chosen = tuple(None if name == ANY_DIRECTORY else name for name in one.log_dirs or ())
        if any(chosen):
            directories[key] = chosen
    return NamedReassignments(replicas, directories)


def _wrong(one: _Partition) -> str:
    if not is_topic_name(one.topic) or one.partition < 0:
        return "no partition of a topic"
    if not one.replicas:
        return "no replica"
    if len(set(one.replicas)) != len(one.replicas):
        return "a broker is named twice"
    if min(one.replicas) < 0:
        return f"no broker has the id {min(one.replicas)}"
    if one.log_dirs is not None and len(one.log_dirs) != len(one.replicas):
        return f"{len(one.log_dirs)} log directories for {len(one.replicas)} replicas"
    return ""


def write_reassignment_json(
    replicas: Mapping[PartitionKey, Sequence[int]],
    path: Path,
    *,
    directories: Mapping[PartitionKey, Sequence[str | None]] | None = None,
    replace: bool = False,
) -> None:
    """Writes wanted replicas for Kafka's tool; a crash leaves the old file or the new one, never a part.

    Args:
        replicas: Broker ids of each partition, the preferred leader first.
        path: Where to.
        directories: Log directory of each replica, None for any.
        replace: Whether a file that is there is replaced.

    Raises:
        UsageError: The file exists, or the path cannot be written.
    """
    import msgspec

    chosen = directories or {}
    partitions = [
        {
            "topic": topic,
            "partition": number,
            "replicas": list(brokers),
            "log_dirs": [name or ANY_DIRECTORY for name in chosen.get((topic, number), [None] * len(brokers))],
        }
        for (topic, number), brokers in replicas.items()
    ]
    content = msgspec.json.encode({"version": VERSION, "partitions": partitions}) + b"\n"
    write_output(path, content, replace=replace)
