"""Rules on producer snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kreplica.engine.rules.transactions.producer_state import sequence_after
from kreplica.formats.log_directory.producer_snapshot import place_in_file
from kreplica.formats.logs.replicas import Finding, ReplicaFiles

if TYPE_CHECKING:
    from kreplica.formats.segments.batches import BatchColumns


def producer_snapshots(replica: ReplicaFiles) -> Iterator[Finding]:
    """A snapshot's CRC holds, and its offset is within the log once the broker stopped in order.

    ProducerStateManager.takeSnapshot, truncateAndReload. After a crash one after the log end is removed.
    """
    for offset, snapshot in replica.snapshots.items():
        yield from replica.damaged("producer-snapshot", snapshot.damage)
        if replica.closed and replica.log.segments and offset > replica.log.end_offset:
            expected = f"an offset up to {replica.log.end_offset}, where the log ends"
            file, message = replica.file(offset, ".snapshot"), "a snapshot of what is behind the end of the log"
            yield replica.finding("producer-snapshot", file, 0, message, expected, offset)


def producer_state(replica: ReplicaFiles) -> Iterator[Finding]:
    """A producer's last offset and sequence are those of its last batch before the snapshot.

    Compared where the log still has a batch of that producer and epoch; a marker that began a new epoch takes the
    last batch out of the state (ProducerStateEntry.maybeUpdateProducerEpoch). Compaction takes the last batch of an
    epoch away once it was aborted or the producer has another epoch: no batch at that offset is nothing wrong.
    """
    batches = replica.log.batches
    data = batches.take((batches.producer_id >= 0) & ~batches.control)
    for offset, snapshot in replica.snapshots.items():
        if snapshot.damage:
            continue
        before = data.take(data.last_offset < offset)
        for row, entry in enumerate(snapshot.entries):
            same = (before.producer_id == entry["producer_id"]) & (before.producer_epoch == entry["producer_epoch"])
            mine = np.flatnonzero(same)
            if not len(mine) or entry["last_offset"] < 0 or _compacted_away(batches, int(entry["last_offset"]), offset):
                continue
            last = int(mine[-1])
            count = int(before.last_offset[last] - before.base_offset[last])
            sequence = sequence_after(int(before.base_sequence[last]), count)
            for name, expected in (("last_sequence", sequence), ("last_offset", int(before.last_offset[last]))):
                if int(entry[name]) != expected:
                    file, position = replica.file(offset, ".snapshot"), place_in_file(row, name)
                    message = f"{name.replace('_', ' ')} of producer {int(entry['producer_id'])} is not the log's"
                    yield replica.finding("producer-state", file, position, message, expected, int(entry[name]))


def _compacted_away(batches: BatchColumns, last_offset: int, snapshot: int) -> bool:
    """True if no batch holds an offset before the snapshot any more."""
    place = int(np.searchsorted(batches.last_offset, last_offset))
    held = place < len(batches) and int(batches.base_offset[place]) <= last_offset
    return last_offset < snapshot and not held
