"""Committed offsets as rows: the commits left after a replay, decoded.

Committed offsets in the forms that Kafka's own tools print, release by release.

kafka-1.0    GroupMetadataManager.OffsetsMessageFormatter with OffsetAndMetadata.toString of 0.9 to 2.0; -1 where no
             time of expiration was written
kafka-2      the same of 2.1 to 3.9, where leader epochs were added (KIP-320)
kafka-4      OffsetsMessageFormatter of 4.0 on: JSON, the fields of the record's version; Kafka prints all on one line,
             here each has its own
reset-csv    what kafka-consumer-groups --reset-offsets --from-file reads (ConsumerGroupCommand, CsvUtils)
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.consumer_offsets.commits import CommitColumns, decode_commits
from kreplica.formats.consumer_offsets.latest import CommitSlices
from kreplica.formats.consumer_offsets.replay import NO_PRODUCER
from kreplica.formats.damage import Damage
from kreplica.formats.schema import uuid_text

if TYPE_CHECKING:
    from kreplica.formats.consumer_offsets.logs import Replayed


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """One committed offset.

    Args:
        group, topic, partition: Whose, of what.
        offset: The next record that the group will read.
        leader_epoch: Leader epoch of the last record read; None if it was not committed.
        metadata: The string that the client added.
        commit_timestamp, expire_timestamp: In ms; None if not written.
        pending: True if it is in a transaction that is still open: not committed yet.
        producer_id: Of that transaction; None if it is not pending.
        version: Of the value.
        record_offset: Of the record in the log.
        topic_id: As Kafka prints it; None if not written.
    """

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    metadata: str
    commit_timestamp: int
    expire_timestamp: int | None
    pending: bool
    producer_id: int | None
    version: int
    record_offset: int
    topic_id: str | None


def committed_offsets(result: Replayed, directory: Path) -> list[CommittedOffset]:
    """The committed and pending offsets of a log, in the order of the log; damage goes to the result's tally."""
    found = []
    for piece, pending in ((result.replay.applied(), False), (result.replay.pending(), True)):
        alive = piece.take(piece.value_length >= 0)
        commits = decode_commits(alive.data, alive.key_start, alive.key_length, alive.value_start, alive.value_length)
        result.damage.add(_unsound(alive, commits, directory))
        found += list(_rows(alive, commits, pending=pending))
    return found


def _unsound(piece: CommitSlices, commits: CommitColumns, directory: Path) -> Iterator[Damage]:
    for index in np.flatnonzero(~commits.sound).tolist():
        size = int(piece.key_length[index] + piece.value_length[index])
        reason = f"record at offset {piece.record_offset[index]} is no commit of a known version"
        yield Damage(str(directory), 0, reason, size, "OffsetCommitValue version 0 to 4", f"{commits.version[index]}")


def _rows(piece: CommitSlices, commits: CommitColumns, *, pending: bool) -> Iterator[CommittedOffset]:
    columns = [
        commits.group_start,
        commits.group_length,
        commits.topic_start,
        commits.topic_length,
        commits.partition,
        commits.offset,
        commits.leader_epoch,
        commits.metadata_start,
        commits.metadata_length,
        commits.commit_timestamp,
        commits.expire_timestamp,
        piece.producer_id,
        commits.version,
        piece.record_offset,
        commits.topic_id_start,
        commits.sound,
    ]
    text = commits.texts()
    for row in zip(*(column.tolist() for column in columns), strict=True):
        group, group_length, topic, topic_length, partition, offset, epoch, metadata, metadata_length, *rest = row
        committed, expires, producer, version, at, topic_id, sound = rest
        if sound:
            yield CommittedOffset(
                text(group, group_length),
                text(topic, topic_length),
                partition,
                offset,
                None if epoch < 0 else epoch,
                text(metadata, metadata_length),
                committed,
                None if expires < 0 else expires,
                pending,
                producer if pending and producer != NO_PRODUCER else None,
                version,
                at,
                None if topic_id < 0 else uuid_text(commits.data[topic_id : topic_id + 16].tobytes()),
            )


_NO_TIMESTAMP = -1
"""OffsetCommitRequest.DEFAULT_TIMESTAMP."""


def line_of_kafka_1_0(row: CommittedOffset) -> str:
    """One line as Kafka 1.0 prints it."""
    metadata = row.metadata or "NO_METADATA"
    expires = _NO_TIMESTAMP if row.expire_timestamp is None else row.expire_timestamp
    value = f"[OffsetMetadata[{row.offset},{metadata}],CommitTime {row.commit_timestamp},ExpirationTime {expires}]"
    return f"{_key(row)}::{value}"


def line_of_kafka_2(row: CommittedOffset) -> str:
    """One line as Kafka 2.1 to 3.x prints it."""
    epoch = "Optional.empty" if row.leader_epoch is None else f"Optional[{row.leader_epoch}]"
    expires = "None" if row.expire_timestamp is None else f"Some({row.expire_timestamp})"
    return (
        f"{_key(row)}::OffsetAndMetadata(offset={row.offset}, leaderEpoch={epoch}, metadata={row.metadata}, "
        f"commitTimestamp={row.commit_timestamp}, expireTimestamp={expires})"
    )


def line_of_kafka_4(row: CommittedOffset) -> str:
    """One line as Kafka 4 prints it."""
    key = {"group": row.group, "topic": row.topic, "partition": row.partition}
    document = {
        "key": {"type": 1, "data": key},
        "value": {"version": row.version, "data": commit_value(row)},
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def commit_value(row: CommittedOffset) -> dict[str, object]:
    """The value's fields as OffsetCommitValueJsonConverter gives them: those that its version has."""
    value: dict[str, object] = {"offset": row.offset}
    if row.version >= 3:
        value["leaderEpoch"] = -1 if row.leader_epoch is None else row.leader_epoch
    value |= {"metadata": row.metadata, "commitTimestamp": row.commit_timestamp}
    if row.version == 1:
        value["expireTimestamp"] = -1 if row.expire_timestamp is None else row.expire_timestamp
    if row.topic_id is not None:
        value["topicId"] = row.topic_id
    return value


def reset_csv(rows: Sequence[CommittedOffset]) -> str:
    """Rows for --from-file: group, topic, partition, offset; without the group where there is only one."""
    several = len({row.group for row in rows}) > 1
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    for row in rows:
        writer.writerow([*([row.group] if several else []), row.topic, row.partition, row.offset])
    return output.getvalue()


def _key(row: CommittedOffset) -> str:
    return f"[{row.group},{row.topic},{row.partition}]"
