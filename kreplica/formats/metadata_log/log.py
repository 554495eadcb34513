"""`__cluster_metadata-0`: segments and checkpoints of the metadata log, as decoded records in order.

    00000000000000000000.log                    a segment; control batches of the quorum between the records
    00000000000000000819-0000000001.checkpoint  what held when offset 819 was next, the one before it of epoch 1: a
                                                header, the records that make that state, a footer, in batches too
    00000000000000000000-0000000000.checkpoint  what the cluster was formatted with
    bootstrap.checkpoint                        features that one node was formatted with; in the log directory

Kafka: org.apache.kafka.snapshot.Snapshots, org.apache.kafka.metadata.bootstrap.BootstrapDirectory,
org.apache.kafka.raft.internals.RecordsBatchReader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from kreplica.formats.damage import Damage
from kreplica.formats.metadata_log.records import MetadataRecord, decode_metadata_record
from kreplica.formats.registry import BOOTSTRAP, SNAPSHOT
from kreplica.formats.schema import SchemaError
from kreplica.formats.segments.control_records import ControlRecord, decode_control_record
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import read_windows
from kreplica.model.internal_topics import METADATA_TOPIC

if TYPE_CHECKING:
    from kreplica.formats.file_bytes import ByteSource
    from kreplica.formats.segments.columns import RecordColumns

METADATA_DIRECTORY: Final = f"{METADATA_TOPIC}-0"
_LARGEST_OFFSET, _LARGEST_EPOCH = 2**63 - 1, 2**31 - 1

Decoded: TypeAlias = MetadataRecord | ControlRecord


@dataclass(frozen=True, slots=True)
class MetadataEntry:
    """One record of the metadata log.

    Args:
        offset: Its offset; in a checkpoint its number in that file.
        timestamp: When it was written, ms since the epoch.
        leader_epoch: Epoch of the quorum's leader that wrote it.
        record: The decoded record.
    """

    offset: int
    timestamp: int
    leader_epoch: int
    record: Decoded


def checkpoint_offset(name: str) -> int | None:
    """The offset a checkpoint goes up to, itself not included, by its file name; None if it is no checkpoint.

    Kafka: org.apache.kafka.server.common.OffsetAndEpoch, whose offset is a long and whose epoch an int.
    """
    if BOOTSTRAP.pattern.fullmatch(name):
        return 0
    found = SNAPSHOT.pattern.fullmatch(name)
    if found is None or int(found["offset"]) > _LARGEST_OFFSET or checkpoint_epoch(name) > _LARGEST_EPOCH:
        return None
    return int(found["offset"])


def checkpoint_epoch(name: str) -> int:
    """The leader epoch of the last record in a checkpoint, by its file name."""
    if BOOTSTRAP.pattern.fullmatch(name):
        return 0
    return int(name.removesuffix(".checkpoint").partition("-")[2])


def metadata_entries(source: ByteSource, damage: list[Damage]) -> Iterator[MetadataEntry]:
    """The records of a segment or checkpoint, in order.

    Args:
        source: The file.
        damage: Takes the ranges and records that cannot be decoded, while the entries are iterated.
    """
    for window in read_windows(source):
        damage.extend(window.damage)
        for records in decode_records(window):
            damage.extend(records.damage)
            yield from _entries(source.name, records, damage)


def _entries(file: str, records: RecordColumns, damage: list[Damage]) -> Iterator[MetadataEntry]:
    control, epochs = records.batches.control.tolist(), records.batches.leader_epoch.tolist()
    rows = zip(records.batch.tolist(), records.offset.tolist(), records.timestamp.tolist(), strict=True)
    for index, (batch, offset, timestamp) in enumerate(rows):
        key, value = records.key(index), records.value(index) or b""
        try:
            record: Decoded = (
                decode_control_record(key or b"", value) if control[batch] else decode_metadata_record(value)
            )
        except SchemaError as fault:
            position = int(records.batches.position[batch])
            reason = f"record {offset} of the batch that begins here: {fault.reason} (byte {fault.position} of it)"
            damage.append(Damage(file, position, reason, len(value)))
            continue
        yield MetadataEntry(offset, timestamp, epochs[batch], record)
