"""Rules on offsets: batches among themselves, and the checkpoints of a log directory against the log."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kreplica.formats.log_directory.offset_checkpoint import CLEANER, LOG_START, RECOVERY_POINT, REPLICATION
from kreplica.formats.logs.replicas import Finding, ReplicaFiles, epoch_file
from kreplica.model.internal_topics import METADATA_TOPIC


def log_damage(replica: ReplicaFiles) -> Iterator[Finding]:
    """Every byte of a segment belongs to a sound batch, or to zeros preallocated at the end."""
    yield from replica.damaged("log-damage", replica.log.damage)
    for segment in replica.log.segments:
        yield from replica.damaged("log-damage", segment.damage)


def batch_order(replica: ReplicaFiles) -> Iterator[Finding]:
    """Offsets grow from batch to batch, also across segments, and leader epochs never go back.

    UnifiedLog.analyzeAndValidateRecords; a follower appends what its leader has, in order (KIP-101).
    """
    end, epoch = replica.log.start_offset, -1
    for segment in replica.log.segments:
        batches, file = segment.batches, str(segment.path)
        if segment.base_offset < end:
            message = "the segment begins before the one in front of it ends"
            yield replica.finding("batch-order", file, 0, message, f"offset {end} or later", segment.base_offset)
        ends = np.concatenate([[segment.base_offset], batches.last_offset + 1])
        for index in np.flatnonzero(batches.base_offset < ends[:-1]).tolist():
            expected = f"offset {int(ends[index])} or later"
            found = int(batches.base_offset[index])
            at = int(batches.position[index])
            yield replica.finding("batch-order", file, at, "offsets go back from batch to batch", expected, found)
        known = batches.take(batches.leader_epoch >= 0)
        before = np.concatenate([[epoch], known.leader_epoch])
        for index in np.flatnonzero(known.leader_epoch < before[:-1]).tolist():
            expected, found = f"epoch {int(before[index])} or later, as before it", int(known.leader_epoch[index])
            at = int(known.position[index])
            yield replica.finding("batch-order", file, at, "leader epochs go back from batch to batch", expected, found)
        end, epoch = max(end, segment.end_offset), int(before[-1])


def leader_epochs(replica: ReplicaFiles) -> Iterator[Finding]:
    """A batch's leader epoch is the one that leader-epoch-checkpoint has for its offset.

    The checkpoint is written before the first batch of an epoch (UnifiedLog.append), so that also a killed broker's
    names every epoch in the log. It may name epochs without batches: an empty term, batches that were compacted
    away, or after a crash those that did not get to the disk. Batches before the log start are not in it any more: it
    is cut there at once (UnifiedLog.maybeIncrementLogStartOffset), while a broker's log-start-offset-checkpoint follows
    after a minute, and a metadata log, which begins with its oldest snapshot, has none
    (KafkaMetadataLog.deleteBeforeSnapshot).
    """
    checkpoint = replica.home.epochs.get(replica.place)
    if checkpoint is None or not len(checkpoint.epochs) or any(each.skipped for each in checkpoint.damage):
        yield from _without_epochs(replica, absent=checkpoint is None)
        return
    starts, epochs = checkpoint.start_offsets, checkpoint.epochs
    if replica.closed and int(starts[-1]) > replica.log.end_offset:
        expected = f"offset {replica.log.end_offset}, where the log ends, or before"
        at, message = checkpoint.positions[-1], f"epoch {int(epochs[-1])} begins behind the end of the log"
        yield replica.finding("leader-epochs", epoch_file(replica), at, message, expected, int(starts[-1]))
    begin = _first_offset(replica, int(starts[0]))
    for segment in replica.log.segments:
        batches = segment.batches
        known = batches.take((batches.leader_epoch >= 0) & (batches.last_offset >= begin))
        first = np.searchsorted(starts, np.maximum(known.base_offset, begin), side="right") - 1
        last = np.searchsorted(starts, known.last_offset, side="right") - 1
        begins_wrong = np.where(first < 0, -1, epochs[np.maximum(first, 0)]) != known.leader_epoch
        row = np.where(begins_wrong, first, last)
        said = np.where(row < 0, -1, epochs[np.maximum(row, 0)])
        wrong = np.flatnonzero(said != known.leader_epoch)
        # one finding for each pair of epochs: the first batch shows the position
        _, earliest = np.unique(np.stack([said[wrong], known.leader_epoch[wrong]]), axis=1, return_index=True)
        for index in sorted(wrong[earliest].tolist()):
            offset = int((known.base_offset if begins_wrong[index] else known.last_offset)[index])
            yield replica.finding(
                "leader-epochs",
                epoch_file(replica),
                checkpoint.positions[max(0, int(row[index]))],
                f"offset {offset} was written under another leader epoch "
                f"({segment.path.name}, byte {int(known.position[index])})",
                f"epoch {int(known.leader_epoch[index])} at that offset",
                f"epoch {int(said[index])}" if said[index] >= 0 else "no epoch",
            )


def _first_offset(replica: ReplicaFiles, first_start: int) -> int:
    """Log start, or the later first offset of leader-epoch-checkpoint where no other file records the log start."""
    told_elsewhere = replica.closed and replica.place.topic != METADATA_TOPIC
    if told_elsewhere or first_start > replica.log.end_offset:
        return replica.log_start_offset
    return max(replica.log_start_offset, first_start)


def _without_epochs(replica: ReplicaFiles, *, absent: bool) -> Iterator[Finding]:
    """A replica without a usable checkpoint: wrong only where a log with epochs has an empty one beside it."""
    batches = replica.log.batches
    known = batches.take((batches.leader_epoch >= 0) & (batches.last_offset >= replica.log_start_offset))
    if len(known) and not absent and not replica.home.epochs[replica.place].damage:
        expected = f"epoch {int(known.leader_epoch[0])} from {max(int(known.base_offset[0]), replica.log_start_offset)}"
        message = "the log has leader epochs that the checkpoint does not name"
        yield replica.finding("leader-epochs", epoch_file(replica), 0, message, expected, "no entries")


def high_watermark(replica: ReplicaFiles) -> Iterator[Finding]:
    """The high watermark lies within the log.

    After a kill the file is older than the log: its offset may be before the log start, which has moved on since,
    never after the log end: then records that were on every in-sync replica are missing here.
    """
    yield from _within(replica, "high-watermark", REPLICATION, "committed records are missing here")


def recovery_point(replica: ReplicaFiles) -> Iterator[Finding]:
    """The recovery point lies within the log, and at its end once the broker stopped in order.

    It is written after the flush (LogManager.checkpointRecoveryOffsetsInDir), so that after a kill it may lag, but
    not lead.
    """
    yield from _within(replica, "recovery-point", RECOVERY_POINT, "flushed records are missing here")
    said, end = replica.checkpoint(RECOVERY_POINT), replica.log.end_offset
    if said is not None and replica.closed and replica.log.segments and replica.log.start_offset <= said[1] < end:
        message = "the broker stopped in order, but not all of the log was flushed"
        yield replica.finding("recovery-point", _file(replica, RECOVERY_POINT), said[0], message, end, said[1])


def log_start(replica: ReplicaFiles) -> Iterator[Finding]:
    """The log start is not after the log end.

    It may lie before the first segment: after a kill the file may be older, and with tiered storage (KIP-405) what is
    before is stored elsewhere (LogManager.checkpointLogStartOffsetsInDir names all logs with remote storage).
    """
    yield from _within(replica, "log-start", LOG_START, "the log would be emptied when the broker starts", at_least=0)


def cleaner_offset(replica: ReplicaFiles) -> Iterator[Finding]:
    """Compaction has not gone beyond the end of the log; a truncation or a crash may leave an older file."""
    if replica.closed:
        yield from _within(replica, "cleaner-offset", CLEANER, "compaction would begin anew", at_least=0)


def _within(
    replica: ReplicaFiles, rule: str, name: str, meaning: str, at_least: int | None = None
) -> Iterator[Finding]:
    said = replica.checkpoint(name)
    if said is None or not replica.log.segments:  # a replica that was left out of a copy has none
        return
    position, offset = said
    end, start = replica.log.end_offset, replica.log.start_offset if at_least is None else at_least
    if offset > end:
        message = f"behind the end of the log: {meaning}"
        yield replica.finding(rule, _file(replica, name), position, message, f"{end} at most", offset)
    elif offset < start and replica.closed:
        message = "before the first offset of the log"
        yield replica.finding(rule, _file(replica, name), position, message, f"{start} at least", offset)


def _file(replica: ReplicaFiles, name: str) -> str:
    return str(replica.home.path / name)
