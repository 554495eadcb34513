"""Committed offsets as rows: what survived a replay, decoded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kreplica.formats.damage import Damage
from kreplica.formats.latest_commits import CommitSlices
from kreplica.formats.message_schema import uuid_text
from kreplica.formats.offset_commits import CommitColumns, decode_commits
from kreplica.formats.offset_replay import NO_PRODUCER

if TYPE_CHECKING:
    from kreplica.formats.offset_logs import Replayed


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """One committed offset.

    Args:
        group, topic, partition: Whose, of what.
        offset: The next record that the group will read.
        leader_epoch: Leader epoch of the last record read; None if it was not committed.
        metadata: What the client added.
        commit_timestamp, expire_timestamp: In ms; None if not written.
        pending: Whether it stands in a transaction that is still open: not committed yet.
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
    """What a log says is committed and pending, in the order of the log; damage goes to the result's tally."""
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
